package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

// What stands between the agent and the editor in a benchmark.
const (
	throughCat   = "cat"   // the yardstick: it only copies
	throughProxy = "proxy" // ours: the program itself, with a daemon
	throughCodec = "codec" // what a proxy costs that decodes and encodes each message
)

// bridge is an agent with one of them, each in a process of its own. The
// benchmark is the editor, with a session open and a prompt at the agent.
type bridge struct {
	middle *exec.Cmd
	agent  *exec.Cmd // nil: it is the middle's child
	stdin  io.WriteCloser
	editor *os.File
}

// newWays gives a bridge of each kind. They end with the benchmark.
func newWays(b *testing.B) map[string]*bridge {
	house, ways := newHouse(b), map[string]*bridge{}
	for _, through := range []string{throughCat, throughProxy, throughCodec} {
		ways[through] = newBridge(b, through, house)
		b.Cleanup(ways[through].end)
	}
	return ways
}

func newBridge(b *testing.B, through string, h *house) *bridge {
	toEditor, out, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	br := &bridge{editor: toEditor}
	first := h.helper("agent")
	switch through {
	case throughProxy:
		br.middle = h.command(append([]string{"acp", "--"}, first.Args...)...)
		br.middle.Env = first.Env
		first = br.middle
	case throughCat:
		br.agent, br.middle = first, exec.Command("cat")
	case throughCodec:
		br.agent, br.middle = first, h.helper("codec")
	}
	if br.stdin, err = first.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	if br.agent != nil {
		agentSays, agentOut, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		br.agent.Stdout, br.middle.Stdin = agentOut, agentSays
		start(b, br.agent)
		_ = agentOut.Close()
		defer func() { _ = agentSays.Close() }()
	}
	br.middle.Stdout = out
	start(b, br.middle)
	br.open(b)
	return br
}

func start(b *testing.B, c *exec.Cmd) {
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
}

// open has a session opened and gives it a prompt that stays open.
func (br *bridge) open(b *testing.B) {
	for i, request := range []string{
		`"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}`,
		`"method":"session/new","params":{"cwd":"/","mcpServers":[]}`,
	} {
		br.say(fmt.Sprintf(`"id":%d,%s`, i, request))
		for answered := false; !answered; {
			var char [1]byte
			if _, err := io.ReadFull(br.editor, char[:]); err != nil {
				b.Fatal(err)
			}
			answered = char[0] == '\n'
		}
	}
	br.say(`"id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}`)
}

// say sends the agent a message. If that has gone, the next read says so.
func (br *bridge) say(members string) {
	_, _ = io.WriteString(br.stdin, `{"jsonrpc":"2.0",`+members+"}\n")
}

// ask has the agent send updates.
func (br *bridge) ask(size, count int) {
	br.say(fmt.Sprintf(`"method":"_updates","params":{"sessionId":"s","size":%d,"count":%d}`, size, count))
}

// end has the editor go away, and so the others.
func (br *bridge) end() {
	_ = br.stdin.Close()
	_, _ = io.Copy(io.Discard, br.editor)
	_ = br.middle.Wait()
	if br.agent != nil {
		_ = br.agent.Wait()
	}
	_ = br.editor.Close()
}

// helper is this test's program as another process: see TestHelperBench.
func (h *house) helper(as string) *exec.Cmd {
	c := exec.Command(os.Args[0], "-test.run=^TestHelperBench$")
	c.Env = append(h.env[:len(h.env):len(h.env)], "ACP_BENCH="+as)
	return c
}

// TestHelperBench is no test: it is a process of the benchmarks.
func TestHelperBench(*testing.T) {
	switch os.Getenv("ACP_BENCH") {
	case "agent":
		benchAgent(os.Stdout, os.Stdin)
		os.Exit(0)
	case "codec":
		recode(os.Stdout, os.Stdin)
		os.Exit(0)
	}
}

// benchAgent opens a session, and sends updates: as many as it is asked for, as
// fast as it can, or some one by one.
func benchAgent(to io.Writer, from io.Reader) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Size, Count int }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			return
		}
		switch m.Method {
		case methodInitialize:
			_, _ = fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{}}}`+"\n", m.ID)
		case methodNew:
			_, _ = fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}`+"\n", m.ID)
		case "_updates":
			together := max(1, 64<<10/m.Params.Size) // a write fills the pipe
			many := bytes.Repeat(updateOf(m.Params.Size), together)
			for range m.Params.Count / together {
				_, _ = to.Write(many)
			}
		case "_speak":
			update := updateOf(1 << 10)
			for range words {
				time.Sleep(time.Millisecond)
				stamp(update)
				_, _ = to.Write(update)
			}
		}
	}
}

const updateHead = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`

func updateOf(size int) []byte {
	const tail = `"}}}}` + "\n"
	return []byte(updateHead + strings.Repeat("x", size-len(updateHead)-len(tail)) + tail)
}

// stamp writes the time into an update.
func stamp(update []byte) {
	copy(update[len(updateHead):], fmt.Sprintf("%0*d", stampSize, time.Now().UnixNano()))
}

const (
	stampSize = 20
	words     = 100 // updates one by one
)

// sentAt is the time in an update.
func sentAt(b *testing.B, update []byte) time.Time {
	_, text, _ := bytes.Cut(update, []byte(`"text":"`)) // the codec has its own order
	ns, err := strconv.ParseInt(string(text[:stampSize]), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Unix(0, ns)
}

// recode passes updates on as the types of an SDK, and all else as it is.
func recode(to io.Writer, from io.Reader) {
	type message struct {
		JSONRPC string                  `json:"jsonrpc"`
		Method  string                  `json:"method"`
		Params  sdk.SessionNotification `json:"params"`
	}
	in, out := bufio.NewReaderSize(from, 64<<10), bufio.NewWriterSize(to, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if m := (message{}); bytes.Contains(line, []byte(`"session/update"`)) {
			if json.Unmarshal(line, &m) != nil {
				return
			}
			if line, err = json.Marshal(m); err != nil {
				return
			}
			line = append(line, '\n')
		}
		_, _ = out.Write(line)
		if in.Buffered() == 0 {
			_ = out.Flush()
		}
	}
}
