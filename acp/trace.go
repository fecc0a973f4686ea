package acp

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"sidetask/acp/internal/wire"
)

// Directions of a traced line.
const (
	fromEditor = "editor>proxy"
	toAgent    = "proxy>agent"
	fromAgent  = "agent>proxy"
	toEditor   = "proxy>editor"
)

// Marks of a traced line that did not just pass through.
const (
	markAdded   = "added"
	markChanged = "changed"
	markHeld    = "held"
	markDropped = "dropped"
)

// traceLimit is how much of one line a trace shows.
const traceLimit = 64 << 10

// tracer writes each line as a JSON object with its time. Secrets are masked, as
// far as they can be known: see masked. Of what is no message only the size is
// written. It ends with the first that cannot be written. It belongs to the loop;
// a nil one writes nothing.
type tracer struct {
	out     *json.Encoder // nil when it has ended
	gaps    *wire.Gaps
	failed  func(error)
	secrets [][]byte
}

func newTracer(w io.Writer, gaps *wire.Gaps, failed func(error)) *tracer {
	if w == nil {
		return nil
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return &tracer{out: out, gaps: gaps, failed: failed}
}

type traced struct {
	At   string `json:"at"`
	Dir  string `json:"dir"`
	Mark string `json:"mark,omitempty"`
	Size int    `json:"size,omitempty"` // of a line that is not shown whole
	Line string `json:"line"`
}

// secret names text that no trace may show.
func (t *tracer) secret(text string) {
	if t != nil {
		t.secrets = append(t.secrets, []byte(text))
	}
}

// line writes one line.
func (t *tracer) line(dir, mark string, line []byte) {
	if t == nil {
		return
	}
	t.write(dir, mark, line, t.gaps.Size(line))
}

// streamed writes one line that was passed on in pieces, by its short form.
func (t *tracer) streamed(dir, mark string, short []byte, size int) {
	if t != nil {
		t.write(dir, mark, short, size)
	}
}

// write writes what is at hand of a line of that size.
func (t *tracer) write(dir, mark string, line []byte, size int) {
	if t.out == nil {
		return
	}
	rec := traced{At: time.Now().Format(time.RFC3339Nano), Dir: dir, Mark: mark}
	shown, ok := masked(line)
	if !ok || size != len(line) {
		rec.Size = size
	}
	shown = bytes.TrimRight(shown, "\r\n")
	for _, s := range t.secrets {
		shown = bytes.ReplaceAll(shown, s, []byte("***"))
	}
	if len(shown) > traceLimit {
		rec.Size = size
		shown = shown[:traceLimit]
	}
	rec.Line = string(bytes.ToValidUTF8(shown, []byte("\ufffd")))
	if err := t.out.Encode(rec); err != nil {
		t.out = nil
		t.failed(err)
	}
}
