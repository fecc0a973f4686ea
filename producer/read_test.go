package producer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"sidetask/scripts/leaks"
	"sidetask/spool"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func write(t interface {
	Helper()
	Fatal(...any)
}, dir, text string, limits spool.Limits,
) {
	t.Helper()
	w, err := spool.NewWriter(dir, limits)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

var roomy = spool.Limits{Bytes: 1 << 20, Head: 1 << 10}

// TestReadText: what is read is whole code points, and what is left out is
// counted to the byte.
func TestReadText(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	const text = "a€b€c\n" // offsets 0 1 4 5 8 9
	write(t, dir, text, roomy)
	for _, c := range []struct {
		from, keep    int64
		want          string
		leftOut, next int64
	}{
		{0, 0, text, 0, 10},
		{5, 0, "€c\n", 0, 10},
		{10, 0, "", 0, 10},
		{99, 0, "", 0, 99},
		{0, 100, text, 0, 10},
		{0, 5, "€c\n", 5, 10},
		{0, 4, "c\n", 8, 10}, // the rest of a € in front goes, too
		{0, 3, "c\n", 8, 10},
		{4, 2, "c\n", 4, 10},
	} {
		got, leftOut, next, err := readText(dir, c.from, c.keep)
		if err != nil || got != c.want || leftOut != c.leftOut || next != c.next {
			t.Errorf("from %d keep %d: %q, %d left out, next %d, %v; want %q, %d, %d", c.from, c.keep, got, leftOut, next, err, c.want, c.leftOut, c.next)
		}
	}
}

// TestReadTextGone: bytes gone from the spool are a line of their own where
// they stood (the table's row on T194).
func TestReadTextGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	var text strings.Builder
	for text.Len() < 4000 {
		text.WriteString("0123456789abcde\n")
	}
	write(t, dir, text.String(), spool.Limits{Bytes: 1024, Head: 128})
	got, _, next, err := readText(dir, 0, 0)
	if err != nil || next != int64(text.Len()) {
		t.Fatalf("next %d, %v", next, err)
	}
	line := regexp.MustCompile(`(?m)^\[(\d+) bytes of output are gone\]\n`).FindString(got)
	if line == "" || !strings.HasPrefix(got, "0123456789abcde\n") || !strings.HasSuffix(got, "0123456789abcde\n") {
		t.Errorf("got %q", got)
	}
}

// TestReadTextGoneInWhatIsCut: of a text of which the end is read it is said, within
// what can be used of it, how much of the rest is gone for good: the left-out
// bytes alone could be read elsewhere.
func TestReadTextGoneInWhatIsCut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	const line = "0123456789abcde\n"
	text := strings.Repeat(line, 250)
	write(t, dir, text, spool.Limits{Bytes: 1024, Head: 128})
	gone, err := spool.Gone(dir, 0, int64(len(text)))
	if err != nil || gone < 1000 {
		t.Fatalf("%d bytes are gone, %v", gone, err)
	}
	note := fmt.Sprintf("[of what stood before, %d bytes of output are gone]\n", gone)
	for _, keep := range []int64{200, 400, 1500, 3900} { // before, across and behind the gap
		got, leftOut, next, err := readText(dir, 0, keep)
		if err != nil || next != int64(len(text)) || int64(len(got)) > keep || !strings.HasSuffix(got, line+note) {
			t.Fatalf("keep %d: next %d, %v, %q", keep, next, err, got)
		}
		shown := strings.TrimSuffix(got, note)
		if !strings.HasSuffix(text, shown) || leftOut+int64(len(shown))+gone != int64(len(text)) {
			t.Errorf("keep %d: %d bytes left out, %d shown and %d gone of %d: %q", keep, leftOut, len(shown), gone, len(text), shown)
		}
	}
	// A gap that is in what is read stands where it is, and nothing is said twice.
	wide := filepath.Join(t.TempDir(), "w")
	write(t, wide, strings.Repeat(line, 2500), spool.Limits{Bytes: 20_000, Head: 2000})
	got, leftOut, _, err := readText(wide, 100, 39_000)
	if err != nil || leftOut == 0 || strings.Count(got, "gone]\n") != 1 || strings.HasPrefix(got, "[") || strings.HasSuffix(got, "gone]\n") {
		t.Errorf("%d left out, %v, %q", leftOut, err, got[:min(len(got), 100)])
	}
}

// TestReadTextAlways: reading on from each cursor gives every byte once,
// whatever the cursor and the text.
func TestReadTextAlways(t *testing.T) {
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(base, time.Duration(n).String())
		text := rapid.StringOfN(rapid.RuneFrom([]rune("a\n€😀é")), 0, 50, -1).Draw(t, "text")
		write(t, dir, text, roomy)
		keep := int64(rapid.IntRange(1, 60).Draw(t, "keep"))
		got, leftOut, next, err := readText(dir, 0, keep)
		if err != nil || !utf8.ValidString(got) || got != text[leftOut:] || next != int64(len(text)) || int64(len(got)) > keep || int64(len(got)) <= min(keep, int64(len(text)))-utf8.UTFMax {
			t.Fatalf("%q keep %d: %q, %d left out, next %d, %v", text, keep, got, leftOut, next, err)
		}
	})
}

// TestKinds pins T6 and API.md, task/register: kinds are anybody's, 1 to 64 bytes, no slash, space or
// control character; the empty one is the registry's to refuse.
func TestKinds(t *testing.T) {
	for kind, good := range map[string]bool{
		"job": true, "pty-send": true, "任务😀": true, "": true, strings.Repeat("k", 64): true,
		strings.Repeat("k", 65): false, "a b": false, "a/b": false, "a\n": false, "a\x7f": false, "a\u00a0b": false, "\xff": false,
	} {
		if err := checkKind(kind); (err == nil) != good {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

// asking is a connection that answers a cancel as the test says.
type asking struct {
	asked  chan string
	answer error
	silent bool
}

func (a *asking) Cancel(ctx context.Context, id string, _ *string) error {
	a.asked <- id
	if a.silent {
		<-ctx.Done()
		return ctx.Err()
	}
	return a.answer
}

func newWork(conn Conn) *work {
	return &work{conn: conn, changed: make(chan struct{}), named: make(chan struct{})}
}

// TestCancelWaitsForTheName: a producer is asked to cancel no task that it does
// not know yet; a cancel that cannot wait is asked afterwards.
func TestCancelWaitsForTheName(t *testing.T) {
	conn := &asking{asked: make(chan string, 1)}
	w := newWork(conn)
	done := make(chan error, 1)
	go func() { done <- w.cancel(context.Background(), nil) }()
	w.name("job-1")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if id := <-conn.asked; id != "job-1" {
		t.Errorf("asked about %s", id)
	}

	w = newWork(conn)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	reason := "why"
	if err := w.cancel(ended, &reason); err != nil {
		t.Fatal(err)
	}
	if got, due := w.name("job-2"); !due || got != &reason {
		t.Errorf("the cancel is forgotten: %v, %v", got, due)
	}
}

// TestCancelAnswers: an error in time is the producer's; silence is none.
func TestCancelAnswers(t *testing.T) {
	refused := errors.New("no")
	for _, c := range []struct {
		conn *asking
		want error
	}{
		{&asking{asked: make(chan string, 1)}, nil},
		{&asking{asked: make(chan string, 1), answer: refused}, refused},
		{&asking{asked: make(chan string, 1), silent: true}, nil},
	} {
		w := newWork(c.conn)
		w.name("job-1")
		if err := w.cancel(context.Background(), nil); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%+v: %v", c.conn, err)
		}
	}
	if err := func() error { w := newWork(nil); w.name("x"); return w.cancel(context.Background(), nil) }(); err == nil || err.Error() != "producer disconnected" {
		t.Errorf("without a connection: %v", err)
	}
}

// TestKeys: only the key itself resumes, and the key is not kept.
func TestKeys(t *testing.T) {
	key, hash := newKey()
	w := newWork(nil)
	w.meta.Key = hash
	for _, wrong := range []string{hash, "", key + "0", key[1:]} {
		if w.resume(&asking{}, "job-1", wrong) == nil {
			t.Errorf("%q resumes", wrong)
		}
	}
	if err := w.resume(&asking{}, "job-1", key); err != nil || len(key) != 32 || strings.Contains(hash, key) {
		t.Errorf("the key does not resume: %v", err)
	}
}

// TestGiveUp: a producer that came back keeps its task; one that comes too
// late is told that it has ended.
func TestGiveUp(t *testing.T) {
	key, hash := newKey()
	w := newWork(nil)
	w.meta.Key = hash
	if err := w.resume(&asking{}, "job-1", key); err != nil {
		t.Fatal(err)
	}
	if w.giveUp() {
		t.Error("a task that is held is given up")
	}
	w = newWork(nil)
	w.meta.Key = hash
	if !w.giveUp() {
		t.Error("a lost task is not given up")
	}
	if err := w.resume(&asking{}, "job-1", key); err == nil || err.Error() != "task job-1 has ended" {
		t.Errorf("too late: %v", err)
	}
}
