package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sidetask/process/wire"
	"sidetask/registry"
	"sidetask/spool"
)

// TestIdioms: scripts that open their own output again lose nothing of it.
func TestIdioms(t *testing.T) {
	w := newWorld(t)
	for command, want := range map[string]string{
		"echo a; echo b > /dev/stderr; echo c > /dev/stdout; echo d":                 "a\nb\nc\nd\n",
		"echo a; echo b | tee /dev/stdout; echo c":                                   "a\nb\nb\nc\n",
		"echo a; echo b | tee /dev/stderr >/dev/null; echo c >> /dev/fd/1; echo d":   "a\nb\nc\nd\n",
		"exec 3>&1; echo a >&3; (echo b >/dev/stdout); echo c > /proc/self/fd/1; :;": "a\nb\nc\n",
	} {
		task := w.wait(w.start(command))
		if text := w.read(task); text != want {
			t.Errorf("%q printed %q, want %q", command, text, want)
		}
	}
}

// TestLastWords: what a command writes at the very end is there when it has
// ended: output is complete before the end is told.
func TestLastWords(t *testing.T) {
	w := newWorld(t)
	for range 20 {
		task := w.wait(w.start("head -c 60000 /dev/zero | tr '\\0' x; echo; exec echo last"))
		if text := w.read(task); len(text) != 60000+6 || !strings.HasSuffix(text, "x\nlast\n") {
			t.Fatalf("read %d bytes ending %q", len(text), text[max(0, len(text)-20):])
		}
	}
}

// TestSplitCharacter pins T196: a character split over writes and reads comes
// whole, and once.
func TestSplitCharacter(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	task := w.start(`printf 'a\xe2\x82'; while [ ! -e go ]; do sleep 0.01; done; printf '\xacb\n'`, func(s *Spec) { s.Cwd = dir })
	w.until(task, "a\xe2\x82")
	if text := w.read(task); text != "a" {
		t.Errorf("read %q before the rest came", text)
	}
	touch(t, dir, "go")
	w.wait(task)
	if text := w.read(task); text != "€b\n" {
		t.Errorf("read %q, want the whole character", text)
	}
	if text := w.read(task); text != "" {
		t.Errorf("read %q once more", text)
	}
}

// keep reads with a bound, as a tool does.
func (w *world) keep(t registry.Task, keep int64) registry.Reading {
	w.Helper()
	r, _, receipt, err := w.registry.Read(w.context(), registry.AsOperator(), t.ID, func(registry.Task) int64 { return keep }, false)
	if err != nil {
		w.Fatal(err)
	}
	receipt.Delivered()
	return r
}

// TestHugeOutput: a line of 40 MB, random bytes and millions of empty lines cost
// the daemon no memory; what is left out is counted exactly.
func TestHugeOutput(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		command string
		total   int64 // of cleaned text; 0 = not known
	}{
		{"head -c 40000000 /dev/zero | tr '\\0' x", 40_000_000},
		{"head -c 8000000 /dev/urandom", 0},
		{"yes '' | head -n 10000000", 10_000_000},
		{"yes é | head -n 5000000", 15_000_000},
	} {
		task := w.wait(w.start(c.command))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := w.keep(task, 32<<10)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 2<<20 {
			t.Errorf("%q: reading it took %d bytes of memory", c.command, took)
		}
		if len(r.Text) > 32<<10 || len(r.Text) < 16<<10 || !utf8.ValidString(r.Text) {
			t.Errorf("%q: a text of %d bytes", c.command, len(r.Text))
		}
		if got := r.LeftOut + int64(len(r.Text)); c.total > 0 && got != c.total {
			t.Errorf("%q: %d bytes shown and left out, want %d", c.command, got, c.total)
		}
		if bytes := w.registry.Facts(task).Bytes; bytes < 8_000_000 {
			t.Errorf("%q: %d bytes told", c.command, bytes)
		}
		if again := w.keep(task, 32<<10); again.Text != "" {
			t.Errorf("%q: a second read gives %d bytes more", c.command, len(again.Text))
		}
	}
}

// TestBoundedOnDisk: an endless output is bounded as it is written; head and tail
// stay, and what is gone is said where it stood.
func TestBoundedOnDisk(t *testing.T) {
	w := newWorld(t)
	w.settings.SpoolBytes, w.settings.KeepHeadBytes = 1<<20, 64<<10
	task := w.start("seq 1 2000000; echo end; sleep 1000")
	w.until(task, "end\n")
	facts := w.registry.Facts(task)
	if facts.Disk > 1<<20 || facts.Bytes < 14_000_000 {
		t.Errorf("%d bytes on disk of %d", facts.Disk, facts.Bytes)
	}
	text := w.read(task)
	gone := regexp.MustCompile(`\n\[(\d+) bytes of output are gone\]\n`).FindStringSubmatch(text)
	if !strings.HasPrefix(text, "1\n2\n3\n") || !strings.HasSuffix(text, "\n2000000\nend\n") || gone == nil {
		t.Fatalf("begins %.20q, ends %q, says %q is gone", text, text[len(text)-20:], gone)
	}
	if want := fmt.Sprint(facts.Bytes - facts.Disk); gone[1] != want {
		t.Errorf("%s bytes are said to be gone, want %s", gone[1], want)
	}
	// An independent reader is told the same.
	piece, err := w.registry.Tail(w.context(), registry.AsOperator(), task.ID, registry.TailRequest{Offset: 64 << 10, MaxBytes: 100})
	if err != nil || piece.Lost != facts.Bytes-facts.Disk || piece.Offset != 64<<10+piece.Lost || len(piece.Data) != 100 {
		t.Errorf("tail in the gap: lost %d, offset %d, %d bytes, %v", piece.Lost, piece.Offset, len(piece.Data), err)
	}
}

// TestRawAndClean: raw bytes are there for a tail, a read shows them clean, or
// only repaired where the settings say so.
func TestRawAndClean(t *testing.T) {
	w := newWorld(t)
	raw := "\x1b[31mred\x1b[0m\r\n10%\r20%\n\x00\xff\n"
	task := w.wait(w.start(`printf '\x1b[31mred\x1b[0m\r\n10%%\r20%%\n\x00\xff\n'`))
	piece, err := w.registry.Tail(w.context(), registry.AsOperator(), task.ID, registry.TailRequest{MaxBytes: 1000})
	if err != nil || !bytes.Equal(piece.Data, []byte(raw)) || !piece.EOF { // nothing more can come
		t.Errorf("tail gives %q, eof %v, %v", piece.Data, piece.EOF, err)
	}
	if text, want := w.read(task), "red\n20%\n␀�\n[1 bytes were not valid UTF-8, shown as U+FFFD]\n"; text != want {
		t.Errorf("read %q, want %q", text, want)
	}
	w.settings.CleanOutput = false
	r, _, _, err := w.registry.Read(w.context(), registry.AsOperator(), task.ID, func(registry.Task) int64 { return 0 }, true)
	if want := strings.ReplaceAll(raw, "\xff", "�") + "[1 bytes were not valid UTF-8, shown as U+FFFD]\n"; err != nil || r.Text != want {
		t.Errorf("repaired only: %q, %v, want %q", r.Text, err, want)
	}
}

// tail reads as an independent reader.
func (w *world) tail(task registry.Task, req registry.TailRequest) registry.Tailed {
	w.Helper()
	if req.MaxBytes == 0 {
		req.MaxBytes = 100
	}
	piece, err := w.registry.Tail(w.context(), registry.AsOperator(), task.ID, req)
	if err != nil {
		w.Error(err)
	}
	return piece
}

// TestTail: independent readers, from the start, the end or any offset.
func TestTail(t *testing.T) {
	w := newWorld(t)
	task := w.start("printf 0123456789; sleep 1000")
	w.until(task, "9")
	for _, c := range []struct {
		req  registry.TailRequest
		want string
		next int64
	}{
		{registry.TailRequest{}, "0123456789", 10},
		{registry.TailRequest{Offset: 4, MaxBytes: 3}, "456", 7},
		{registry.TailRequest{FromEnd: true, Offset: 2}, "89", 10},
		{registry.TailRequest{FromEnd: true, Offset: 200}, "0123456789", 10},
		{registry.TailRequest{FromEnd: true}, "", 10},
		{registry.TailRequest{Stream: "stdout", Offset: 9}, "9", 10},
	} {
		if got := w.tail(task, c.req); string(got.Data) != c.want || got.Next != c.next || got.EOF {
			t.Errorf("%+v gives %q, next %d, eof %v", c.req, got.Data, got.Next, got.EOF)
		}
	}
	for _, bad := range []registry.TailRequest{{Stream: "stderr"}, {Stream: "x"}, {Offset: -1}} {
		if _, err := w.registry.Tail(w.context(), registry.AsOperator(), task.ID, bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

// TestFollow: a follower waits for a byte, for the leftovers' end, or for its
// caller; eof comes only when nothing more can.
func TestFollow(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	task := w.start("printf 0123456789; while [ ! -e go ]; do sleep 0.01; done; printf abc; sleep 1000 &", func(s *Spec) { s.Cwd = dir })
	w.until(task, "9")
	got := make(chan registry.Tailed)
	go func() { got <- w.tail(task, registry.TailRequest{Offset: 10, Follow: true}) }()
	touch(t, dir, "go")
	if piece := <-got; !strings.HasPrefix("abc", string(piece.Data)) || len(piece.Data) == 0 {
		t.Errorf("the follower got %q", piece.Data)
	}
	w.wait(task)
	// … and for the leftovers' end.
	go func() { got <- w.tail(task, registry.TailRequest{Offset: 13, Follow: true}) }()
	if piece := w.tail(task, registry.TailRequest{Offset: 13}); piece.EOF {
		t.Error("eof while a leftover may still write")
	}
	if _, err := w.p.EndLeftovers(task.Row); err != nil {
		t.Fatal(err)
	}
	if piece := <-got; !piece.EOF || len(piece.Data) != 0 {
		t.Errorf("at the end: %q, eof %v", piece.Data, piece.EOF)
	}
	// A follower ends with its caller.
	live := w.start("sleep 1000")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := w.registry.Tail(ctx, registry.AsOperator(), live.ID, registry.TailRequest{MaxBytes: 1, Follow: true}); err == nil {
		t.Error("a follower whose caller went got no error")
	}
}

// TestFollowToTheEnd: followers of many short tasks all hear of the end, however
// it falls together with their looks.
func TestFollowToTheEnd(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		task := w.start(fmt.Sprintf("echo %d", i))
		var all []byte
		for off := int64(0); ; {
			piece, err := w.registry.Tail(w.context(), registry.AsOperator(), task.ID, registry.TailRequest{Offset: off, MaxBytes: 100, Follow: true})
			if err != nil {
				t.Fatal(err)
			}
			all, off = append(all, piece.Data...), piece.Next
			if piece.EOF {
				break
			}
		}
		if string(all) != fmt.Sprintf("%d\n", i) {
			t.Fatalf("followed %q", all)
		}
	}
}

// TestUntil: a wait for text ends when new output matches, on cleaned text, and
// whatever was there already counts.
func TestUntil(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	task := w.start(`echo starting; while [ ! -e go ]; do sleep 0.01; done; seq 1 200000; printf '\x1b[32mLis'; sleep 0.05; printf 'tening\x1b[0m on 80'; sleep 1000`, func(s *Spec) { s.Cwd = dir })
	wait := func(until string) registry.Task {
		t.Helper()
		task, _, err := w.registry.WaitMatch(w.context(), registry.AsOperator(), task.ID, float64(patience.Milliseconds()), regexp.MustCompile(until))
		if err != nil {
			t.Fatal(err)
		}
		return task
	}
	wait("^start")
	matched := make(chan registry.Task)
	go func() { matched <- wait(`(?m)^Listening on \d+$`) }()
	touch(t, dir, "go")
	if got := <-matched; got.Status != registry.Running {
		t.Errorf("the wait ended with the task %s", got.Status)
	}
	// What was read does not count any more; a time-out is no error.
	w.read(task)
	if _, _, err := w.registry.WaitMatch(w.context(), registry.AsOperator(), task.ID, 50, regexp.MustCompile("starting")); err != nil {
		t.Error(err)
	}
}

// TestUntilNewest: of much output that nobody has looked at yet the newest lines are
// looked at first, and read as they would be in their turn.
func TestUntilNewest(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), "out")
	out, err := spool.NewWriter(dir, spool.Limits{Bytes: 64 << 20, Head: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	// The window begins in the middle of a title that names what is looked for.
	title := "\x1b]0;" + strings.Repeat(".", 1<<20) + "hidden " + strings.Repeat(".", matchWindow-100) + "\a"
	if _, err := out.Write([]byte("old\n" + title + "\nListening\nlast")); err != nil {
		t.Fatal(err)
	}
	end := int64(len("old\n" + title + "\nListening\nlast"))
	for until, want := range map[string]bool{
		"(?m)^Listening$": true, "last$": true, "^last": false, "^Listening": false, "hidden|\\.": false, "old": false, "bytes": false,
	} {
		if got, err := w.p.newestMatch(dir, end, regexp.MustCompile(until)); got != want || err != nil {
			t.Errorf("%q: %v, %v, want %v", until, got, err, want)
		}
	}
}

// TestSeparate pins T193 where it is asked for: stderr apart, under a heading in
// each read that has any; raw streams by name.
func TestSeparate(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	task := w.start(`echo out; printf 'err\xe2' >&2; while [ ! -e go ]; do sleep 0.01; done; printf out2; printf '\x82\xac\n' >&2`, func(s *Spec) { s.Separate, s.Cwd = true, dir })
	eventually(t, "both streams are copied", func() bool {
		out, _ := spool.Size(filepath.Join(w.p.dir(task.Row), wire.OutDir))
		errs, _ := spool.Size(filepath.Join(w.p.dir(task.Row), wire.ErrDir))
		marks, _ := spool.Size(filepath.Join(w.p.dir(task.Row), wire.OrderDir))
		_, now, _, _ := w.p.between(task.Row, 0)
		return out == 4 && errs == 4 && marks > 0 && now == mark{4, 4}
	})
	if text := w.read(task); text != "out\n[stderr]\nerr" {
		t.Errorf("first read %q", text)
	}
	w.restart()
	touch(t, dir, "go")
	w.wait(task)
	if text := w.read(task); text != "out2\n[stderr]\n€\n" {
		t.Errorf("second read %q", text)
	}
	if text := w.read(task); text != "" {
		t.Errorf("third read %q", text)
	}
	for stream, want := range map[string]string{"": "out\nout2", "stdout": "out\nout2", "stderr": "err€\n"} {
		piece, err := w.registry.Tail(w.context(), registry.AsOperator(), task.ID, registry.TailRequest{Stream: stream, MaxBytes: 100})
		if err != nil || string(piece.Data) != want {
			t.Errorf("tail of %q gives %q, %v", stream, piece.Data, err)
		}
	}
	r, _, _, err := w.registry.Read(w.context(), registry.AsOperator(), task.ID, func(registry.Task) int64 { return 6 }, true)
	if err != nil || r.Text != "err€\n"[1:] && r.Text != "rr€\n" || r.LeftOut+int64(len(r.Text)) != int64(len("out\nout2\n[stderr]\nerr€\n")) {
		t.Errorf("bounded: %q, %d left out, %v", r.Text, r.LeftOut, err)
	}
	until := w.start("sleep 0.1; echo ready >&2; sleep 1000", func(s *Spec) { s.Separate = true })
	if _, _, err := w.registry.WaitMatch(w.context(), registry.AsOperator(), until.ID, float64(patience.Milliseconds()), regexp.MustCompile("ready")); err != nil {
		t.Error(err)
	}
}

// TestRemove: everything kept of an ended task goes, and is counted.
func TestRemove(t *testing.T) {
	w := newWorld(t)
	task := w.wait(w.start("head -c 10000 /dev/zero"))
	w.gone(task)
	if freed, err := w.p.Remove(task.Row); freed != 10000 || err != nil {
		t.Errorf("freed %d, %v", freed, err)
	}
	for _, path := range []string{w.p.dir(task.Row), w.exitFile(task)} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
}
