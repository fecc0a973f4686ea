package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sidetask/rpc"
)

// maxWait is how long a call of this agent may wait before the agent gives it
// up (ACP.md §3); 0 is no bound but the mount's. At the bound the answer is the
// ordinary timed-out read.
func maxWait(agent *mcp.Implementation, hasProgress bool) time.Duration {
	if agent == nil {
		return 0
	}
	switch {
	case agent.Name == "opencode" && !hasProgress: // gives up after 60 s without progress
		return 50 * time.Second
	case agent.Name == "codex-mcp-client" && before(agent.Version, 0, 166): // after 120 s, progress or not
		return 100 * time.Second
	case strings.HasPrefix(agent.Name, "gemini-cli"): // after 600 s
		return 9 * time.Minute
	default:
		return 0
	}
}

// before reports whether version, as 0.165.2-alpha, is older than major.minor. A
// version that cannot be read is not.
func before(version string, major, minor int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(second)
	return errA == nil && errB == nil && (a < major || a == major && b < minor)
}

// progressToken is the token of a call's _meta as it came, nil where there is
// none.
func progressToken(meta json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(meta, &fields) != nil {
		return nil
	}
	token := bytes.TrimSpace(fields["progressToken"])
	if len(token) == 0 || token[0] != '"' && token[0] != '-' && (token[0] < '0' || token[0] > '9') {
		return nil // MCP: a string or a number
	}
	return token
}

// waiting reports whether a call is a task_output that waits.
func waiting(tool string, arguments json.RawMessage) bool {
	var members map[string]json.RawMessage
	return tool == rpc.ToolOutput && json.Unmarshal(arguments, &members) == nil && string(members["wait"]) == "true"
}

// progress tells the agent from time to time that a waiting task_output goes
// on, until the returned stop is called; nothing of it comes after that.
func (s *server) progress(ctx context.Context, req *mcp.CallToolRequest, token json.RawMessage) (stop func()) {
	if token == nil || !waiting(req.Params.Name, req.Params.Arguments) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(s.times.progress)
		defer ticker.Stop()
		for n := 1; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			// An agent that cannot be written to is seen by the connection.
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token,
				Progress:      float64(n),
				Message:       "the task is still running",
			})
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
