package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
)

// What stands between the agent's pipe and the editor's in a benchmark.
const (
	throughProxy = "proxy"
	throughCopy  = "copy"  // the floor: what a cat does
	throughCodec = "codec" // what a proxy costs that decodes and encodes each message
)

// BenchmarkRelay measures how many bytes of updates go from the agent to the
// editor, through real pipes.
func BenchmarkRelay(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		for _, through := range []string{throughCopy, throughProxy, throughCodec} {
			b.Run(fmt.Sprintf("%d/%s", size, through), func(b *testing.B) { relay(b, size, through) })
		}
	}
}

// BenchmarkLatency measures how long one update takes from the agent to the editor.
func BenchmarkLatency(b *testing.B) {
	for _, through := range []string{throughCopy, throughProxy, throughCodec} {
		b.Run(through, func(b *testing.B) {
			agent, editor, end := bridge(b, through)
			defer end()
			line, got := updateOf(1<<10), make([]byte, 4<<10)
			for b.Loop() {
				_, _ = agent.Write(line)
				if _, err := io.ReadAtLeast(editor, got, len(line)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func updateOf(size int) []byte {
	head := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`
	return []byte(head + strings.Repeat("x", size-len(head)-8) + `"}}}}` + "\n")
}

func relay(b *testing.B, size int, through string) {
	agent, editor, end := bridge(b, through)
	line := updateOf(size)
	many := []byte(strings.Repeat(string(line), max(1, 64<<10/size)))
	b.SetBytes(int64(len(many)))
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		for range b.N {
			_, _ = agent.Write(many)
		}
		end()
	}()
	_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{editor}, make([]byte, 128<<10))
}

// bridge gives the agent's end, to write to, and the editor's, to read from.
func bridge(b *testing.B, through string) (agent io.Writer, editor io.Reader, end func()) {
	agOut, agIn, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	edOut, edIn, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	died, done := make(chan int, 1), make(chan struct{})
	stdin, editorSays := io.Pipe()
	go func() {
		defer close(done)
		defer func() { _ = edIn.Close() }()
		switch through {
		case throughCopy:
			_, _ = io.CopyBuffer(struct{ io.Writer }{edIn}, struct{ io.Reader }{agOut}, make([]byte, 128<<10))
		case throughCodec:
			recode(edIn, agOut)
		default:
			c := &child{stdin: &sink{}, stdout: agOut, stderr: &lastLine{to: io.Discard}, wait: func() (int, string) { return <-died, "" }}
			runWith(context.Background(), Options{In: stdin, Out: edIn, Err: io.Discard, Agent: []string{"agent"}}, c)
		}
	}()
	return agIn, edOut, func() {
		_ = agIn.Close()
		_ = editorSays.Close()
		died <- 0
		<-done
	}
}

// recode passes updates on as the types of an SDK.
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
		var m message
		if json.Unmarshal(line, &m) != nil {
			return
		}
		line, err = json.Marshal(m)
		if err != nil {
			return
		}
		_, _ = out.Write(append(line, '\n'))
		if in.Buffered() == 0 {
			_ = out.Flush()
		}
	}
}
