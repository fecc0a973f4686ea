package mcp

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sidetask/render"
	"sidetask/rpc/client"
)

// Options say whom to serve and as whom.
type Options struct {
	In  io.Reader // from the agent; closed at the end if it can be
	Out io.Writer // to the agent

	Socket    string            // of the daemon, absolute
	Token     string            // of the owner that the agent's session is; empty: an owner of its own
	Version   string            // of this program
	Autostart *client.Autostart // nil: no daemon is started

	// For an owner of its own: where its tasks run, and with which environment.
	Cwd string
	Env map[string]string

	Log *slog.Logger // nil: nothing is logged
}

// times are the pauses and bounds of a server; tests shorten them.
type times struct {
	progress time.Duration // between two progress notifications (ACP.md §3)
	connect  time.Duration // how long a call waits for a daemon that is away
	leave    time.Duration // and for one that shuts down to end its connection
	ask      time.Duration // between two questions whether the daemon still answers
	alive    time.Duration // and for the answer
}

var usual = times{progress: 10 * time.Second, connect: 10 * time.Second, leave: 10 * time.Second, ask: 20 * time.Second, alive: 20 * time.Second}

// Run serves the agent until it closes In or ctx ends; both are no error. Open
// calls are then ended, and with an owner of its own that owner is disposed.
func Run(ctx context.Context, o Options) error { return run(ctx, o, usual) }

func run(ctx context.Context, o Options, t times) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	life, end := context.WithCancel(ctx)
	defer end()
	s := &server{conn: newConn(o.In, o.Out), daemon: newDaemon(o, t), times: t, log: o.Log}
	defer s.daemon.close()
	err := s.listing(life, o).Run(ctx, s.conn)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// server serves one agent.
type server struct {
	conn   *conn
	daemon *daemon
	times  times
	log    *slog.Logger
}

// listing is the library's server with our tools and guidance, the same bytes
// always, daemon or no daemon. Calls end with life, too.
func (s *server) listing(life context.Context, o Options) *mcp.Server {
	instructions := render.Instructions()
	if o.Token == "" {
		instructions = render.OwnInstructions()
	}
	// The library's own log tells of its inner life only.
	lib := mcp.NewServer(&mcp.Implementation{Name: "sidetask", Version: o.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		// The list never changes, and there are no log messages to subscribe to.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	for _, t := range render.Tools() {
		lib.AddTool(toolOf(t), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(life, cancel)()
			return s.call(ctx, req)
		})
	}
	return lib
}

// toolOf is a tool as agents need it: annotated (else codex asks for a review),
// not hidden behind Claude Code's tool search, and without an output schema,
// since agents show the model nothing but the structured value where there is
// one (ACP.md §3).
func toolOf(t render.Tool) *mcp.Tool {
	no := false
	annotations := &mcp.ToolAnnotations{ReadOnlyHint: t.ReadOnly}
	if !t.ReadOnly {
		annotations.DestructiveHint, annotations.OpenWorldHint = &no, &no
	}
	return &mcp.Tool{
		Name:        t.Name,
		Description: t.Description,
		InputSchema: t.InputSchema,
		Annotations: annotations,
		Meta:        mcp.Meta{"anthropic/alwaysLoad": true},
	}
}
