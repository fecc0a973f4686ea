// Package mcp is the MCP server of one agent session: the model's task tools
// over the agent's stdio, each call forwarded to the daemon over its socket.
//
// It knows MCP, the wire of the socket and the texts of render. It knows no
// task, no producer and no setting, holds no state beyond its open calls, and
// never ends because the daemon is away.
package mcp
