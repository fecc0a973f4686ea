package process

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"sidetask/process/wire"
	"sidetask/registry"
	"sidetask/spool"
)

// readBytes is one read of a spool.
const readBytes = 64 << 10

// Read cleans what is there from the cursor on. Of however much that is, only
// the end that is asked for is in memory.
func (p *Producer) Read(row registry.Row, req registry.ReadRequest) (registry.Reading, error) {
	if p.apart(row) {
		return p.readApart(row, req)
	}
	dir := filepath.Join(p.dir(row), wire.OutDir)
	end, err := spool.Size(dir)
	if err != nil {
		return registry.Reading{}, err
	}
	c := newCleaner(req.Keep, !p.settings().CleanOutput)
	if err := c.feed(dir, req.From, end); err != nil {
		return registry.Reading{}, err
	}
	text, leftOut := c.finish(req.Ended)
	return registry.Reading{Text: text, LeftOut: leftOut, Next: req.From + c.offset - c.held()}, nil
}

// feed cleans the bytes of a spool between two offsets.
func (c *cleaner) feed(dir string, from, end int64) error {
	reader := spool.NewReader(dir)
	defer reader.Close()
	buf := make([]byte, min(readBytes, max(end-from, 0)))
	for from < end {
		n, lost, err := reader.ReadAt(buf[:min(int64(len(buf)), end-from)], from)
		if err != nil {
			return err
		}
		if lost > 0 {
			c.gone(lost)
		}
		if n == 0 && lost == 0 {
			return nil // deleted meanwhile
		}
		c.write(buf[:n])
		from += lost + int64(n)
	}
	return nil
}

// matchWindow is how much of the text a match may reach over.
const matchWindow = 64 << 10

// Match waits until the cleaned text from the cursor on matches. Nothing runs
// while no output comes. Of a long text only the last part is looked at, each
// part of it at least once.
func (p *Producer) Match(ctx context.Context, row registry.Row, from int64, until *regexp.Regexp) error {
	if p.apart(row) {
		return p.matchApart(ctx, row, from, until)
	}
	return p.match(ctx, row, filepath.Join(p.dir(row), wire.OutDir), from, until)
}

// match follows one spool.
func (p *Producer) match(ctx context.Context, row registry.Row, dir string, from int64, until *regexp.Regexp) error {
	watch := p.watcher.Watch(dir)
	defer watch.Close()
	c := newCleaner(matchWindow, !p.settings().CleanOutput)
	var looked time.Time // at the newest lines
	for {
		end, err := spool.Size(dir)
		if err != nil {
			return err
		}
		for at := from + c.offset; at < end; at = from + c.offset {
			if err := ctx.Err(); err != nil {
				return err
			}
			if end-at > backlog && time.Since(looked) > gather {
				if end, err = spool.Size(dir); err != nil {
					return err
				}
				if newest, err := p.newestMatch(dir, end, until); newest || err != nil {
					return err
				}
				looked = time.Now()
			}
			// In pieces of half the window, so that nothing slides out unseen.
			before := c.offset
			if err := c.feed(dir, at, min(at+matchWindow/2, end)); err != nil {
				return err
			}
			if c.matches(until) {
				return nil
			}
			if c.offset == before {
				break // deleted meanwhile
			}
		}
		if err := watch.Wait(ctx); err != nil {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// backlog is from how many unseen bytes on the newest lines are looked at first.
const backlog = 1 << 20

// newestMatch looks at the newest lines alone: where output comes faster than it can
// be looked at, what came last is not to wait for all before it. What comes before
// the first newline is left out: in the middle of a line, or of an escape sequence,
// it might read otherwise. A newline ends both.
func (p *Producer) newestMatch(dir string, end int64, until *regexp.Regexp) (bool, error) {
	c := newCleaner(matchWindow, !p.settings().CleanOutput)
	if err := c.feed(dir, end-matchWindow, end); err != nil {
		return false, err
	}
	c.bad, c.lost = 0, nil // the notes are ours, not output
	text, _ := c.finish(false)
	_, lines, _ := strings.Cut(text, "\n")
	return until.MatchString("\n" + lines), nil
}

// gather is how long output may gather before it is looked at: a command that
// writes a lot of small pieces costs a match hundred times a second, not for
// each of them.
const gather = 10 * time.Millisecond

func pause(ctx context.Context) error {
	timer := time.NewTimer(gather)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// matches looks at the text so far. Where its beginning has slid out it begins
// with a newline, so that "^" does not match in the middle of a line.
func (c *cleaner) matches(until *regexp.Regexp) bool {
	bad, lost := c.bad, c.lost
	c.bad, c.lost = 0, nil // the notes are ours, not output
	text, leftOut := c.finish(false)
	c.bad, c.lost = bad, lost
	if leftOut > 0 {
		for i, b := range []byte(text) {
			if b == '\n' {
				text = text[i:]
				break
			}
		}
	}
	return until.MatchString(text)
}
