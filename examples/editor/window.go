package main

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coder/acp-go-sdk"
)

// window is the editor's side of the protocol: it shows what the agent sends.
type window struct {
	refusals
	screen       *screen
	heard        chan struct{} // holds one: something came
	betweenTurns atomic.Bool   // the user's turn has ended

	mu       sync.Mutex // guards what follows
	cards    map[acp.ToolCallId]card
	told     bool // the user, that the agent acts by itself
	finished bool // a card of reading
	spoke    bool // the agent, after that
}

// card is a tool call as far as it is known.
type card struct {
	title, kind, text string
	allowed           bool // the user was asked
}

// SessionUpdate shows one update.
func (w *window) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.betweenTurns.Load() && !w.told {
		w.told = true
		w.screen.line("the agent is woken")
	}
	switch u := n.Update; {
	case u.UserMessageChunk != nil && u.UserMessageChunk.Content.Text != nil:
		w.screen.user(u.UserMessageChunk.Content.Text.Text)
	case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
		w.spoke = w.finished
		w.screen.agent(u.AgentMessageChunk.Content.Text.Text)
	case u.ToolCall != nil:
		w.change(u.ToolCall.ToolCallId, &u.ToolCall.Title, &u.ToolCall.Kind, nil)
	case u.ToolCallUpdate != nil:
		c := w.change(u.ToolCallUpdate.ToolCallId, u.ToolCallUpdate.Title, u.ToolCallUpdate.Kind, u.ToolCallUpdate.Content)
		if s := u.ToolCallUpdate.Status; s != nil && (*s == acp.ToolCallStatusCompleted || *s == acp.ToolCallStatusFailed) {
			w.finished = w.finished || c.kind == string(acp.ToolKindRead)
			w.screen.card(c, string(*s))
		}
	}
	select {
	case w.heard <- struct{}{}:
	default:
	}
	return nil
}

// reported reports whether the agent has read its task's output and spoken of it.
func (w *window) reported() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.spoke
}

// change merges what is new into a card, as every editor does. The caller holds
// w.mu.
func (w *window) change(id acp.ToolCallId, title *string, kind *acp.ToolKind, content []acp.ToolCallContent) card {
	c := w.cards[id]
	if title != nil {
		c.title = *title
	}
	if kind != nil {
		c.kind = string(*kind)
	}
	var texts []string
	for _, block := range content {
		if block.Content != nil && block.Content.Content.Text != nil {
			texts = append(texts, block.Content.Content.Text.Text)
		}
	}
	if texts != nil {
		c.text = strings.Join(texts, "\n")
	}
	if w.cards == nil {
		w.cards = make(map[acp.ToolCallId]card)
	}
	w.cards[id] = c
	return c
}

// RequestPermission is the user, who allows everything once. It is shown with
// the card: the library lets a request overtake the updates before it.
func (w *window) RequestPermission(_ context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.change(p.ToolCall.ToolCallId, p.ToolCall.Title, p.ToolCall.Kind, nil)
	for _, option := range p.Options {
		if option.Kind == acp.PermissionOptionKindAllowOnce {
			c.allowed = true
			w.cards[p.ToolCall.ToolCallId] = c
			return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(option.OptionId)}, nil
		}
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
}

// refusals are the parts of the protocol that this editor has not got: files and
// terminals.
type refusals struct{}

func (refusals) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, acp.NewMethodNotFound(acp.ClientMethodFsReadTextFile)
}

func (refusals) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, acp.NewMethodNotFound(acp.ClientMethodFsWriteTextFile)
}

func (refusals) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, acp.NewMethodNotFound(acp.ClientMethodTerminalCreate)
}

func (refusals) KillTerminal(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, acp.NewMethodNotFound(acp.ClientMethodTerminalKill)
}

func (refusals) TerminalOutput(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{}, acp.NewMethodNotFound(acp.ClientMethodTerminalOutput)
}

func (refusals) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, acp.NewMethodNotFound(acp.ClientMethodTerminalRelease)
}

func (refusals) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	return acp.WaitForTerminalExitResponse{}, acp.NewMethodNotFound(acp.ClientMethodTerminalWaitForExit)
}
