package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/coder/acp-go-sdk"
)

// quiet is how long an agent has to say nothing for a turn of its own to count
// as ended: ACP's version 1 does not mark that end.
const quiet = 2 * time.Second

// errGone says that the agent's side of the connection ended too early.
var errGone = errors.New("the agent has ended the connection")

// converse has the conversation: one prompt of the user, its turn, and the turn
// in which the agent is woken.
func converse(ctx context.Context, in io.Writer, out io.Reader, prompt string, show *screen) error {
	window := &window{screen: show, heard: make(chan struct{}, 1)}
	conn := acp.NewClientSideConnection(window, in, out)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	if _, err := conn.Initialize(ctx, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber,
		ClientInfo:      &acp.Implementation{Name: "example-editor", Version: "1.0.0"},
	}); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	session, err := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: cwd, McpServers: []acp.McpServer{}})
	if err != nil {
		return fmt.Errorf("new session: %w", err)
	}
	show.user(prompt)
	turn, err := conn.Prompt(ctx, acp.PromptRequest{SessionId: session.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock(prompt)}})
	if err != nil {
		return fmt.Errorf("prompt: %w", err)
	}
	if turn.StopReason != acp.StopReasonEndTurn {
		return fmt.Errorf("the turn ended with %s", turn.StopReason)
	}
	window.betweenTurns.Store(true)
	show.line("end of the turn (" + string(turn.StopReason) + "); the user asks nothing more")
	if window.reported() {
		show.line("the command ended before the turn did: the agent was told within it")
		return nil
	}
	return window.awaitWake(ctx, conn.Done())
}

// awaitWake returns when the agent has acted without being asked, and has come
// to rest.
func (w *window) awaitWake(ctx context.Context, gone <-chan struct{}) error {
	var rest <-chan time.Time // nil until the agent has read the output and spoken of it
	for {
		select {
		case <-w.heard:
			if w.reported() {
				rest = time.After(quiet)
			}
		case <-rest:
			w.screen.line("end of the wake turn")
			return nil
		case <-gone:
			return errGone
		case <-ctx.Done():
			return fmt.Errorf("the agent was not woken: %w", ctx.Err())
		}
	}
}
