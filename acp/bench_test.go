package acp

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// BenchmarkRelay measures updates on their way from the agent to the editor,
// through real pipes. BenchmarkCopy is the same way without a proxy, as two cats
// would go it.
func BenchmarkRelay(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { relay(b, size, true) })
	}
}

// BenchmarkCopy is the floor of BenchmarkRelay.
func BenchmarkCopy(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { relay(b, size, false) })
	}
}

func relay(b *testing.B, size int, proxied bool) {
	agOut, agent, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	toEditor, edOut, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	head := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`
	line := []byte(head + strings.Repeat("x", size-len(head)-8) + `"}}}}` + "\n")
	died, done := make(chan int, 1), make(chan struct{})
	edIn, editor := io.Pipe()
	go func() {
		defer close(done)
		defer func() { _ = edOut.Close() }()
		if !proxied {
			_, _ = io.CopyBuffer(struct{ io.Writer }{edOut}, struct{ io.Reader }{agOut}, make([]byte, 128<<10))
			return
		}
		d := &fakeDaemon{b: &bench{}, up: true}
		c := &child{stdin: &sink{}, stdout: agOut, stderr: &lastLine{to: io.Discard}, wait: func() (int, string) { return <-died, "" }}
		run(context.Background(), Options{In: edIn, Out: edOut, Err: io.Discard, Agent: []string{"agent"}, Executable: "/x", Socket: "/s", Connect: d.connect}, c)
	}()
	many := []byte(strings.Repeat(string(line), max(1, 64<<10/size)))
	b.SetBytes(int64(len(many)))
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		for range b.N {
			_, _ = agent.Write(many)
		}
		_ = agent.Close()
		_ = editor.Close()
		died <- 0
	}()
	_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{toEditor}, make([]byte, 128<<10))
	<-done
}
