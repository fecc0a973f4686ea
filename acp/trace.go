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

// tracer writes each line as a JSON object with its time. Secrets are masked:
// our tokens, and the values of env and headers of MCP servers. It belongs to
// the loop; a nil one writes nothing.
type tracer struct {
	out     *json.Encoder
	secrets [][]byte
}

func newTracer(w io.Writer) *tracer {
	if w == nil {
		return nil
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return &tracer{out: out}
}

type traced struct {
	At   string `json:"at"`
	Dir  string `json:"dir"`
	Mark string `json:"mark,omitempty"`
	Size int    `json:"size,omitempty"` // of a line that is shown cut
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
	rec := traced{At: time.Now().Format(time.RFC3339Nano), Dir: dir, Mark: mark}
	shown := bytes.TrimRight(maskParams(line), "\r\n")
	for _, s := range t.secrets {
		shown = bytes.ReplaceAll(shown, s, []byte("***"))
	}
	if len(shown) > traceLimit {
		rec.Size = len(shown)
		shown = shown[:traceLimit]
	}
	rec.Line = string(bytes.ToValidUTF8(shown, []byte("\ufffd")))
	_ = t.out.Encode(rec)
}

// maskParams takes the secrets out of the messages that carry some.
func maskParams(line []byte) []byte {
	if !bytes.Contains(line, []byte(`mcpServers`)) && !bytes.Contains(line, []byte(`authenticate`)) {
		return line
	}
	e, ok := wire.Scan(line)
	if !ok || e.Params.Absent() {
		return line
	}
	if wire.String(e.Method.Of(line)) == "authenticate" {
		return wire.Splice(line, wire.Edit{At: e.Params, With: []byte(`"***"`)})
	}
	list, ok := wire.Get(line, e.Params, "mcpServers")
	if !ok {
		return line
	}
	servers, ok := wire.Elements(line, list)
	if !ok {
		return wire.Splice(line, wire.Edit{At: list, With: []byte(`"***"`)})
	}
	var edits []wire.Edit
	for _, s := range servers {
		for _, name := range []string{"env", "headers"} {
			pairs, ok := wire.Get(line, s, name)
			if !ok {
				continue
			}
			all, ok := wire.Elements(line, pairs)
			if !ok {
				edits = append(edits, wire.Edit{At: pairs, With: []byte(`"***"`)})
			}
			for _, pair := range all {
				if v, ok := wire.Get(line, pair, "value"); ok {
					edits = append(edits, wire.Edit{At: v, With: []byte(`"***"`)})
				}
			}
		}
	}
	return wire.Splice(line, edits...)
}
