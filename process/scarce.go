package process

import (
	"errors"
	"syscall"
	"time"
)

// scarceTime is how long what fails for want of descriptors or memory is tried again,
// where somebody waits for it.
const scarceTime = 10 * time.Second

// scarce reports whether the error is of a want that may pass (descriptors, memory,
// watches), and so says nothing of what was looked for.
func scarce(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ENOSPC)
}

// patiently calls f again as long as it fails for such a want, but not for ever.
func (p *Producer) patiently(f func() error) error {
	told := false
	for end := time.Now().Add(scarceTime); ; {
		err := f()
		if !scarce(err) || time.Now().After(end) {
			return err
		}
		if !told {
			p.log.Warn("what became of some tasks cannot be found out yet; trying again", "error", err)
			told = true
		}
		select {
		case <-time.After(lookEvery):
		case <-p.stop:
			return err
		}
	}
}
