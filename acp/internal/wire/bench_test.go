package wire

import (
	"strings"
	"testing"
)

// BenchmarkScan measures what it costs to look at one update of 1 KiB.
func BenchmarkScan(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + strings.Repeat("x", 870) + `"}}}}` + "\n")
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, ok := Scan(line); !ok {
			b.Fatal("not understood")
		}
	}
}
