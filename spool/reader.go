package spool

import (
	"fmt"
	"io"
	"os"
	"slices"
)

// Reader reads a spool by offset, also while it is written. It is not safe for
// concurrent use; any number of readers may read one spool.
type Reader struct {
	dir   string
	file  *os.File // the segment read last; nil where none is open
	start int64    // its first offset
}

// NewReader reads the spool in dir; that need not be there yet.
func NewReader(dir string) *Reader { return &Reader{dir: dir} }

// ReadAt reads into p from offset off on. Where bytes from off on are gone, it
// reads from the first that is there and says how many are lost between.
// Nothing read and nothing lost: there is no more now.
func (r *Reader) ReadAt(p []byte, off int64) (n int, lost int64, err error) {
	if len(p) == 0 {
		return 0, 0, nil
	}
	if r.file != nil && r.start <= off {
		// Mostly the segment read last has more.
		if n, err := r.read(p, off); n > 0 || err != nil {
			return n, 0, err
		}
	}
	// A folder that is read while segments come may show a new one and miss the
	// one before it, and one may be deleted between the look and the open. So a
	// gap counts only when a second look, which misses nothing that the first
	// could have seen, finds it too.
	for sure := false; ; sure = true {
		n, lost, again, err := r.seek(p, off, sure)
		if err != nil || !again {
			return n, lost, err
		}
	}
}

// seek looks the offset up in the folder and reads there. again: a new look is
// needed.
func (r *Reader) seek(p []byte, off int64, sure bool) (n int, lost int64, again bool, err error) {
	list, err := starts(r.dir)
	if err != nil {
		return 0, 0, false, fmt.Errorf("read spool: %w", err)
	}
	at, found := slices.BinarySearch(list, off)
	if !found {
		at--
	}
	if at >= 0 {
		// A segment that has a successor is complete, so an empty read past its
		// end means that off belongs to what comes after.
		n, gone, err := r.readIn(p, list[at], off)
		if n > 0 || gone || err != nil || at == len(list)-1 {
			return n, 0, gone, err
		}
	}
	if at+1 >= len(list) {
		return 0, 0, false, nil
	}
	next := list[at+1]
	if next > off && !sure {
		return 0, 0, true, nil
	}
	n, gone, err := r.readIn(p, next, next)
	if gone || err != nil {
		return 0, 0, gone, err
	}
	return n, next - off, false, nil
}

// readIn reads at off in the segment that begins at start.
func (r *Reader) readIn(p []byte, start, off int64) (n int, gone bool, err error) {
	if r.file == nil || r.start != start {
		file, err := os.Open(path(r.dir, start))
		if os.IsNotExist(err) {
			return 0, true, nil
		}
		if err != nil {
			return 0, false, fmt.Errorf("read spool: %w", err)
		}
		_ = r.Close()
		r.file, r.start = file, start
	}
	n, err = r.read(p, off)
	return n, false, err
}

func (r *Reader) read(p []byte, off int64) (int, error) {
	n, err := r.file.ReadAt(p, off-r.start)
	if err == io.EOF {
		err = nil
	}
	if err != nil {
		return n, fmt.Errorf("read spool: %w", err)
	}
	return n, nil
}

// Size is the offset after the last byte that is there now.
func (r *Reader) Size() (int64, error) { return Size(r.dir) }

// Size is the offset after the last byte of the spool in dir: all bytes ever
// written to it.
func Size(dir string) (int64, error) {
	for {
		list, err := starts(dir)
		if err != nil {
			return 0, fmt.Errorf("read spool: %w", err)
		}
		if len(list) == 0 {
			return 0, nil
		}
		last := list[len(list)-1]
		info, err := os.Stat(path(dir, last))
		if os.IsNotExist(err) {
			continue // the writer went on by more than the bound
		}
		if err != nil {
			return 0, fmt.Errorf("read spool: %w", err)
		}
		return last + info.Size(), nil
	}
}

// Close lets go of the open segment. The reader may be used again.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}
