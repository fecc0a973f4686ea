// Package leaks fails the tests of a package that leave goroutines behind. It is
// imported by tests only.
package leaks

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long a goroutine may take that is about to end: goleak's own is
// half a second, which one that is not scheduled may well need. What has leaked
// stays for ever.
const patience = time.Minute

// Main is a TestMain: it runs the tests and looks for what they have left.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Find says which goroutines are left; nil if all end.
func Find() error {
	err := goleak.Find()
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); {
		err = goleak.Find()
	}
	return err
}
