package spool

import "time"

// pollEvery is how often watched folders are looked at without inotify: within
// the 50 ms in which a wait for output has to end.
const pollEvery = 40 * time.Millisecond

// poll calls look again and again until stop is closed.
func poll(stop <-chan struct{}, look func()) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			look()
		case <-stop:
			return
		}
	}
}
