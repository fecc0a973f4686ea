package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// maxFileBytes bounds the file; the commented one has some 6 KiB.
const maxFileBytes = 256 << 10

// content is what stands at the path at one moment.
type content struct {
	bytes  []byte
	absent bool  // there is no file
	astray bool  // a symbolic link leads to no file; err says so, too
	busy   bool  // somebody has it open for writing: what was read may be half of it
	err    error // why it cannot be read
}

// empty reports a file that has nothing in it, as one that is being written may.
func (c content) empty() bool {
	return c.err == nil && !c.absent && len(bytes.TrimSpace(c.bytes)) == 0
}

// read reads the file as a whole: where the kernel allows, nobody can open it
// for writing in the middle.
func read(path string) content {
	// Without O_NONBLOCK opening a FIFO waits for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return missing(path)
	}
	if err != nil {
		return content{err: fmt.Errorf("cannot be read: %w", bare(err))}
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return content{err: fmt.Errorf("cannot be read: %w", bare(err))}
	}
	if !before.Mode().IsRegular() {
		kind := "a special file"
		if before.IsDir() {
			kind = "a folder"
		}
		return content{err: fmt.Errorf("is %s: the configuration must be a regular file", kind)}
	}
	release, busy := still(f)
	defer release()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return content{err: fmt.Errorf("cannot be read: %w", bare(err))}
	}
	after, err := f.Stat()
	if err != nil {
		return content{err: fmt.Errorf("cannot be read: %w", bare(err))}
	}
	busy = busy || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) // where still cannot tell
	if len(data) > maxFileBytes {
		return content{busy: busy, err: fmt.Errorf("has more than the %d bytes that a configuration may have", maxFileBytes)}
	}
	return content{bytes: data, busy: busy}
}

// missing tells a file that is not there from a link that leads nowhere: the
// first means the defaults, the second is somebody's mistake.
func missing(path string) content {
	if r := resolve(path); r.dangling != "" {
		return content{astray: true, err: fmt.Errorf("cannot be read: the symbolic link %s leads to a file that does not exist", r.dangling)}
	}
	return content{absent: true}
}

// bare is the reason without the path, which the message has already.
func bare(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
