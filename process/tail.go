package process

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"sidetask/registry"
	"sidetask/spool"
)

// settling is how long an end takes at most to be committed once its keeper is
// gone; a follower looks again after it.
const settling = 10 * time.Millisecond

// maxTail bounds one piece of raw output.
const maxTail = 1 << 20

// Tail gives raw bytes from any offset on; it takes nothing from anybody.
func (p *Producer) Tail(ctx context.Context, row registry.Row, req registry.TailRequest) (registry.Tailed, error) {
	dir, err := p.stream(row, req.Stream)
	if err != nil {
		return registry.Tailed{}, err
	}
	reader := spool.NewReader(dir)
	defer reader.Close()
	off := req.Offset
	if req.FromEnd {
		size, err := reader.Size()
		if err != nil {
			return registry.Tailed{}, err
		}
		off = max(size-max(req.Offset, 0), 0)
	}
	if off < 0 {
		return registry.Tailed{}, invalid("invalid offset: expected at least 0, got %d", off)
	}
	buf := make([]byte, min(max(req.MaxBytes, 1), maxTail))
	for {
		// Before the look: what was written before the end is then seen by it.
		over := p.over(row, req.Ended)
		t, err := piece(reader, buf, off)
		if err != nil {
			return t, err
		}
		if over {
			size, err := reader.Size()
			t.EOF = err == nil && t.Next >= size
		}
		if len(t.Data) > 0 || t.Lost > 0 || over || !req.Follow {
			return t, nil
		}
		if err := p.awaitMore(ctx, row, dir, off); err != nil {
			return t, err
		}
	}
}

// piece reads what is there at the offset.
func piece(reader *spool.Reader, buf []byte, off int64) (registry.Tailed, error) {
	n, lost, err := reader.ReadAt(buf, off)
	if err != nil {
		return registry.Tailed{}, err
	}
	at := off + lost
	return registry.Tailed{Data: buf[:n], Offset: at, Next: at + int64(n), Lost: lost}, nil
}

// over reports whether nothing more can come: the task has ended and left nothing
// running.
func (p *Producer) over(row registry.Row, ended func() bool) bool {
	if ended != nil && !ended() {
		return false
	}
	k, live := p.find(row)
	return !live || k.ended && k.leftovers == 0
}

// awaitMore waits until the spool may have grown past the offset, or the task's
// state changed.
func (p *Producer) awaitMore(ctx context.Context, row registry.Row, dir string, off int64) error {
	if _, err := os.Stat(dir); err != nil {
		return err // deleted meanwhile
	}
	watch := p.watcher.Watch(dir)
	defer watch.Close()
	if size, err := spool.Size(dir); err != nil || size > off {
		return err // it grew before the watch was armed
	}
	k, live := p.find(row)
	if !live || k.ended && k.leftovers == 0 && isClosed(k.settled) {
		// Its end is being committed.
		timer := time.NewTimer(settling)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if isClosed(k.settled) {
		k.settled = nil // told already; the leftovers' end is awaited
	}
	select {
	case <-watch.C:
	case <-k.settled:
	case <-k.gone:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// stream is the folder of the stream that is asked for.
func (p *Producer) stream(row registry.Row, name string) (string, error) {
	switch name {
	case "", "stdout":
		return filepath.Join(p.dir(row), outDir), nil
	case "stderr":
		if !p.apart(row) {
			return "", invalid(`the task's stderr is in its stdout, in true order: start it with stderr "separate"`)
		}
		return filepath.Join(p.dir(row), errDir), nil
	}
	return "", invalid("invalid stream %q: expected stdout or stderr", name)
}

// apart reports whether the task's streams are kept apart.
func (p *Producer) apart(row registry.Row) bool {
	_, err := os.Stat(filepath.Join(p.dir(row), orderDir))
	return err == nil
}
