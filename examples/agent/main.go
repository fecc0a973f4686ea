// Command agent is a coding agent without a model: it plays a fixed script over
// the Agent Client Protocol on its stdio, so that sidetask can be shown and
// tested with nothing but Go. It stands for any agent: it knows nothing of
// sidetask but what the MCP servers that its editor hands it say of themselves,
// and imports nothing of this module.
//
// Asked for something, it starts the command between backquotes (or one of its
// own) with the tool task_start and ends its turn. Told that a task has ended,
// it reads the task's output and says how it went.
package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/coder/acp-go-sdk"
)

func main() { serve(os.Stdin, os.Stdout) }

// serve plays the agent until its editor is gone.
func serve(in io.Reader, out io.Writer) {
	a := &agent{sessions: make(map[acp.SessionId]*session)}
	conn := acp.NewAgentSideConnection(a, out, in)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	a.editor.Store(conn)
	<-conn.Done()
	if err := a.close(); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
	}
}
