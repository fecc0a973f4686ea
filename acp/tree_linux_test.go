package acp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// What an agent that crashes has left in a session of its own is ended, too: it
// was seen while the agent lived, and a look that comes too late changes nothing.
func TestCrashedAgentsTree(t *testing.T) {
	c, err := startChild(helper(t, "leaves"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.stdout.Close() }()
	var pid int
	stdout := bufio.NewReader(c.stdout)
	line, _ := stdout.ReadString('\n')
	if _, err := fmt.Sscan(line, &pid); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	c.tree.look()
	_ = c.stdin.Close()
	if code, status := c.wait(); code != 3 {
		t.Fatalf("the agent ended with %s", status)
	}
	c.tree.look()
	if !c.tree.left() || !alive(pid) {
		t.Fatalf("left %v, alive %v: nothing to end", c.tree.left(), alive(pid))
	}
	c.tree.signal(syscall.SIGKILL)
	if rest, err := io.ReadAll(stdout); err != nil || len(rest) > 0 { // it ends with the last who has it
		t.Errorf("the agent's stdout: %q, %v", rest, err)
	}
}

// The tree is looked at after the start and after traffic, and not without any.
func TestTreeIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edIn, editor := io.Pipe()
		agOut, agent := io.Pipe()
		died, done := make(chan int, 1), make(chan struct{})
		looks := make(chan int, 100)
		c := &child{
			stdin: &sink{}, stdout: agOut, stderr: &lastLine{to: io.Discard}, wait: func() (int, string) { return <-died, "" },
			tree: &tree{pid: 1 << 30, find: func(pid int) []process { looks <- pid; return nil }}, // no process has that pid
		}
		go func() {
			defer close(done)
			runWith(context.Background(), Options{In: edIn, Out: &sink{}, Err: io.Discard, Agent: []string{"agent"}}, c)
		}()
		expect := func(want int, when string) {
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := len(looks); got != want {
				t.Errorf("%d looks %s, want %d", got, when, want)
			}
		}
		expect(1, "after the start")
		for range 10 {
			_, _ = io.WriteString(agent, `{"jsonrpc":"2.0","method":"x"}`+"\n")
		}
		expect(2, "after ten lines at once")
		_, _ = io.WriteString(editor, `{"jsonrpc":"2.0","method":"x"}`+"\n")
		expect(3, "after a line of the editor")
		_ = agent.Close()
		died <- 0
		_ = editor.Close()
		<-done
	})
}
