package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
)

// scripted is an agent behind a proxy that wakes it.
type scripted struct {
	acp.Agent // not called but for what is below
	conn      *acp.AgentSideConnection
	stop      acp.StopReason
	inTurn    bool // the task ends before the turn does
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
	if s.inTurn {
		s.report()
	}
	return acp.PromptResponse{StopReason: s.stop}, nil
}

// report is what the agent does when it is told of the end.
func (s *scripted) report() {
	s.card("2", "Read output from background task bash-1", acp.ToolKindRead, "built ok\n[status: completed, exit code: 0]")
	s.say(acp.UpdateAgentMessageText("done"))
}

// paper keeps what is shown, and tells when the turn has ended.
type paper struct {
	bytes.Buffer
	atTurnEnd func()
}

func (p *paper) Write(b []byte) (int, error) {
	n, err := p.Buffer.Write(b)
	if strings.Contains(string(b), "end of the turn") {
		p.atTurnEnd()
	}
	return n, err
}

// have runs a conversation with the scripted agent. atTurnEnd is called with
// the agent's output when the editor has shown that the turn has ended.
func have(t *testing.T, s *scripted, atTurnEnd func(out io.Closer)) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	agentIn, in := io.Pipe()
	out, agentOut := io.Pipe()
	s.conn = acp.NewAgentSideConnection(s, agentOut, agentIn)
	s.conn.SetLogger(slog.New(slog.DiscardHandler))
	screen := &paper{atTurnEnd: func() { atTurnEnd(agentOut) }}
	err := converse(ctx, in, out, "go", newScreen(screen))
	_ = in.Close()
	_ = agentOut.Close()
	<-s.conn.Done()
	return regexp.MustCompile(`(?m)^ *\d+\.\ds`).ReplaceAllString(screen.String(), "T"), err
}

const turn = `T  user   go
T  card   make (execute, allowed by the user, completed)
             │ started background task bash-1
T  agent  I wait
`

const report = `T  card   Read output from background task bash-1 (read, allowed by the user, completed)
             │ built ok
             │ [status: completed, exit code: 0]
T  agent  done
`

// The conversation as a person sees it, and its end.
func TestConversation(t *testing.T) {
	s := &scripted{stop: acp.StopReasonEndTurn}
	var woken sync.WaitGroup
	got, err := have(t, s, func(io.Closer) { woken.Go(s.report) })
	woken.Wait()
	want := turn + "T  ────── end of the turn (end_turn); the user asks nothing more\nT  ────── the agent is woken\n" + report + "T  ────── end of the wake turn\n"
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// A command that ends before the turn does: no wake turn comes, and none is
// waited for.
func TestToldWithinTheTurn(t *testing.T) {
	got, err := have(t, &scripted{stop: acp.StopReasonEndTurn, inTurn: true}, func(io.Closer) {})
	want := turn + report + "T  ────── end of the turn (end_turn); the user asks nothing more\nT  ────── the command ended before the turn did: the agent was told within it\n"
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// An agent that goes away, and one that does not end its turn as it should.
func TestBadEnds(t *testing.T) {
	_, err := have(t, &scripted{stop: acp.StopReasonEndTurn}, func(out io.Closer) { _ = out.Close() })
	if !errors.Is(err, errGone) {
		t.Errorf("gone: %v", err)
	}
	if _, err = have(t, &scripted{stop: acp.StopReasonRefusal}, func(io.Closer) {}); err == nil || err.Error() != "the turn ended with refusal" {
		t.Errorf("refusal: %v", err)
	}
}
