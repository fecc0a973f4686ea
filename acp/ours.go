package acp

import (
	"fmt"
	"strings"

	"sidetask/acp/internal/wire"
)

// ours are our own prompts at the agent, and the ids of all that is ours.
type ours struct {
	prefix string // random: no id of the editor begins so
	last   int
	open   map[string]ownPrompt // by id
}

// ownPrompt is a prompt of ours at the agent.
type ownPrompt struct {
	session *session
	n       int
}

func newOurs() ours {
	return ours{prefix: "sidetask-" + randomHex(4) + "-", open: map[string]ownPrompt{}}
}

// ask notes a prompt of ours and gives its id, as JSON.
func (o *ours) ask(p ownPrompt) (id string) {
	o.last++
	id = fmt.Sprintf(`"%s%d"`, o.prefix, o.last)
	o.open[id] = p
	return id
}

// asked reports whether a message with that id answers us: late, or again, too.
func (o *ours) asked(key string) bool { return strings.HasPrefix(key, `"`+o.prefix) }

// answered takes a prompt away that has been answered.
func (o *ours) answered(key string) (p ownPrompt, ok bool) {
	p, ok = o.open[key]
	delete(o.open, key)
	return p, ok
}

// messageID makes an id for a message of ours that the editor is shown, as JSON.
func (o *ours) messageID() []byte { return wire.Quote(o.prefix + randomHex(8)) }
