package process

import (
	"context"
	"os"
	"path/filepath"

	"sidetask/process/wire"
	"sidetask/registry"
	"sidetask/spool"
)

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
		if err := p.awaitMore(ctx, row, dir, off, req.Ended); err != nil {
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

// over reports whether nothing more can come: the end of the task has been
// committed and it left nothing running.
func (p *Producer) over(row registry.Row, ended <-chan struct{}) bool {
	if !isClosed(ended) {
		return false
	}
	k, live := p.find(row)
	return !live || k.silent()
}

// silent reports whether the command has ended and left nothing that could write.
func (k kept) silent() bool { return k.ended && k.leftovers == 0 }

// awaitMore waits until the spool may have grown past the offset, or the task's
// state changed.
func (p *Producer) awaitMore(ctx context.Context, row registry.Row, dir string, off int64, ended <-chan struct{}) error {
	if _, err := os.Stat(dir); err != nil {
		return err // deleted meanwhile
	}
	watch := p.watcher.Watch(dir)
	defer watch.Close()
	if size, err := spool.Size(dir); err != nil || size > off {
		return err // it grew before the watch was armed
	}
	var gone <-chan struct{} // the end of the leftovers is awaited once that of the command is known
	if isClosed(ended) {
		k, live := p.find(row)
		if !live || k.silent() {
			return nil
		}
		gone, ended = k.gone, nil
	}
	select {
	case <-watch.C:
	case <-ended:
	case <-gone:
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
		return filepath.Join(p.dir(row), wire.OutDir), nil
	case "stderr":
		if !p.apart(row) {
			return "", invalid(`the task's stderr is in its stdout, in true order: start it with stderr "separate"`)
		}
		return filepath.Join(p.dir(row), wire.ErrDir), nil
	}
	return "", invalid("invalid stream %q: expected stdout or stderr", name)
}

// apart reports whether the task's streams are kept apart.
func (p *Producer) apart(row registry.Row) bool {
	_, err := os.Stat(filepath.Join(p.dir(row), wire.OrderDir))
	return err == nil
}
