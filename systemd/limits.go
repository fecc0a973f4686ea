package systemd

// Limits are what one command, with all its descendants, may use ([commands]
// memoryMax, cpuMax, pidsMax). 0 = no limit.
type Limits struct {
	Memory int64 // bytes
	CPU    int64 // hundredths of one processor: 200 is two whole ones
	PIDs   int64 // processes and threads
}

// Any says whether anything is limited.
func (l Limits) Any() bool { return l != Limits{} }
