package acp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// child is the agent's process, in a process group of its own.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr *lastLine
	tree   *tree                            // nil in tests without a process
	wait   func() (code int, status string) // waits for its end

	exited bool // in the loop
	code   int
	status string // for a person: exit status 3, signal: killed
}

// startChild starts the agent. Its stderr goes to err as it comes, which must
// never wait: the end of the agent is seen when the last of it is written.
func startChild(argv []string, err io.Writer) (*child, error) {
	c := &child{cmd: exec.Command(argv[0], argv[1:]...), stderr: &lastLine{to: err}}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.Stderr = c.stderr
	// Whoever inherits the agent's stderr must not keep us from seeing its end.
	c.cmd.WaitDelay = 200 * time.Millisecond
	// The pipes are our own, not the command's: its Wait must not close stdout
	// before the last line is read.
	inRead, inWrite, e := os.Pipe()
	if e != nil {
		return nil, e
	}
	outRead, outWrite, e := os.Pipe()
	if e != nil {
		return nil, errors.Join(e, inRead.Close(), inWrite.Close())
	}
	widen(outWrite)
	c.cmd.Stdin, c.cmd.Stdout, c.stdin, c.stdout = inRead, outWrite, inWrite, outRead
	e = c.cmd.Start()
	_, _ = inRead.Close(), outWrite.Close()
	if e != nil {
		_, _ = inWrite.Close(), outRead.Close()
		return nil, startError(argv[0], e)
	}
	c.tree, c.wait = &tree{pid: c.cmd.Process.Pid, find: descendants}, c.waitProcess
	return c, nil
}

// startError says what to do about a command that cannot be started.
func startError(name string, err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("cannot start the agent: there is no command %q in PATH; give its full path after --", name)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("cannot start the agent: %s does not exist; check the command after --", name)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("cannot start the agent: %s is not executable", name)
	}
	return fmt.Errorf("cannot start the agent %s: %w", name, err)
}

// waitProcess waits for the end of the process and says how it ended.
func (c *child) waitProcess() (code int, status string) {
	err := c.cmd.Wait()
	state := c.cmd.ProcessState
	if state == nil {
		return 1, fmt.Sprint(err)
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), fmt.Sprintf("signal: %v", ws.Signal())
	}
	return state.ExitCode(), fmt.Sprintf("exit status %d", state.ExitCode())
}

// lastLine passes the agent's stderr on and remembers the last line of it.
type lastLine struct {
	to io.Writer

	mu   sync.Mutex // guards line and tail: the command's goroutine writes, the loop reads
	line []byte     // the last whole one that is not blank
	tail []byte     // of one that has not ended
}

const maxLastLine = 4096

// Write never fails: an agent must not die of a closed stderr of ours.
func (l *lastLine) Write(b []byte) (int, error) {
	_, _ = l.to.Write(b)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, b...)
	for {
		i := bytes.IndexByte(l.tail, '\n')
		if i < 0 {
			break
		}
		if line := bytes.TrimSpace(l.tail[:i]); len(line) > 0 {
			l.line = append(l.line[:0], line[:min(len(line), maxLastLine)]...)
		}
		l.tail = l.tail[i+1:]
	}
	if len(l.tail) > maxLastLine {
		l.tail = append([]byte(nil), l.tail[:maxLastLine]...)
	}
	return len(b), nil
}

// text is the last line that is not blank.
func (l *lastLine) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if tail := bytes.TrimSpace(l.tail); len(tail) > 0 {
		return strings.ToValidUTF8(string(tail), "\ufffd")
	}
	return strings.ToValidUTF8(string(l.line), "\ufffd")
}

// baseName is what an agent is called that does not say its name.
func baseName(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	return filepath.Base(argv[0])
}
