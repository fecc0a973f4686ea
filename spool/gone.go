package spool

import (
	"fmt"
	"os"
)

// GoneLine is what whoever shows a spool as text says where bytes are gone, on a
// line of its own.
func GoneLine(n int64) string { return fmt.Sprintf("[%d bytes of output are gone]\n", n) }

// GoneBefore is what is said at the end of a text, with a cap on it, of bytes
// whose own lines are cut off with the beginning.
func GoneBefore(n int64) string {
	return fmt.Sprintf("[of what stood before, %d bytes of output are gone]\n", n)
}

// CutRoom is how much more than what is left out of a text may be missing in the
// end: the notes take room, and so do the marker and the status line of who shows
// it. A gap that stands there is told of at the end, too.
const CutRoom = 256

// Gone is how many bytes between two offsets were written and are not there any more.
func Gone(dir string, from, to int64) (int64, error) {
	list, err := starts(dir)
	if err != nil {
		return 0, fmt.Errorf("measure spool: %w", err)
	}
	gone := max(to-from, 0)
	for _, start := range list {
		info, err := os.Stat(path(dir, start))
		if os.IsNotExist(err) {
			continue // just now
		}
		if err != nil {
			return 0, fmt.Errorf("measure spool: %w", err)
		}
		gone -= max(min(start+info.Size(), to)-max(start, from), 0)
	}
	return gone, nil
}
