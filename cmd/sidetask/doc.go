// Command sidetask is the program: the daemon, the ACP proxy, the MCP server
// and the person's command line, one subcommand each.
//
// It holds flags, texts for people and for scripts, and exit statuses, and what
// happens on the person's side of the socket only: output made fit for a
// terminal (clean.go, escape.go), the installer with its editor of Zed's
// settings (install*.go), the doctor (doctor*.go). What a task is and how it runs
// lies behind the socket, and it reaches that through [sidetask/rpc/client] as any
// outsider would. Only the subcommand `daemon` links the daemon.
package main
