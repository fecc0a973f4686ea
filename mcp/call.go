package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sidetask/render"
	"sidetask/rpc"
)

// call forwards one tools/call. Whatever goes wrong is a text for the model; an
// error is returned only to end a call that the agent has cancelled.
func (s *server) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	open := s.conn.open(req)
	token := progressToken(open.meta)
	agent := req.ClientInfo()
	stop := s.progress(ctx, req, token)
	args := req.Params.Arguments
	if string(args) == "null" {
		args = nil // some clients write absent arguments so
	}
	answer, err := s.daemon.call(ctx, agent, rpc.ToolsCall{
		Name:      req.Params.Name,
		Arguments: args,
		Meta:      open.meta,
		MaxWaitMs: maxWait(agent, token != nil).Milliseconds(),
	})
	stop()
	if err == nil {
		open.written, open.failed = answer.delivered, answer.failed
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		s.log.Warn("tool call failed", "tool", req.Params.Name, "error", err)
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: render.ErrorText(s.daemon.explain(err))}}}, nil
	}
	return &mcp.CallToolResult{IsError: answer.IsError, Content: contentOf(answer.Content)}, nil
}

// contentOf are the blocks for the agent. A policy may have put in blocks of a
// kind that MCP does not know; the model then gets their JSON.
func contentOf(blocks []rpc.Content) []mcp.Content {
	out := make([]mcp.Content, 0, len(blocks))
	for _, block := range blocks {
		if block.Raw == nil {
			out = append(out, &mcp.TextContent{Text: block.Text})
			continue
		}
		var known mcp.CallToolResult
		wrapped := strings.Join([]string{`{"content":[`, string(block.Raw), `]}`}, "")
		if err := json.Unmarshal([]byte(wrapped), &known); err != nil || len(known.Content) != 1 {
			out = append(out, &mcp.TextContent{Text: string(block.Raw)})
			continue
		}
		out = append(out, known.Content[0])
	}
	return out
}
