package server

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"sidetask/config"
)

// benchmark sends one request again and again and waits for its answer.
func benchmark(b *testing.B, request string) {
	path := filepath.Join(b.TempDir(), "s")
	s := newServer(map[string]method{"echo": {handle: func(c *call) (any, error) { return struct{}{}, nil }}},
		func() config.Limits { return config.Limits{MaxMessageBytes: 16 << 20, MaxConnections: 10} }, slog.New(slog.DiscardHandler))
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	defer func() {
		_ = s.Close(b.Context())
		<-done
	}()
	nc, err := net.Dial("unix", path)
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	in := bufio.NewReader(nc)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.WriteString(nc, request); err != nil {
			b.Fatal(err)
		}
		if _, err := in.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPing(b *testing.B) { benchmark(b, call1("1")+"\n") }

func BenchmarkMiB(b *testing.B) {
	b.SetBytes(1 << 20)
	benchmark(b, `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"`+strings.Repeat("x", 1<<20)+`"}}`+"\n")
}
