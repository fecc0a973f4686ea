package acp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An editor that pauses around the agent's end, however long, loses nothing and
// has each answer once (ACP.md §1).
func TestEditorPausesAtAgentsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edIn, editor := io.Pipe()
		toEditor, edOut := io.Pipe()
		agOut, agent := io.Pipe()
		died, done := make(chan int, 1), make(chan struct{})
		c := &child{stdin: &sink{}, stdout: agOut, stderr: &lastLine{to: io.Discard}, wait: func() (int, string) { return <-died, "exit status 0" }}
		go func() {
			defer close(done)
			runWith(context.Background(), Options{In: edIn, Out: edOut, Err: io.Discard, Agent: []string{"agent"}}, c)
			_ = edOut.Close()
		}()
		_, _ = io.WriteString(editor, `{"jsonrpc":"2.0","id":1,"method":"x"}`+"\n")
		const lines = 300
		go func() {
			for range lines {
				_, _ = io.WriteString(agent, `{"jsonrpc":"2.0","method":"x","params":"`+strings.Repeat("y", 10000)+`"}`+"\n")
			}
			_, _ = io.WriteString(agent, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
			_ = agent.Close()
		}()
		synctest.Wait() // the agent is held up
		died <- 0       // as if its pipe had room for the rest
		time.Sleep(time.Minute)
		n, answers := 0, []string{}
		for s := bufio.NewReader(toEditor); ; n++ {
			line, err := s.ReadString('\n')
			if err != nil {
				break
			}
			if strings.Contains(line, `"id"`) {
				answers = append(answers, line)
			}
		}
		if n != lines+1 || len(answers) != 1 || !strings.Contains(answers[0], "result") {
			t.Errorf("%d lines, want %d, and one result: %q", n, lines+1, answers)
		}
		<-done
		_ = editor.Close()
	})
}

// An editor that has gone and takes nothing does not keep us.
func TestEditorGoneTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edIn, editor := io.Pipe()
		unread, edOut := io.Pipe()
		agOut, agent := io.Pipe()
		died, done := make(chan int, 1), make(chan struct{})
		c := &child{stdin: &sink{}, stdout: agOut, stderr: &lastLine{to: io.Discard}, wait: func() (int, string) { return <-died, "" }}
		go func() {
			defer close(done)
			runWith(context.Background(), Options{In: edIn, Out: edOut, Err: io.Discard, Agent: []string{"agent"}}, c)
		}()
		go func() {
			for range 2000 {
				_, _ = io.WriteString(agent, `{"jsonrpc":"2.0","method":"x","params":"`+strings.Repeat("y", 10000)+`"}`+"\n")
			}
			_ = agent.Close()
			died <- 0
		}()
		synctest.Wait()
		_ = editor.Close()
		<-done
		_ = unread.Close()
	})
}

// What the agent wrote before its end is read though something it left behind
// keeps its stdout open, and that does not keep us.
func TestStdoutLeftOpen(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	words := newLastReader(r)
	got := make(chan string)
	go func() {
		b, err := io.ReadAll(words)
		got <- fmt.Sprintf("%s%v", b, err)
	}()
	_, _ = io.WriteString(w, "one ")
	_, _ = io.WriteString(w, "two ")
	words.agentEnded()
	select {
	case b := <-got:
		if b != "one two <nil>" {
			t.Errorf("read %q", b)
		}
	case <-time.After(deadMan):
		t.Fatal("the reader does not end")
	}
}
