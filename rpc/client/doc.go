// Package client is the one Go client of the daemon's socket: it finds the
// daemon or starts one, makes typed calls, hears what the daemon tells and
// asks, and (as [Keeper]) keeps a connection over restarts of the daemon.
//
// It is used by the ACP proxy, the MCP server, the command line and the tests.
// It knows the wire ([sidetask/rpc]) and where files lie ([sidetask/paths]),
// never what the daemon does behind the socket, and it prints nothing. One
// thing it asks of a keeper ([sidetask/process/wire]): to start a daemon where we
// are inside its task.
package client
