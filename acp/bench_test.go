package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

// What stands between the agent's pipe and the editor's in a benchmark. Each is
// measured in turn in the same run: only their ratios count.
const (
	throughCat   = "cat"   // the yardstick: a process that only copies
	throughProxy = "proxy" // ours
	throughCodec = "codec" // what a proxy costs that decodes and encodes each message
)

// ways is a bridge of each kind.
type ways map[string]*way

type way struct {
	agent  io.Writer
	editor io.Reader
	end    func()
	took   []time.Duration
	sum    time.Duration
}

func newWays(b *testing.B) ways {
	w := ways{}
	for _, through := range []string{throughCat, throughProxy, throughCodec} {
		one := &way{}
		one.agent, one.editor, one.end = bridge(b, through)
		w[through] = one
	}
	return w
}

func (w ways) end() {
	for _, one := range w {
		one.end()
	}
}

// BenchmarkRelay measures how many bytes of updates go from the agent to the
// editor, through real pipes. Goals: 60 % of cat, three times the codec.
func BenchmarkRelay(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(strconv.Itoa(size), func(b *testing.B) { relay(b, size) })
	}
}

// BenchmarkLatency measures how long one update takes from the agent to the
// editor, in the median. Goal: twice what cat takes. That is a process of its own;
// ours is not, and saves the switch.
func BenchmarkLatency(b *testing.B) {
	w := newWays(b)
	defer w.end()
	line, got := updateOf(1<<10), make([]byte, 4<<10)
	for b.Loop() {
		for _, one := range w {
			start := time.Now()
			_, _ = one.agent.Write(line)
			if _, err := io.ReadAtLeast(one.editor, got, len(line)); err != nil {
				b.Fatal(err)
			}
			one.took = append(one.took, time.Since(start))
		}
	}
	p50 := func(through string) float64 {
		took := w[through].took
		slices.Sort(took)
		return float64(took[len(took)/2].Nanoseconds())
	}
	for through := range w {
		b.ReportMetric(p50(through), through+"-p50-ns")
	}
	b.ReportMetric(p50(throughProxy)/p50(throughCat), "x-cat(goal<=2)")
	b.ReportMetric(0, "ns/op") // of all three: says nothing
}

func updateOf(size int) []byte {
	head := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`
	return []byte(head + strings.Repeat("x", size-len(head)-8) + `"}}}}` + "\n")
}

func relay(b *testing.B, size int) {
	w := newWays(b)
	defer w.end()
	line := updateOf(size)
	many := bytes.Repeat(line, max(1, 64<<10/size))
	times := 16 << 20 / len(many)
	chunk := times * len(many) // nothing may be left in the pipes
	buffer := make([]byte, 128<<10)
	for b.Loop() {
		for _, one := range w {
			start := time.Now()
			go func() {
				for range times {
					_, _ = one.agent.Write(many)
				}
			}()
			for got := 0; got < chunk; {
				n, err := one.editor.Read(buffer)
				if err != nil {
					b.Fatal(err)
				}
				got += n
			}
			one.sum += time.Since(start)
		}
	}
	speed := func(through string) float64 { return float64(chunk) * float64(b.N) / 1e6 / w[through].sum.Seconds() }
	for through := range w {
		b.ReportMetric(speed(through), through+"-MB/s")
	}
	b.ReportMetric(speed(throughProxy)/speed(throughCat), "x-cat(goal>=0.6)")
	b.ReportMetric(speed(throughProxy)/speed(throughCodec), "x-codec(goal>=3)")
	b.ReportMetric(0, "ns/op")
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
		case throughCat:
			cat := exec.Command("cat")
			cat.Stdin, cat.Stdout = agOut, edIn
			if err := cat.Run(); err != nil {
				b.Error(err)
			}
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
