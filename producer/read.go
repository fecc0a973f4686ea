package producer

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"sidetask/registry"
	"sidetask/spool"
)

const (
	// maxRead bounds one reading of a task without a cap; the next goes on behind it.
	maxRead = 8 << 20
	// matchWindow is how much of what has been looked at is looked at again with
	// what comes, so that a match may lie across.
	matchWindow = 64 << 10
	// gather is how long output may gather before it is looked at: a producer that
	// appends a lot of small pieces costs a match hundred times a second, not for
	// each of them.
	gather = 10 * time.Millisecond
)

// Read gives the text from the cursor on, or of a final-output task all of it
// (BEHAVIOUR T31, T32).
func (o *Outside) Read(row registry.Row, req registry.ReadRequest) (registry.Reading, error) {
	dir := o.folder(row)
	m, err := o.metaOf(row)
	if err != nil {
		return registry.Reading{}, fmt.Errorf("read the record of the task: %w", err)
	}
	from := req.From
	if !m.Stream {
		if !req.Ended {
			return registry.Reading{Next: req.From}, nil
		}
		from = 0
	}
	text, leftOut, next, err := readText(output(dir), from, req.Keep)
	if err != nil {
		return registry.Reading{}, err
	}
	if !m.Stream {
		next = req.From
	}
	return registry.Reading{Text: text, LeftOut: leftOut, Next: next}, nil
}

func (o *Outside) metaOf(row registry.Row) (meta, error) {
	if w := o.work(row); w != nil {
		return w.meta, nil
	}
	return loadMeta(o.folder(row))
}

// readText reads from an offset to the end; with keep only that much of the end.
func readText(dir string, from, keep int64) (text string, leftOut, next int64, err error) {
	reader := spool.NewReader(dir)
	defer func() { _ = reader.Close() }()
	end, err := reader.Size()
	if err != nil {
		return "", 0, 0, err
	}
	start, note := min(from, end), ""
	if keep > 0 && end-start > keep {
		if start, leftOut, note, err = cut(dir, reader, start, end, keep); err != nil {
			return "", 0, 0, err
		}
	}
	text, at, err := readBetween(reader, start, min(end, start+maxRead))
	if err != nil {
		return "", 0, 0, err
	}
	if start > from { // it begins within the text: at a code point
		for i := 0; i < utf8.UTFMax-1 && text != "" && !utf8.RuneStart(text[0]); i++ {
			text = text[1:]
			leftOut++
		}
	}
	if at < end { // it ends within the text: at a code point
		n := incomplete(text)
		at -= int64(n)
		text = text[:len(text)-n]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	return text + ownLine(note, text), leftOut, max(at, from), nil
}

// cut says where the end of a text begins of which keep bytes can be used, how
// many bytes of text are left out before it, and what is to be said at the end of
// it of gaps whose own lines are left out with them.
func cut(dir string, reader *spool.Reader, from, end, keep int64) (start, leftOut int64, note string, err error) {
	all, err := spool.Gone(dir, from, end)
	if err != nil {
		return 0, 0, "", err
	}
	if all == 0 {
		return end - keep, end - keep - from, "", nil
	}
	start = end - max(keep-int64(len("\n"+spool.GoneBefore(all))), 1)
	var one [1]byte
	_, lost, err := reader.ReadAt(one[:], start)
	if err != nil {
		return 0, 0, "", err
	}
	start += lost // behind the gap that it would begin in
	before, err := spool.Gone(dir, from, start)
	if err != nil {
		return 0, 0, "", err
	}
	gone, err := spool.Gone(dir, from, min(start+spool.CutRoom, end))
	if err != nil {
		return 0, 0, "", err
	}
	if gone > 0 {
		note = spool.GoneBefore(gone)
	}
	return start, start - from - before, note, nil
}

// readBetween reads what is there between two offsets, and says how far it came.
func readBetween(reader *spool.Reader, at, stop int64) (string, int64, error) {
	var b strings.Builder
	buf := make([]byte, min(stop-at, 256<<10))
	for at < stop {
		n, lost, err := reader.ReadAt(buf[:min(int64(len(buf)), stop-at)], at)
		if err != nil {
			return "", 0, err
		}
		if lost > 0 {
			b.WriteString(ownLine(spool.GoneLine(lost), b.String()))
		}
		if n == 0 && lost == 0 {
			break
		}
		b.Write(buf[:n])
		at += lost + int64(n)
	}
	return b.String(), at, nil
}

// incomplete is how many bytes at the end are the beginning of a code point.
func incomplete(text string) int {
	cut := len(text)
	for cut > 0 && len(text)-cut < utf8.UTFMax && !utf8.RuneStart(text[cut-1]) {
		cut--
	}
	if cut > 0 && !utf8.FullRuneInString(text[cut-1:]) {
		return len(text) - cut + 1
	}
	return 0
}

// ownLine is a line of ours, not in the middle of one of the text before.
func ownLine(line, before string) string {
	if line != "" && before != "" && !strings.HasSuffix(before, "\n") {
		return "\n" + line
	}
	return line
}

// Tail reads raw output from an offset; with Follow it waits for more.
func (o *Outside) Tail(ctx context.Context, row registry.Row, req registry.TailRequest) (registry.Tailed, error) {
	if req.Stream == "stderr" {
		return registry.Tailed{}, registry.Errorf(registry.KindInvalid, "this task has one stream only")
	}
	dir := output(o.folder(row))
	offset := req.Offset
	if req.FromEnd {
		end, err := spool.Size(dir)
		if err != nil {
			return registry.Tailed{}, err
		}
		offset = max(0, end-req.Offset)
	}
	for {
		changed := o.changes(row)
		ended := isClosed(req.Ended) // looked at before reading: then what is read is all
		got, err := tailOnce(dir, offset, req.MaxBytes)
		if err != nil {
			return got, err
		}
		got.EOF = ended && len(got.Data) == 0
		if ended && !got.EOF {
			end, err := spool.Size(dir)
			got.EOF = err == nil && got.Next >= end
		}
		if len(got.Data) > 0 || got.EOF || ended || !req.Follow {
			return got, nil
		}
		select {
		case <-changed:
		case <-req.Ended:
		case <-ctx.Done():
			return got, registry.ErrWaitAborted
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func tailOnce(dir string, offset int64, maxBytes int) (registry.Tailed, error) {
	reader := spool.NewReader(dir)
	defer func() { _ = reader.Close() }()
	data := make([]byte, maxBytes)
	n, lost, err := reader.ReadAt(data, offset)
	at := offset + lost
	return registry.Tailed{Data: data[:n], Offset: at, Next: at + int64(n), Lost: lost}, err
}

// changes is closed when output comes or the task ends; nil for one that has
// ended. Who asks for it before looking misses nothing.
func (o *Outside) changes(row registry.Row) <-chan struct{} {
	w := o.work(row)
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// Match waits until what was written from an offset on matches. Nothing runs
// while no output comes.
func (o *Outside) Match(ctx context.Context, row registry.Row, from int64, until *regexp.Regexp) error {
	dir := output(o.folder(row))
	window := ""
	for looked := false; ; looked = true {
		changed := o.changes(row)
		text, _, next, err := readText(dir, from, 0)
		if err != nil {
			return err
		}
		window += text
		if (text != "" || !looked) && until.MatchString(window) {
			return nil
		}
		if cut := len(window) - matchWindow; cut > 0 {
			window = strings.ToValidUTF8(window[cut:], "")
		}
		if next > from {
			from = next
			continue // there may be more than one reading takes
		}
		select { // of a task that has ended, the end is what ends the wait
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-time.After(gather):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Cancel asks the task's producer to stop.
func (o *Outside) Cancel(ctx context.Context, row registry.Row, reason *string) error {
	w := o.work(row)
	if w == nil {
		return nil // it has ended meanwhile: the settlement wins
	}
	return w.cancel(ctx, reason)
}

// Write is refused: a producer takes no input here.
func (o *Outside) Write(context.Context, registry.Row, registry.WriteRequest) (int, error) {
	return 0, registry.Errorf(registry.KindInvalid, "a task of an outside producer takes no input")
}

// EndLeftovers has nothing to end.
func (o *Outside) EndLeftovers(registry.Row) (int, error) { return 0, nil }

// Facts are the sizes.
func (o *Outside) Facts(rows ...registry.Row) []registry.Facts {
	facts := make([]registry.Facts, len(rows))
	for i, row := range rows {
		// What cannot be read is told as nothing: this is for display.
		disk, size, _ := spool.Measure(output(o.folder(row)))
		facts[i] = registry.Facts{Bytes: size, Disk: disk}
	}
	return facts
}

// Remove deletes what is kept of an ended task.
func (o *Outside) Remove(row registry.Row) (int64, error) { return removeFolder(o.folder(row)) }
