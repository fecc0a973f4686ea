package acp

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"strings"
	"testing"

	"sidetask/acp/internal/wire"
)

// inUse gives the bytes on the heap that something still refers to.
func inUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A line of 100 MiB passes unchanged, either way, and no more of it is in memory
// at any time than the longest line that is kept whole (ACP.md §1, §7).
func TestHundredMiB(t *testing.T) {
	for _, way := range []string{"to the editor", "to the agent"} {
		t.Run(way, func(t *testing.T) {
			p := newPipes(Options{})
			defer p.end()
			to, from := p.agent, p.toEditor
			if way == "to the agent" {
				to, from = p.editor, p.toAgent
			}
			const size, step, room = 100 << 20, 4 << 20, 16 << 20
			before, peak, sent := inUse(), 0, crc32.NewIEEE()
			wrote := make(chan struct{})
			go func() {
				defer close(wrote)
				w := io.MultiWriter(to, sent)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","method":"_x","params":{"text":"`)
				block := []byte(strings.Repeat("0123456789abcde\u00e9", step/17))
				for range size / step {
					_, _ = w.Write(block)
					peak = max(peak, inUse()-before)
				}
				_, _ = io.WriteString(w, "\"}}\n{\"method\":\"end\"}\n")
			}()
			got, lines := crc32.NewIEEE(), bufio.NewReaderSize(from, 64<<10)
			for n := 0; n < 2; {
				piece, err := lines.ReadSlice('\n')
				_, _ = got.Write(piece)
				if err == nil {
					n++
				} else if err != bufio.ErrBufferFull {
					t.Fatal(err)
				}
			}
			<-wrote
			if got.Sum32() != sent.Sum32() {
				t.Error("what arrived is not what was sent")
			}
			if peak > wire.MaxLine+room {
				t.Errorf("%d MiB in memory, want at most %d", peak>>20, (wire.MaxLine+room)>>20)
			}
			t.Logf("peak %d MiB", peak>>20)
		})
	}
}

// Ten thousand updates at once arrive, each once and in order (ACP.md §1).
func TestTenThousandUpdates(t *testing.T) {
	p := newPipes(Options{})
	defer p.end()
	const count = 10_000
	update := func(i int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s%d","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%d"}}}}`, i%3, i)
	}
	go func() {
		w := bufio.NewWriter(p.agent)
		for i := range count {
			_, _ = io.WriteString(w, update(i)+"\n")
		}
		_ = w.Flush()
	}()
	lines := bufio.NewScanner(p.toEditor)
	for i := range count {
		if !lines.Scan() || lines.Text() != update(i) {
			t.Fatalf("update %d: got %q", i, lines.Text())
		}
	}
}
