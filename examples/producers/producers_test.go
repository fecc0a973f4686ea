package producers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deadMan bounds what would otherwise hang a broken test.
const deadMan = 5 * time.Minute

// house is a daemon of its own with its folders.
type house struct {
	t   *testing.T
	env []string
}

// programs is where the programs were built, by TestMain.
var programs string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if programs, err = os.MkdirTemp("", "st"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(programs) }()
		build := exec.Command("go", "build", "-o", programs+"/", "../../cmd/...")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

func newHouse(t *testing.T) *house {
	t.Helper()
	home, err := os.MkdirTemp("", "st") // short: a socket's path may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SIDETASK_") && !strings.HasPrefix(v, "XDG_") {
			h.env = append(h.env, v)
		}
	}
	for _, name := range []string{"XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		dir := filepath.Join(home, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		h.env = append(h.env, name+"="+dir)
	}
	t.Cleanup(func() {
		h.sidetask("daemon", "stop")
		_ = os.RemoveAll(home)
	})
	h.sidetask("status")
	return h
}

func (h *house) command(name string, args ...string) (*exec.Cmd, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), deadMan)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = h.env
	cmd.WaitDelay = time.Second
	return cmd, cancel
}

// sidetask runs the command line and gives what it prints.
func (h *house) sidetask(args ...string) string {
	h.t.Helper()
	cmd, cancel := h.command(filepath.Join(programs, "sidetask"), args...)
	defer cancel()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && errs.Len() > 0 {
		h.t.Logf("sidetask %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String()
}

// producer is a script that runs.
type producer struct {
	cmd  *exec.Cmd
	id   string
	errs bytes.Buffer
}

// start runs a script until it has printed its task's id.
func (h *house) start(extra []string, script string, args ...string) *producer {
	h.t.Helper()
	cmd, cancel := h.command(script, args...)
	h.t.Cleanup(cancel)
	cmd.Env = append(cmd.Env, extra...)
	p := &producer{cmd: cmd}
	cmd.Stderr = &p.errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	p.id = strings.TrimSpace(line)
	return p
}

// ends waits for a script that should end well.
func (h *house) ends(p *producer) {
	h.t.Helper()
	if err := p.cmd.Wait(); err != nil || p.errs.Len() > 0 {
		h.t.Errorf("%v: %v\n%s", p.cmd.Args, err, p.errs.String())
	}
}

// ls is the kind and the label that sidetask ls shows of a task.
func (h *house) ls(id string) (kind, label string) {
	h.t.Helper()
	var all struct {
		Tasks []struct{ ID, Kind, Label string }
	}
	if err := json.Unmarshal([]byte(h.sidetask("ls", "-a", "--json")), &all); err != nil {
		h.t.Fatal(err)
	}
	for _, task := range all.Tasks {
		if task.ID == id {
			return task.Kind, task.Label
		}
	}
	h.t.Errorf("no %s in %+v", id, all)
	return "", ""
}

func TestWatch(t *testing.T) {
	h := newHouse(t)
	p := h.start(nil, "./watch.sh", `a "label"`, "bash", "-c", `echo 'one "two" \three'; printf 'tab\there\n\nlast'; exit 3`)
	h.ends(p)
	want := "one \"two\" \\three\ntab\there\n\nlast\n[status: completed, exit code: 3]"
	if got := strings.TrimRight(h.sidetask("output", p.id), "\n"); got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if got := strings.TrimRight(h.sidetask("output", p.id), "\n"); got != "(no new output)\n[status: completed, exit code: 3]" {
		t.Errorf("a stream is read once: %q", got)
	}
	if kind, label := h.ls(p.id); kind != "watch" || label != `a "label"` {
		t.Errorf("%s %q", kind, label)
	}

	p = h.start(nil, "./watch.sh", "long", "bash", "-c", "echo begun; exec sleep 1000")
	for h.sidetask("tail", p.id) != "begun\n" { // each is a look; it runs until it is killed
	}
	h.sidetask("kill", p.id)
	h.ends(p)
	if got := h.sidetask("output", p.id); !strings.HasPrefix(got, "begun\n[status: killed, ") {
		t.Errorf("killed: %q", got)
	}
}

func TestManifest(t *testing.T) {
	h := newHouse(t)
	folder := t.TempDir()
	for _, name := range []string{"b", "a"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := h.start(nil, "./manifest.py", folder)
	h.ends(p)
	want := "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a\n" +
		"3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b\n[status: completed]"
	for range 2 { // a final output may be read again and again
		if got := strings.TrimRight(h.sidetask("output", p.id), "\n"); got != want {
			t.Errorf("output %q, want %q", got, want)
		}
	}

	p = h.start([]string{"SIDETASK_SESSION=nobody"}, "./manifest.py", folder)
	if err := p.cmd.Wait(); err == nil || !strings.Contains(p.errs.String(), "manifest.py: ") || p.id != "" {
		t.Errorf("an unknown session: %v %q", err, p.errs.String())
	}
}

// A daemon that is restarted in the middle: the producer comes back for its task.
func TestManifestResumes(t *testing.T) {
	h := newHouse(t)
	folder := t.TempDir()
	large, err := os.Create(filepath.Join(folder, "large"))
	if err != nil {
		t.Fatal(err)
	}
	if err := large.Truncate(1 << 29); err != nil { // takes a while to read, and no disk
		t.Fatal(err)
	}
	_ = large.Close()
	p := h.start(nil, "./manifest.py", folder)
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(h.sidetask("ls"), p.id) {
		t.Log("it had ended already: nothing is resumed this time")
	}
	h.sidetask("daemon", "restart")
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	h.ends(p)
	if got := h.sidetask("output", p.id); !strings.HasSuffix(strings.TrimRight(got, "\n"), "  large\n[status: completed]") {
		t.Errorf("output %q", got)
	}
}
