package main

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sidetask/rpc"
)

// What a shell makes of the quoted words are the words.
func TestQuote(t *testing.T) {
	words := []string{"", "a", "a b", "$HOME", "it's", "`id`", "*", "~", "~root", "x=y", "-n", "a\nb", "\\", `"`, "é", "{a,b}", "!x", "#c", "a;b", "a&b", "(", "[x]"}
	args := append([]string{"-c", `printf '%s\0' ` + quoteAll(words)}, words...)
	out, err := exec.Command("bash", args[:2]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(words, "\x00") + "\x00"; string(out) != want {
		t.Errorf("bash saw %q, want %q", out, want)
	}
	if got := quoteAll([]string{"go", "test", "./...", "-run=x y"}); got != "go test ./... '-run=x y'" {
		t.Errorf("quoteAll = %s: what needs no quotes has none", got)
	}
}

func TestSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * 24 * time.Hour, "0.5d": 12 * time.Hour, "1ms": time.Millisecond, "10ms": 10 * time.Millisecond} {
		var s span
		if err := s.Set(text); err != nil || time.Duration(s) != want {
			t.Errorf("Set(%q) = %v, %v; want %v", text, time.Duration(s), err, want)
		}
	}
	for _, text := range []string{"", "3", "3x", "-5s", "0s", "d", "xd", "999us", "1ns", "0.000000001d", "1000000d", "infd", "nand"} {
		var s span
		if s.Set(text) == nil {
			t.Errorf("Set(%q) is accepted as %v", text, time.Duration(s))
		}
	}
}

func TestTexts(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0ms", 3 * time.Millisecond: "3ms", 1540 * time.Millisecond: "1.5s", 61 * time.Second: "1m01s",
		3*time.Hour + 5*time.Minute: "3h05m", 50 * time.Hour: "2d02h",
	} {
		if got := short(d); got != want {
			t.Errorf("short(%v) = %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 5 << 20: "5.0 MiB", 1 << 50: "1024.0 TiB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %s, want %s", n, got, want)
		}
	}
	if got, want := stamp(1700000000123), "2023-11-14T22:13:20.123Z"; got != want {
		t.Errorf("stamp = %s, want %s", got, want)
	}
}

// CLI.md, exit status: the task's own, 128+n, 124 on a time-out (BEHAVIOUR T191).
func TestExitStatus(t *testing.T) {
	detail := func(s string) *string { return &s }
	code := func(n int) *int { return &n }
	for _, test := range []struct {
		name string
		task rpc.Task
		want int
	}{
		{"success", rpc.Task{Status: rpc.StatusCompleted, Operator: &rpc.Operator{ExitCode: code(0)}}, 0},
		{"own status", rpc.Task{Status: rpc.StatusCompleted, Operator: &rpc.Operator{ExitCode: code(3)}}, 3},
		{"signal", rpc.Task{Status: rpc.StatusKilled, Operator: &rpc.Operator{Signal: "SIGKILL"}}, 137},
		{"killed, but exited itself", rpc.Task{Status: rpc.StatusKilled, Operator: &rpc.Operator{ExitCode: code(7)}}, 7},
		{"time-out", rpc.Task{Status: rpc.StatusKilled, Detail: detail("timed out after 50 ms"), Operator: &rpc.Operator{Signal: "SIGTERM", TimedOut: true}}, 124},
		{"outside producer's words", rpc.Task{Status: rpc.StatusKilled, Detail: detail("timed out after 50 ms"), Operator: &rpc.Operator{}}, 143},
		{"never ran", rpc.Task{Status: rpc.StatusFailed, Detail: detail("no such shell"), Operator: &rpc.Operator{}}, 1},
		{"outside producer's success", rpc.Task{Status: rpc.StatusCompleted, Operator: &rpc.Operator{}}, 0},
		{"outside producer's failure", rpc.Task{Status: rpc.StatusFailed}, 1},
	} {
		if got := exitStatus(test.task); got != test.want {
			t.Errorf("%s: exit status %d, want %d", test.name, got, test.want)
		}
	}
}

// Detach: ~. at the beginning of a line; ~~ is one ~; anything else is passed on.
func TestDetachReader(t *testing.T) {
	for _, test := range []struct {
		in, want string
		detached bool
	}{
		{"ls\r~.rest", "ls\r", true},
		{"~.", "", true},
		{"a~.b", "a~.b", false},
		{"\r~~.x", "\r~.x", false},
		{"\r~x", "\r~x", false},
		{"\r~\r~.", "\r~\r", true},
	} {
		for _, size := range []int{2, 1024} { // typed byte by byte, and pasted
			d := &detachReader{from: strings.NewReader(test.in), lineStart: true}
			var got bytes.Buffer
			_, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{d}, make([]byte, size))
			if got.String() != test.want || errors.Is(err, errDetached) != test.detached {
				t.Errorf("%q by %d: %q, %v; want %q, detached %v", test.in, size/2, got.String(), err, test.want, test.detached)
			}
		}
	}
}

func TestTable(t *testing.T) {
	rows := [][]string{{"ID", "LABEL"}, {"bash-1", "short"}, {"b", "a long\u202e\nlabel that goes\ton and on"}}
	want := []string{"ID      LABEL", "bash-1  short", "b       a long  label t…"}
	if got := table(24, rows); !slices.Equal(got, want) {
		t.Errorf("table:\n%q\nwant:\n%q", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		rows := [][]string{rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, "row")}
		if got := table(0, rows); len(got) != 1 || strings.Contains(got[0], "\n") {
			t.Fatalf("one row became %q", got)
		}
	})
}
