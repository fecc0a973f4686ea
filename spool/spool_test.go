package spool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"sidetask/scripts/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// bytesAt makes the bytes of a stream in which every offset is known by its byte.
func bytesAt(off int64, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		at := off + int64(i)
		p[i] = byte(at ^ at>>8 ^ at>>16)
	}
	return p
}

// readAll reads as an independent reader does, and checks each byte by its offset.
func readAll(t fatal, r *Reader, off int64, piece int) (end, lost int64) {
	t.Helper()
	buf := make([]byte, piece)
	for {
		n, gone, err := r.ReadAt(buf, off)
		if err != nil {
			t.Fatalf("read at %d: %v", off, err)
		}
		if n == 0 && gone == 0 {
			return off, lost
		}
		lost += gone
		off += gone
		if !bytes.Equal(buf[:n], bytesAt(off, n)) {
			t.Fatalf("%d bytes at %d are not those that were written there", n, off)
		}
		off += int64(n)
	}
}

type fatal interface {
	Helper()
	Fatalf(string, ...any)
}

// TestAnyHistory: whatever is written in whatever pieces, with whatever bounds
// and restarts of the writer, the head and the newest part are there, offsets
// never move, what is gone is said exactly, and the disk holds no more than the
// bound.
func TestAnyHistory(t *testing.T) {
	root := t.TempDir()
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		dir := filepath.Join(root, fmt.Sprint(round))
		limits := Limits{
			Bytes: rapid.Int64Range(160, 4096).Draw(t, "bytes"),
			Head:  rapid.Int64Range(0, 5000).Draw(t, "head"),
		}
		w, err := NewWriter(dir, limits)
		if err != nil {
			t.Fatal(err)
		}
		follower, followed, followerLost := NewReader(dir), int64(0), int64(0)
		defer follower.Close()
		var written int64
		for range rapid.IntRange(1, 12).Draw(t, "writes") {
			n := rapid.IntRange(0, 400).Draw(t, "n")
			if got, err := w.Write(bytesAt(written, n)); got != n || err != nil {
				t.Fatalf("wrote %d of %d: %v", got, n, err)
			}
			written += int64(n)
			if size, err := Size(dir); size != written || w.Size() != written || err != nil {
				t.Fatalf("size %d and %d after %d bytes, %v", size, w.Size(), written, err)
			}
			if used, size, err := Measure(dir); used > limits.Bytes || size != written || err != nil {
				t.Fatalf("%d bytes on disk of %d, the bound is %d, %v", used, size, limits.Bytes, err)
			}
			if rapid.Bool().Draw(t, "follow") {
				end, lost := readAll(t, follower, followed, 97)
				followed, followerLost = end, followerLost+lost
			}
			if rapid.IntRange(0, 5).Draw(t, "restart") == 0 {
				_ = w.Close()
				if w, err = NewWriter(dir, limits); err != nil {
					t.Fatal(err)
				}
			}
		}
		defer w.Close()
		if end, _ := readAll(t, follower, followed, 97); end != written {
			t.Fatalf("the follower is at %d of %d", end, written)
		}
		check(t, dir, limits, written)
	})
}

// check reads from every kind of offset.
func check(t *rapid.T, dir string, limits Limits, written int64) {
	used, err := Usage(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(dir)
	defer r.Close()
	end, lost := readAll(t, r, 0, 64)
	if end != written || lost != written-used {
		t.Fatalf("from the start: at %d of %d, %d lost, want %d", end, written, lost, written-used)
	}
	if written <= limits.Bytes-limits.Bytes/segments && lost > 0 {
		t.Fatalf("%d bytes are gone of %d, though all had room in %d", lost, written, limits.Bytes)
	}
	// The head is there, as far as it leaves room for a tail.
	head := min(limits.Head, limits.Bytes-2*(limits.Bytes/segments), written)
	buf := make([]byte, 1)
	for _, off := range []int64{0, head - 1} {
		if n, lost, _ := r.ReadAt(buf, off); off >= 0 && off < head && (n != 1 || lost != 0) {
			t.Fatalf("byte %d of the head (%d) is gone", off, head)
		}
	}
	// The newest bytes are there: at least a segment of them.
	newest := max(written-limits.Bytes/segments, 0)
	if _, lost := readAll(t, r, newest, 64); lost != 0 {
		t.Fatalf("%d of the newest %d bytes are gone", lost, written-newest)
	}
	any := rapid.Int64Range(0, written+10).Draw(t, "offset")
	if end, _ := readAll(t, r, any, 64); end != max(any, written) && end != any {
		t.Fatalf("from %d: at %d of %d", any, end, written)
	}
}

// TestReadersMeetTheWriter: readers at full speed beside a writer that deletes
// segments see each byte right or are told that it is gone.
func TestReadersMeetTheWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	w, err := NewWriter(dir, Limits{Bytes: 1 << 16, Head: 1 << 12})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	const total = 2 << 20
	done := make(chan string)
	for range 4 {
		go func() {
			f := &recorder{}
			defer func() { done <- f.text }()
			r := NewReader(dir)
			defer r.Close()
			for off := int64(0); off < total && f.text == ""; {
				off, _ = readAll(f, r, off, 5000)
			}
		}()
	}
	for off := int64(0); off < total; {
		n, err := w.Write(bytesAt(off, 1000))
		if err != nil {
			t.Fatal(err)
		}
		off += int64(n)
	}
	if _, err := w.Write(bytesAt(w.Size(), 1000)); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if text := <-done; text != "" {
			t.Error(text)
		}
	}
}

// recorder lets a check run outside the test's goroutine.
type recorder struct{ text string }

func (*recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	if r.text == "" {
		r.text = fmt.Sprintf(format, args...)
	}
}

// TestNothingThere: a spool that was not made yet is empty; a strange file in it
// is passed over.
func TestNothingThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	r := NewReader(dir)
	if n, lost, err := r.ReadAt(make([]byte, 10), 5); n != 0 || lost != 0 || err != nil {
		t.Errorf("read %d, lost %d, %v of a spool that is not there", n, lost, err)
	}
	if size, err := r.Size(); size != 0 || err != nil {
		t.Errorf("size %d, %v", size, err)
	}
	w, err := NewWriter(dir, Limits{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	if size, err := r.Size(); size != 3 || err != nil {
		t.Errorf("size %d, %v beside a strange file", size, err)
	}
	if info, err := os.Stat(filepath.Join(dir, fmt.Sprintf("%019d", 0))); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the first segment: %v, %v; want mode 0600", info, err)
	}
}
