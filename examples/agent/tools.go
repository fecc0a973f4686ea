package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"

	"github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tools are the tools of a session's MCP servers.
type tools struct {
	servers map[string]*mcp.ClientSession // by the name that the editor gave
	offers  map[string]string             // tool → server
	calls   atomic.Int64
}

// connect starts the MCP servers and asks for their tools, as real agents do.
func connect(ctx context.Context, cwd string, entries []acp.McpServer) (*tools, error) {
	t := &tools{servers: make(map[string]*mcp.ClientSession), offers: make(map[string]string)}
	for _, entry := range entries {
		if entry.Stdio == nil {
			continue // this agent advertises no other kind
		}
		// Not bound to ctx: the server lives as long as the session.
		cmd := exec.Command(entry.Stdio.Command, entry.Stdio.Args...)
		cmd.Dir, cmd.Env, cmd.Stderr = cwd, os.Environ(), os.Stderr
		for _, v := range entry.Stdio.Env {
			cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "example-agent", Version: "1.0.0"}, nil)
		server, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("MCP server %s: %w", entry.Stdio.Name, err), t.close())
		}
		t.servers[entry.Stdio.Name] = server
		list, err := server.ListTools(ctx, nil)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("MCP server %s: %w", entry.Stdio.Name, err), t.close())
		}
		for _, tool := range list.Tools {
			t.offers[tool.Name] = entry.Stdio.Name
		}
	}
	return t, nil
}

func (t *tools) close() error {
	var errs []error
	for _, server := range t.servers {
		errs = append(errs, server.Close())
	}
	return errors.Join(errs...)
}

// call calls a tool and shows it as Claude does: a card under the tool's long
// name, its arguments, a question to the user, its result.
func (s *session) call(ctx context.Context, tool string, args map[string]any) (string, error) {
	server, ok := s.tools.offers[tool]
	if !ok {
		return "", fmt.Errorf("no MCP server offers %s", tool)
	}
	name := "mcp__" + server + "__" + tool
	card := acp.ToolCallId(fmt.Sprintf("%s_%d", s.id, s.tools.calls.Add(1)))
	meta := map[string]any{"claudeCode": map[string]any{"toolName": name}}

	first := acp.StartToolCall(card, name, acp.WithStartKind(acp.ToolKindOther), acp.WithStartStatus(acp.ToolCallStatusPending), acp.WithStartRawInput(map[string]any{}))
	first.ToolCall.Meta = meta
	known := acp.UpdateToolCall(card, acp.WithUpdateRawInput(args))
	known.ToolCallUpdate.Meta = meta
	if err := errors.Join(s.show(ctx, first), s.show(ctx, known), s.ask(ctx, card, name, meta, args)); err != nil {
		return "", err
	}
	params := &mcp.CallToolParams{Meta: mcp.Meta{"claudecode/toolUseId": string(card)}, Name: tool, Arguments: args}
	result, err := s.tools.servers[server].CallTool(ctx, params)
	if err != nil {
		return "", err
	}
	text, status := textOf(result), acp.ToolCallStatusCompleted
	if result.IsError {
		status = acp.ToolCallStatusFailed
	}
	last := acp.UpdateToolCall(card, acp.WithUpdateStatus(status), acp.WithUpdateRawOutput(text),
		acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock(text))}))
	last.ToolCallUpdate.Meta = meta
	return text, s.show(ctx, last)
}

// ask asks the user's permission for a call.
func (s *session) ask(ctx context.Context, card acp.ToolCallId, name string, meta, args map[string]any) error {
	answer, err := s.editor.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionId: s.id,
		ToolCall:  acp.ToolCallUpdate{Meta: meta, ToolCallId: card, Title: acp.Ptr(name), Kind: acp.Ptr(acp.ToolKindOther), Status: acp.Ptr(acp.ToolCallStatusPending), RawInput: args},
		Options: []acp.PermissionOption{
			{OptionId: "allow", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce},
			{OptionId: "reject", Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce},
		},
	})
	switch {
	case err != nil:
		return err
	case answer.Outcome.Selected == nil || answer.Outcome.Selected.OptionId != "allow":
		return errors.New("the user does not allow it")
	}
	return nil
}

// textOf is what a model would read of a result.
func textOf(result *mcp.CallToolResult) string {
	var texts []string
	for _, block := range result.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}
