package acp

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"sidetask/scripts/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

var update = flag.Bool("update", false, "rewrite what the transcripts want")

// TestTranscripts plays testdata/*.txtar, one for each rule of ACP.md. Their
// file "log" has, in order,
//
//	E> line    the editor writes      a< line    the agent got
//	A> line    the agent writes       e< line    the editor got
//	D> words   the daemon (see fakeDaemon.do)    d< call    the daemon got
//	wait 2s    time passes            s< line    on stderr
//
// What is got is written after what caused it, when all has come to rest; the
// order between directions is fixed: d, a, e, s. Our ids show as own-N, tokens
// as TOKEN1. In what is written, own- stands for our prefix.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			archive := txtar.Parse(raw)
			for i := range archive.Files {
				var got string
				synctest.Test(t, func(t *testing.T) { got = play(t, string(archive.Files[i].Data)) })
				want := string(archive.Files[i].Data)
				archive.Files[i].Data = []byte(got)
				if diff := cmp.Diff(want, got); diff != "" && !*update {
					t.Errorf("%s (-want +got):\n%s", archive.Files[i].Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// bench is a proxy with everything around it in memory.
type bench struct {
	t              *testing.T
	editor, agent  *io.PipeWriter
	toEd, toAg, er *sink
	daemon         *fakeDaemon
	stderr         *lastLine
	exit           chan int
	died           chan int // gives the agent's exit status
	prefix         string
	tokens         []string
}

// sink collects what is written, whole.
type sink struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

func (s *sink) Close() error { return nil }

// take gives what was written since the last take.
func (s *sink) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.buf.String()
	s.buf.Reset()
	return out
}

func newBench(t *testing.T, chained bool) *bench {
	return newBenchWith(t, func(o *Options) {
		if chained {
			o.Agent = nil
		}
	})
}

func newBenchWith(t *testing.T, set func(*Options)) *bench {
	b := &bench{t: t, toEd: &sink{}, toAg: &sink{}, er: &sink{}, exit: make(chan int, 1), died: make(chan int, 1)}
	b.daemon = &fakeDaemon{b: b, up: true, budget: -1, mounts: `{"mounts":[{"scope":"/","enabled":true}]}`}
	edRead, edWrite := io.Pipe()
	agRead, agWrite := io.Pipe()
	b.editor, b.agent = edWrite, agWrite
	o := Options{
		In: edRead, Out: b.toEd, Err: b.er,
		Agent: []string{"/opt/agent"}, Executable: "/bin/sidetask", Socket: "/run/s.sock",
		Env: []string{"PATH=/bin"}, Connect: b.daemon.connect,
	}
	b.stderr = &lastLine{to: b.er}
	c := &child{stdin: b.toAg, stdout: agRead, stderr: b.stderr, wait: func() (int, string) {
		code := <-b.died
		return code, fmt.Sprintf("exit status %d", code)
	}}
	if set(&o); o.Agent == nil {
		c = nil
	}
	go func() { b.exit <- runWith(context.Background(), o, c) }()
	return b
}

// runWith is [Run] with an agent that is no process.
func runWith(ctx context.Context, o Options, agent *child) int {
	stderr := newNoise(o.Err)
	defer stderr.end(lastWords)
	return run(ctx, nil, o, stderr, agent)
}

// end has both sides go away.
func (b *bench) end() {
	_ = b.editor.Close()
	synctest.Wait()
	b.die(0)
	<-b.exit
	synctest.Wait()
}

func (b *bench) die(code int) {
	select {
	case b.died <- code:
	default:
	}
	_ = b.agent.Close()
}

var (
	prefixRE = regexp.MustCompile(`sidetask-[0-9a-f]{8}-([0-9a-f]{16})?`)
	tokenRE  = regexp.MustCompile(`\b[0-9a-f]{32}\b`)
)

// plain takes what is random out of a text.
func (b *bench) plain(text string) string {
	text = prefixRE.ReplaceAllStringFunc(text, func(s string) string {
		if len(s) > len("sidetask-01234567-") {
			return "own-message"
		}
		b.prefix = s
		return "own-"
	})
	return tokenRE.ReplaceAllStringFunc(text, func(s string) string {
		for i, t := range b.tokens {
			if t == s {
				return fmt.Sprintf("TOKEN%d", i+1)
			}
		}
		b.tokens = append(b.tokens, s)
		return fmt.Sprintf("TOKEN%d", len(b.tokens))
	})
}

func (b *bench) odd(text string) string {
	if b.prefix != "" {
		text = strings.ReplaceAll(text, "own-", b.prefix)
	}
	return text
}

// play performs the inputs of a log and gives it with what came of them.
func play(t *testing.T, log string) string {
	b := newBench(t, strings.Contains(log, "proxy/initialize") && !strings.Contains(log, "A>"))
	var out strings.Builder
	for line := range strings.Lines(log) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) > 1 && line[1] == '<' {
			continue
		}
		out.WriteString(line + "\n")
		b.input(line)
		synctest.Wait()
		out.WriteString(b.output())
	}
	b.end()
	return out.String()
}

// step gives lines in, each when all that the one before caused is over, and returns
// what came out.
func (b *bench) step(lines ...string) string {
	for _, l := range lines {
		b.input(l)
		synctest.Wait()
	}
	return b.output()
}

func (b *bench) input(line string) {
	what, rest, _ := strings.Cut(line, " ")
	switch what {
	case "E>":
		_, _ = io.WriteString(b.editor, b.odd(rest)+"\n")
	case "A>":
		_, _ = io.WriteString(b.agent, b.odd(rest)+"\n")
	case "A>>": // without its newline
		_, _ = io.WriteString(b.agent, b.odd(rest))
	case "agent-stderr":
		_, _ = b.stderr.Write([]byte(rest + "\n"))
	case "D>":
		b.daemon.do(rest)
	case "wait":
		d, err := time.ParseDuration(rest)
		if err != nil {
			b.t.Fatal(err)
		}
		time.Sleep(d)
	case "agent-ends":
		b.die(3)
	case "editor-ends":
		_ = b.editor.Close()
	case "", "#":
	default:
		b.t.Fatalf("transcript: what is %q?", line)
	}
}

func (b *bench) output() string {
	var out strings.Builder
	for _, part := range []struct{ mark, text string }{
		{"d< ", b.daemon.take()}, {"a< ", b.toAg.take()}, {"e< ", b.toEd.take()}, {"s< ", b.er.take()},
	} {
		for line := range strings.Lines(part.text) {
			out.WriteString(part.mark + b.plain(strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	return out.String()
}
