package acp

import (
	"context"
	"encoding/json"
	"io"

	"sidetask/rpc"
)

// Options say what [Run] works between. All but Agent and Trace are required.
type Options struct {
	In  io.Reader // the editor's lines
	Out io.Writer // to the editor
	Err io.Writer // what a person may read: the agent's stderr, noise, lines of ours

	// Agent is the agent's command. Empty: the proxy is a component of a chain
	// and the first message must be proxy/initialize (ACP.md §6).
	Agent []string
	// Scope is the preset: the mount scope of every session, "/" where empty.
	Scope string
	// Executable is the absolute path of this program, for the MCP entry.
	Executable string
	// Socket is the daemon's socket, for the MCP entry.
	Socket string
	// Env are the variables of the editor's agent, as KEY=value, which its tasks
	// get, too.
	Env []string
	// Connect opens the way to the daemon; see [Over]. It is called once, when a
	// session first needs it.
	Connect func(Hooks) Daemon
	// Trace, if not nil, gets each line of both directions as one JSON object,
	// until a write fails, which is said on Err. It must not block.
	Trace io.Writer
}

// Caller makes one call to the daemon.
type Caller interface {
	// Call waits for the answer, or for ctx. An error of the daemon is an [*rpc.Error].
	Call(ctx context.Context, method string, params, result any) error
}

// Daemon is the connection to the daemon, which may come and go: a call waits
// for one as long as its context lets it.
type Daemon interface {
	Caller
	// Start says that a daemon is needed now: where there is none, one is
	// started. It does not wait.
	Start()
	// Await waits for a connection; when ctx ends first, or there can be none,
	// the error says why. One with a method Hint says what to do, too.
	Await(ctx context.Context) error
	Close() error
}

// Hooks are what a [Daemon] calls. They may be called from any goroutine.
type Hooks struct {
	// Connected is called for each new connection, before any other call on it.
	Connected func(ctx context.Context, c Caller, daemon rpc.Peer) error
	// Lost is called when a connection has ended.
	Lost func()
	// Handle takes the daemon's notifications and requests.
	Handle func(ctx context.Context, method string, params json.RawMessage) (any, error)
}

// DefaultSettings are in force until a daemon has said its own.
func DefaultSettings() rpc.ACPSettings {
	return rpc.ACPSettings{ShowWake: showAuto, MaxDrains: 8, AgentGraceMs: 5000, WakePermissionMs: 120000}
}
