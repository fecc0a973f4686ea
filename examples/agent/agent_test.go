package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// asServer makes the test's own binary the MCP server that the agent starts.
const asServer = "EXAMPLE_AGENT_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		serveTools()
		return
	}
	os.Exit(m.Run())
}

// serveTools offers tools that answer with their arguments.
func serveTools() {
	server := mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1"}, nil)
	for _, name := range []string{"task_start", "task_output"} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text := fmt.Sprintf("%s %s by %v\n[status: completed, exit code: 0]", name, r.Params.Arguments, r.Params.Meta["claudecode/toolUseId"])
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	}
	_ = server.Run(context.Background(), &mcp.StdioTransport{})
}

// editor hears the agent.
type editor struct {
	acp.Client // not called but for what is below
	deny       bool

	mu    sync.Mutex // guards what follows
	seen  []string
	asked []string // apart: the library lets a request overtake the updates before it
}

func (e *editor) note(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, fmt.Sprintf(format, args...))
}

func (e *editor) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	switch u := n.Update; {
	case u.AgentMessageChunk != nil:
		e.note("says %s", u.AgentMessageChunk.Content.Text.Text)
	case u.ToolCall != nil:
		e.note("card %s %s %v", u.ToolCall.Title, u.ToolCall.Status, u.ToolCall.Meta)
	case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status == nil:
		e.note("args %v", u.ToolCallUpdate.RawInput)
	case u.ToolCallUpdate != nil:
		e.note("done %s %s", *u.ToolCallUpdate.Status, u.ToolCallUpdate.Content[0].Content.Content.Text.Text)
	}
	return nil
}

func (e *editor) RequestPermission(_ context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	e.mu.Lock()
	e.asked = append(e.asked, *p.ToolCall.Title)
	e.mu.Unlock()
	if e.deny {
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected("reject")}, nil
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected("allow")}, nil
}

// talk gives the agent prompts and returns what it did, a line each.
func talk(t *testing.T, e *editor, prompts ...[]acp.ContentBlock) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	agentIn, toAgent := io.Pipe()
	fromAgent, agentOut := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		serve(agentIn, agentOut)
	}()
	conn := acp.NewClientSideConnection(e, toAgent, fromAgent)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	if _, err := conn.Initialize(ctx, acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber}); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	session, err := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: t.TempDir(), McpServers: []acp.McpServer{
		{Stdio: &acp.McpServerStdio{Name: "sidetask", Command: exe, Args: []string{}, Env: []acp.EnvVariable{{Name: asServer, Value: "1"}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, prompt := range prompts {
		r, err := conn.Prompt(ctx, acp.PromptRequest{SessionId: session.SessionId, Prompt: prompt})
		if err != nil || r.StopReason != acp.StopReasonEndTurn {
			t.Fatalf("prompt: %v %v", r.StopReason, err)
		}
	}
	_ = toAgent.Close()
	<-ended
	_ = agentOut.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.ReplaceAll(strings.Join(e.seen, "\n"), string(session.SessionId), "SESSION")
}

const notice = "[automatic event]\nbackground task bash-7 (bash: make) finished [status: completed, exit code: 0]. Read its output with task_output.\n[end]"

// The two turns of the script, with cards as Claude draws them.
func TestTurns(t *testing.T) {
	e := &editor{}
	got := talk(t, e, []acp.ContentBlock{acp.TextBlock("Please run `make all` for me")}, []acp.ContentBlock{acp.TextBlock(notice)})
	want := `says I'll start that in the background.
card mcp__sidetask__task_start pending map[claudeCode:map[toolName:mcp__sidetask__task_start]]
args map[command:make all]
done completed task_start {"command":"make all"} by SESSION_1
[status: completed, exit code: 0]
says The tool said "task_start {\"command\":\"make all\"} by SESSION_1\n[status: completed, exit code: 0]". There is nothing to wait for: I end my turn and shall be told.
says I am told: background task bash-7 (bash: make) finished [status: completed, exit code: 0]. Read its output with task_output.
card mcp__sidetask__task_output pending map[claudeCode:map[toolName:mcp__sidetask__task_output]]
args map[task_id:bash-7]
done completed task_output {"task_id":"bash-7"} by SESSION_2
[status: completed, exit code: 0]
says bash-7 is done: [status: completed, exit code: 0]`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if asked := strings.Join(e.asked, " "); asked != "mcp__sidetask__task_start mcp__sidetask__task_output" {
		t.Errorf("permission was asked for %s", asked)
	}
}

// A notice in front of a user's words: both are heard.
func TestNoticeBeforePrompt(t *testing.T) {
	got := talk(t, &editor{}, []acp.ContentBlock{acp.TextBlock(notice), acp.TextBlock("and now something else")})
	if !strings.Contains(got, "args map[task_id:bash-7]") || !strings.Contains(got, "args map[command:"+ownCommand+"]") {
		t.Errorf("got\n%s", got)
	}
}

// A user who says no.
func TestRefusedPermission(t *testing.T) {
	got := talk(t, &editor{deny: true}, []acp.ContentBlock{acp.TextBlock("go")})
	if !strings.HasSuffix(got, "says That did not work: the user does not allow it") {
		t.Errorf("got\n%s", got)
	}
}
