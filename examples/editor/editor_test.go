package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
)

// scripted is an agent behind a proxy that wakes it.
type scripted struct {
	acp.Agent // not called but for what is below
	conn      *acp.AgentSideConnection
	woken     chan struct{} // closed by the test: the task has ended
	stop      acp.StopReason
}

func (s *scripted) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{ProtocolVersion: 1, AuthMethods: []acp.AuthMethod{}}, nil
}

func (s *scripted) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionId: "s"}, nil
}

func (s *scripted) say(updates ...acp.SessionUpdate) {
	for _, u := range updates {
		_ = s.conn.SessionUpdate(context.Background(), acp.SessionNotification{SessionId: "s", Update: u})
	}
}

func (s *scripted) card(id acp.ToolCallId, title string, kind acp.ToolKind, text string) {
	s.say(acp.StartToolCall(id, "raw name"), acp.UpdateToolCall(id, acp.WithUpdateTitle(title), acp.WithUpdateKind(kind)))
	_, _ = s.conn.RequestPermission(context.Background(), acp.RequestPermissionRequest{
		SessionId: "s", ToolCall: acp.ToolCallUpdate{ToolCallId: id},
		Options: []acp.PermissionOption{{OptionId: "x", Name: "X", Kind: acp.PermissionOptionKindAllowOnce}},
	})
	s.say(acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusCompleted), acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock(text))})))
}

func (s *scripted) Prompt(context.Context, acp.PromptRequest) (acp.PromptResponse, error) {
	s.card("1", "make", acp.ToolKindExecute, "started background task bash-1")
	s.say(acp.UpdateAgentMessageText("I wait"))
	go func() {
		select {
		case <-s.woken:
		case <-s.conn.Done():
			return
		}
		s.card("2", "Read output from background task bash-1", acp.ToolKindRead, "built ok\n[status: completed, exit code: 0]")
		s.say(acp.UpdateAgentMessageText("done"))
	}()
	return acp.PromptResponse{StopReason: s.stop}, nil
}

// have runs a conversation with the scripted agent; on is called when the
// agent's connection stands.
func have(t *testing.T, stop acp.StopReason, on func(*scripted, io.Closer)) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	agentIn, in := io.Pipe()
	out, agentOut := io.Pipe()
	s := &scripted{woken: make(chan struct{}), stop: stop}
	s.conn = acp.NewAgentSideConnection(s, agentOut, agentIn)
	s.conn.SetLogger(slog.New(slog.DiscardHandler))
	on(s, agentOut)
	var screen bytes.Buffer
	err := converse(ctx, in, out, "go", newScreen(&screen))
	_ = in.Close()
	_ = agentOut.Close()
	<-s.conn.Done()
	return regexp.MustCompile(`(?m)^ *\d+\.\ds`).ReplaceAllString(screen.String(), "T"), err
}

// The conversation as a person sees it, and its end.
func TestConversation(t *testing.T) {
	got, err := have(t, acp.StopReasonEndTurn, func(s *scripted, _ io.Closer) { close(s.woken) })
	want := regexp.MustCompile(`^T  user   go
T  card   make \(execute, allowed by the user, completed\)
 +│ started background task bash-1
T  agent  I wait
(?s:.*)T  card   Read output from background task bash-1 \(read, allowed by the user, completed\)
 +│ built ok
 +│ \[status: completed, exit code: 0\]
T  agent  done
T  ────── end of the wake turn
$`)
	if err != nil || !want.MatchString(got) {
		t.Errorf("%v\n%s", err, got)
	}
}

// An agent that goes away, and one that does not end its turn as it should.
func TestBadEnds(t *testing.T) {
	_, err := have(t, acp.StopReasonEndTurn, func(_ *scripted, out io.Closer) {
		time.AfterFunc(100*time.Millisecond, func() { _ = out.Close() })
	})
	if !errors.Is(err, errGone) {
		t.Errorf("gone: %v", err)
	}
	if _, err = have(t, acp.StopReasonRefusal, func(*scripted, io.Closer) {}); err == nil || err.Error() != "the turn ended with refusal" {
		t.Errorf("refusal: %v", err)
	}
}
