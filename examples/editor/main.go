// Command editor is the least that an editor does with a coding agent: it starts
// the agent, opens a session, sends one prompt and shows what comes back, in the
// turn and after it. It ends when the agent has been woken by the end of a
// background task (or told of it within the turn, where that took longer) and
// has had its say.
//
//	editor [-prompt TEXT] -- AGENT ARGS…
//	editor -- sidetask acp -- agent
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Limits of the whole and of the agent's way out.
const (
	patience   = 2 * time.Minute
	agentGrace = 30 * time.Second
)

func main() {
	prompt := flag.String("prompt", "Build it in the background with `sleep 3; echo built ok; exit 0`, please.", "what the user says")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: editor [-prompt TEXT] -- AGENT ARGS…")
		os.Exit(2)
	}
	if err := run(flag.Args(), *prompt, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "editor:", err)
		os.Exit(1)
	}
}

// run starts the agent, has the conversation, and waits for the agent's end.
func run(agent []string, prompt string, screen io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, agent[0], agent[1:]...)
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = agentGrace
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	defer func() {
		_ = in.Close() // how an agent is told that its editor is gone
		stop := time.AfterFunc(agentGrace, cancel)
		defer stop.Stop()
		if waitErr := cmd.Wait(); err == nil && waitErr != nil {
			err = fmt.Errorf("the agent ended badly: %w", waitErr)
		}
	}()
	return converse(ctx, in, out, prompt, newScreen(screen))
}
