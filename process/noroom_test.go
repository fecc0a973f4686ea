package process

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// A start that the system has no room for says what to do (FIELD, limits).
func TestNoRoomSaysWhatToDo(t *testing.T) {
	for cause, want := range map[error]string{
		syscall.EAGAIN:     "ulimit -u",
		syscall.ECONNRESET: "ulimit -u",
		syscall.EMFILE:     "ulimit -n",
		syscall.EACCES:     "permission denied",
	} {
		err := noRoom(fmt.Errorf("fork: %w", cause))
		if !errors.Is(err, cause) || !strings.Contains(err.Error(), want) {
			t.Errorf("noRoom(%v) = %v, want %q in it", cause, err, want)
		}
	}
}
