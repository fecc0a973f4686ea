// Package acp is the proxy between an editor and a coding agent: it speaks ACP
// (Agent Client Protocol, versions 1 and 2) on its own stdin and stdout and on
// the agent's, and gives the agent background tasks.
//
// It relays lines byte for byte and touches only what it must: the mcpServers
// of a session request, the cards of sidetask's own tools, and the turns that
// it adds to tell the agent of a task's end. It reaches tasks only through the
// daemon's socket, and makes no text of its own: notices come from the daemon,
// frames and cards from render.
//
// One goroutine, the loop of [Run], owns all state. Readers, writers and calls
// to the daemon run beside it and hand it what they have; see proxy.go. When a
// turn of ours may start is decided in internal/turn, a synchronous state
// machine; how a line is read, understood and edited, in internal/wire.
package acp
