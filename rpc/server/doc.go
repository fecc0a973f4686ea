// Package server is the daemon's end of the socket: who may connect, framing,
// dispatch, in-flight limits, and the methods of API.md.
//
// A connection is written by hand and not on sourcegraph/jsonrpc2: that one
// closes the connection on input that API.md wants answered, hides when an
// answer has been written (which makes a report final), re-marshals
// parameters, and has no bounds. See [frames] for the wire, [outbox] for what
// goes out, [conn] for the life of one connection, [call] for one request.
//
// The package may not know how a task runs, where files lie, or how the daemon
// starts and ends: the first is behind registry and tools, the second comes
// as plain parameters, the third is the interface [Daemon].
package server
