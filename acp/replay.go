package acp

import (
	"strings"

	"sidetask/acp/internal/wire"
	"sidetask/render"
)

// replayed cuts our frame out of what an agent shows as the user's words: in a
// replay, in version 2 always. It gives nil when nothing is left of the message.
func (p *proxy) replayed(line []byte, u wire.Span) []byte {
	content, ok := wire.Get(line, u, "content")
	if !ok {
		return line
	}
	if all, ok := wire.Elements(line, content); ok {
		return p.cutBlocks(line, content, all)
	}
	at, ok := wire.Get(line, content, "text")
	if !ok {
		return line
	}
	rest, shown, found := p.cut(wire.String(at.Of(line)))
	switch {
	case !found:
		return line
	case rest == "" && shown == "":
		return nil
	}
	return wire.Splice(line, wire.Edit{At: at, With: wire.Quote(shown + rest)})
}

// cut takes our frame out of a text. shown is what the editor is to see in its
// place: the notices where wakes are echoed as the user's, else nothing.
func (p *proxy) cut(text string) (rest, shown string, found bool) {
	rest, found = render.CutFrame(text)
	if found && p.showWake() == showUser && rest == "" {
		notices := strings.NewReplacer(render.FrameFirst, "", render.FrameLast, "\n").Replace(text)
		shown = visible(strings.FieldsFunc(notices, func(r rune) bool { return r == '\n' }))
	}
	return rest, shown, found
}

// cutBlocks cuts our frame out of a message that comes whole, as a list of blocks.
func (p *proxy) cutBlocks(line []byte, content wire.Span, blocks []wire.Span) []byte {
	var keep [][]byte
	any := false
	for _, b := range blocks {
		at, ok := wire.Get(line, b, "text")
		rest, shown, found := "", "", false
		if ok {
			rest, shown, found = p.cut(wire.String(at.Of(line)))
		}
		switch {
		case !found:
			keep = append(keep, b.Of(line))
		case rest+shown == "":
			any = true
		default:
			any = true
			keep = append(keep, wire.Splice(b.Of(line), wire.Edit{At: wire.Span{From: at.From - b.From, To: at.To - b.From}, With: wire.Quote(shown + rest)}))
		}
	}
	switch {
	case !any:
		return line
	case len(keep) == 0:
		return nil
	}
	with := []byte{'['}
	for i, b := range keep {
		if i > 0 {
			with = append(with, ',')
		}
		with = append(with, b...)
	}
	return wire.Splice(line, wire.Edit{At: content, With: append(with, ']')})
}
