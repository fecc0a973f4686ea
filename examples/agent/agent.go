package main

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/coder/acp-go-sdk"
)

// agent answers an editor.
type agent struct {
	refusals
	editor atomic.Pointer[acp.AgentSideConnection] // set right after the connection is made

	mu       sync.Mutex // guards sessions
	sessions map[acp.SessionId]*session
}

// session is one conversation.
type session struct {
	id     acp.SessionId
	editor *acp.AgentSideConnection
	tools  *tools

	mu     sync.Mutex         // guards cancel
	cancel context.CancelFunc // of the turn that is on, or nil
}

// Initialize says what this agent can do: sessions, prompts, MCP over stdio.
func (a *agent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "example-agent", Version: "1.0.0"},
		AuthMethods:     []acp.AuthMethod{},
	}, nil
}

// NewSession connects to the MCP servers that the editor (or a proxy in front of
// this agent) asks for.
func (a *agent) NewSession(ctx context.Context, p acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	tools, err := connect(ctx, p.Cwd, p.McpServers)
	if err != nil {
		return acp.NewSessionResponse{}, err
	}
	s := &session{id: acp.SessionId("example-" + rand.Text()), editor: a.editor.Load(), tools: tools}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[s.id] = s
	return acp.NewSessionResponse{SessionId: s.id}, nil
}

// find gives a session of that id.
func (a *agent) find(id acp.SessionId) (*session, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.sessions[id]
	return s, ok
}

// Prompt is one turn.
func (a *agent) Prompt(ctx context.Context, p acp.PromptRequest) (acp.PromptResponse, error) {
	s, ok := a.find(p.SessionId)
	if !ok {
		return acp.PromptResponse{}, acp.NewInvalidParams(map[string]any{"sessionId": p.SessionId})
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.cancel = cancel
	s.mu.Unlock()
	err := s.turn(ctx, p.Prompt)
	switch {
	case ctx.Err() != nil:
		return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
	case err != nil:
		return acp.PromptResponse{}, err
	}
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// Cancel ends the turn of that session.
func (a *agent) Cancel(_ context.Context, p acp.CancelNotification) error {
	s, ok := a.find(p.SessionId)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
	return nil
}

// close ends the MCP servers.
func (a *agent) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, s := range a.sessions {
		errs = append(errs, s.tools.close())
	}
	return errors.Join(errs...)
}

// refusals are the parts of the protocol that this agent has not got.
type refusals struct{}

func (refusals) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil
}

func (refusals) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return acp.CloseSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionClose)
}

func (refusals) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionList)
}

func (refusals) ResumeSession(context.Context, acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return acp.ResumeSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionResume)
}

func (refusals) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetConfigOption)
}

func (refusals) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetMode)
}
