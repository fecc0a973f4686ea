package process

import (
	"context"
	"encoding/binary"
	"path/filepath"
	"regexp"

	"sidetask/process/wire"
	"sidetask/registry"
	"sidetask/spool"
)

// A task whose streams are kept apart has one cursor all the same. It is the
// number of the next of the keeper's marks (each says how far both streams were),
// and how many bytes of each stream before it are still to be told, for they were
// incomplete. So zero is the beginning here, too, and the cursor only grows.
const (
	heldBits = 12
	maxHeld  = 1<<heldBits - 1
)

// mark says how far both streams were when the keeper had copied something.
type mark struct{ out, err int64 }

const markBytes = 16

type cursor struct {
	mark             int64 // number of the next mark
	heldOut, heldErr int64
}

func unpack(n int64) cursor {
	return cursor{mark: n >> (2 * heldBits), heldOut: n >> heldBits & maxHeld, heldErr: n & maxHeld}
}

func (c cursor) pack() int64 {
	return c.mark<<(2*heldBits) | min(c.heldOut, maxHeld)<<heldBits | min(c.heldErr, maxHeld)
}

// readApart gives what is new of stdout, then, if there is any, `[stderr]` and
// what is new of stderr (T193).
func (p *Producer) readApart(row registry.Row, req registry.ReadRequest) (registry.Reading, error) {
	at := unpack(req.From)
	before, after, next, err := p.between(row, at.mark)
	if err != nil {
		return registry.Reading{}, err
	}
	raw := !p.settings().CleanOutput
	out, errs := newCleaner(req.Keep, raw), newCleaner(req.Keep, raw)
	if err := out.feed(filepath.Join(p.dir(row), wire.OutDir), before.out-at.heldOut, after.out); err != nil {
		return registry.Reading{}, err
	}
	if err := errs.feed(filepath.Join(p.dir(row), wire.ErrDir), before.err-at.heldErr, after.err); err != nil {
		return registry.Reading{}, err
	}
	text, leftOut := out.finish(req.Ended)
	errText, errLeftOut := errs.finish(req.Ended)
	if errText != "" {
		if text != "" && text[len(text)-1] != '\n' {
			text += "\n"
		}
		text += "[stderr]\n" + errText
	}
	all := tail{total: int64(len(text)), buf: []byte(text)}
	kept, more := all.last(int(min(req.Keep, 1<<30)))
	return registry.Reading{
		Text:    string(kept),
		LeftOut: leftOut + errLeftOut + more,
		Next:    cursor{mark: next, heldOut: out.held(), heldErr: errs.held()}.pack(),
	}, nil
}

// between gives how far the streams were at a mark's predecessor, and are now.
func (p *Producer) between(row registry.Row, number int64) (before, after mark, next int64, err error) {
	dir := filepath.Join(p.dir(row), wire.OrderDir)
	size, err := spool.Size(dir)
	if err != nil {
		return before, after, 0, err
	}
	next = size / markBytes
	if number > next {
		number = next
	}
	if before, err = readMark(dir, number-1); err != nil {
		return before, after, 0, err
	}
	after, err = readMark(dir, next-1)
	return before, after, next, err
}

// readMark reads a mark; where it is gone, the first after it. Before the first
// of all both streams are empty.
func readMark(dir string, number int64) (mark, error) {
	if number < 0 {
		return mark{}, nil
	}
	reader := spool.NewReader(dir)
	defer reader.Close()
	var m [markBytes]byte
	for off, have := number*markBytes, 0; have < markBytes; {
		n, lost, err := reader.ReadAt(m[have:], off)
		if err != nil {
			return mark{}, err
		}
		if lost > 0 {
			// On to the next whole one.
			off, have = (off+lost+markBytes-1)/markBytes*markBytes, 0
			continue
		}
		if n == 0 {
			return mark{}, nil // deleted meanwhile
		}
		off, have = off+int64(n), have+n
	}
	return mark{
		out: int64(binary.BigEndian.Uint64(m[:])),
		err: int64(binary.BigEndian.Uint64(m[8:])),
	}, nil
}

// matchApart waits until one of the two streams matches.
func (p *Producer) matchApart(ctx context.Context, row registry.Row, from int64, until *regexp.Regexp) error {
	at := unpack(from)
	before, _, _, err := p.between(row, at.mark)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	second := make(chan error, 1)
	go func() {
		second <- p.match(ctx, row, filepath.Join(p.dir(row), wire.ErrDir), before.err-at.heldErr, until)
		cancel()
	}()
	err = p.match(ctx, row, filepath.Join(p.dir(row), wire.OutDir), before.out-at.heldOut, until)
	cancel()
	if secondErr := <-second; secondErr == nil {
		return nil
	}
	return err
}
