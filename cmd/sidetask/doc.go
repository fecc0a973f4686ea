// Command sidetask is the program: the daemon, the ACP proxy, the MCP server
// and the person's command line, one subcommand each.
//
// It holds flags, texts for people and for scripts, and exit statuses, nothing
// else: what a task is and how it runs lies behind the socket, and it reaches
// that through [sidetask/rpc/client] as any outsider would. Only the
// subcommand `daemon` links the daemon.
package main
