package spool

import (
	"fmt"
	"os"
)

// segments is how many segments the bound holds at least: whole segments are
// deleted, so this is also how finely the bound is kept.
const segments = 16

// Limits bound what one spool may have on disk.
type Limits struct {
	Bytes int64 // all segments together; at least 16
	Head  int64 // of them, kept from the beginning; less than Bytes
}

// Writer appends to a spool. There is one at a time, and it is not safe for
// concurrent use.
type Writer struct {
	dir     string
	segment int64 // size of a full segment
	head    int64 // segments that start below are kept
	bytes   int64

	file  *os.File // the last segment; nil before the first byte
	start int64    // its first offset
	end   int64    // offset of the next byte
	used  int64    // bytes on disk
	// tail are the first offsets of the segments that may be deleted, oldest first;
	// the last segment is among them unless it belongs to the head.
	tail []int64
}

// NewWriter makes the folder if need be, or goes on where the spool in it ends.
// Bounds too small for 16 segments are raised to that.
func NewWriter(dir string, l Limits) (*Writer, error) {
	bytes := max(l.Bytes, segments)
	w := &Writer{dir: dir, bytes: bytes, segment: bytes / segments}
	// Room for two segments of tail stays, else the newest output would be
	// deleted the moment that it is complete.
	w.head = min(max(l.Head, 0), bytes-2*w.segment)
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		return w, nil // there is nothing in it to go on with
	}
	if !os.IsExist(err) {
		return nil, fmt.Errorf("make spool: %w", err)
	}
	list, err := starts(dir)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	for _, start := range list {
		info, err := os.Stat(path(dir, start))
		if err != nil {
			return nil, fmt.Errorf("open spool: %w", err)
		}
		w.used += info.Size()
		w.start, w.end = start, start+info.Size()
		if start >= w.head {
			w.tail = append(w.tail, start)
		}
	}
	if len(list) > 0 {
		if w.file, err = os.OpenFile(path(dir, w.start), os.O_WRONLY|os.O_APPEND, 0); err != nil {
			return nil, fmt.Errorf("open spool: %w", err)
		}
	}
	return w, nil
}

// Size is the offset of the next byte: all bytes ever written.
func (w *Writer) Size() int64 { return w.end }

// Write appends p. What it wrote before an error is in the spool, and the rest
// may be tried again (a full disk recovers).
func (w *Writer) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		room, err := w.room()
		if err != nil {
			return done, err
		}
		n, err := w.file.Write(p[done:min(len(p), done+int(room))])
		done += n
		w.end += int64(n)
		w.used += int64(n)
		if err != nil {
			return done, fmt.Errorf("write spool: %w", err)
		}
	}
	return done, nil
}

// room makes a segment with room current, the oldest ones of the middle giving
// way, and says how much may be written to it now.
func (w *Writer) room() (int64, error) {
	limit := w.segment
	if w.start < w.head {
		// The head ends with a segment of its own, however odd its size.
		limit = min(limit, w.head-w.start)
	}
	if w.file == nil || w.end-w.start >= limit {
		if err := w.next(); err != nil {
			return 0, err
		}
		return w.room()
	}
	room := limit - (w.end - w.start)
	if over := w.used + room - w.bytes; over > 0 {
		if err := w.shed(over); err != nil {
			return 0, err
		}
	}
	return room, nil
}

// next begins a segment at the end.
func (w *Writer) next() error {
	file, err := os.OpenFile(path(w.dir, w.end), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		// Left empty by an earlier attempt that failed.
		file, err = os.OpenFile(path(w.dir, w.end), os.O_WRONLY|os.O_APPEND, 0)
	}
	if os.IsNotExist(err) && os.MkdirAll(w.dir, 0o700) == nil {
		// Somebody deleted the folder: what comes from now on is kept.
		file, err = os.OpenFile(path(w.dir, w.end), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	}
	if err != nil {
		return fmt.Errorf("begin spool segment: %w", err)
	}
	if w.file != nil {
		_ = w.file.Close() // nothing is buffered in it
	}
	w.file, w.start = file, w.end
	if w.start >= w.head {
		w.tail = append(w.tail, w.start)
	}
	return nil
}

// shed deletes the oldest segments of the tail until over bytes are free, but
// never the last one.
func (w *Writer) shed(over int64) error {
	for over > 0 && len(w.tail) > 1 {
		oldest := path(w.dir, w.tail[0])
		info, err := os.Stat(oldest)
		if err == nil {
			w.used -= info.Size()
			over -= info.Size()
			err = os.Remove(oldest)
		}
		if err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("bound spool: %w", err)
		}
		w.tail = w.tail[1:]
	}
	return nil
}

// Close closes the last segment; the spool stays.
func (w *Writer) Close() error {
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}
