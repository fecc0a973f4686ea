package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the user stories of testdata/script, each with a state, a
// configuration and a socket of its own, with the real programs.
func TestScripts(t *testing.T) {
	bin := buildPrograms(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return newHome(env, bin) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"rpc":        rpcLine,
			"host":       beHost,
			"killdaemon": killDaemon,
			"daemonends": func(ts *testscript.TestScript, _ bool, _ []string) { awaitEnd(ts, namedDaemon(ts)) },
			"onedaemon":  oneDaemon,
			"inforce":    inForce,
			"refused":    refused,
			"mended":     mended,
			"hup":        hup,
		},
	})
}

// buildPrograms builds the programs into one folder, as they are installed: the
// daemon looks for its keeper beside itself.
func buildPrograms(t *testing.T) (bin string) {
	t.Helper()
	bin = t.TempDir()
	out, err := exec.Command("go", "build", "-o", bin, "sidetask/cmd/sidetask", "sidetask/cmd/sidetask-keeper").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// folders are the variables by which a test has a world of its own, with the
// folder below its home that each names.
var folders = map[string]string{"XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"}

// newHome gives a script folders of its own. They have a short path: that of a
// socket has 107 bytes at most.
func newHome(env *testscript.Env, bin string) error {
	home, err := os.MkdirTemp("", "st")
	if err != nil {
		return err
	}
	env.Setenv("HOME", home)
	for name, below := range folders {
		dir := filepath.Join(home, below)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		env.Setenv(name, dir)
	}
	env.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	env.Setenv("BIN", bin)
	env.Setenv("SOCKET", filepath.Join(home, "run/sidetask/sidetask.sock"))
	env.Setenv("CONFIG", filepath.Join(home, "config/sidetask/config.toml"))
	// The test may itself be run by a task.
	for _, name := range []string{"SIDETASK_SOCKET", "SIDETASK_TASK", "SIDETASK_CONFIG"} {
		env.Setenv(name, "")
	}
	env.Defer(func() {
		stop := exec.Command(filepath.Join(bin, "sidetask"), "daemon", "stop", "--cancel-tasks")
		stop.Env = env.Vars
		_ = stop.Run() // a script may have left none, or a configuration that none starts with
		_ = os.RemoveAll(home)
	})
	return nil
}

// exits runs a program and demands one exit status: exits 78 sidetask ls.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(*exec.ExitError) //nolint:errorlint // as os/exec gives it
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exits with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// rpcLine sends one line to the daemon and prints one line of answer, as socat would.
func rpcLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: rpc LINE")
	}
	conn := dialSocket(ts)
	defer func() { _ = conn.Close() }()
	_, err := ts.Stdout().Write(roundTrip(ts, conn, args[0]))
	ts.Check(err)
}

// beHost registers an owner with this agent and session, says what it has decided
// for its client, and stays its host to the end of the script.
func beHost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: host AGENT SESSION [NOTE]")
	}
	conn := dialSocket(ts)
	ts.Defer(func() { _ = conn.Close() })
	answer := roundTrip(ts, conn, fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"owner/register","params":{"token":"00112233445566778899aabbccddeeff","agent":%q,"session":%q}}`, args[0], args[1]))
	if !strings.Contains(string(answer), `"owner":"o-`) {
		ts.Fatalf("owner/register: %s", answer)
	}
	if len(args) == 3 {
		answer = roundTrip(ts, conn, fmt.Sprintf(
			`{"jsonrpc":"2.0","id":2,"method":"owner/update","params":{"token":"00112233445566778899aabbccddeeff","note":%q}}`, args[2]))
		if !strings.Contains(string(answer), `"result":{}`) {
			ts.Fatalf("owner/update: %s", answer)
		}
	}
}

func dialSocket(ts *testscript.TestScript) net.Conn {
	conn, err := net.Dial("unix", ts.Getenv("SOCKET"))
	ts.Check(err)
	ts.Check(conn.SetDeadline(time.Now().Add(deadline)))
	return conn
}

func roundTrip(ts *testscript.TestScript, conn net.Conn, line string) []byte {
	_, err := conn.Write([]byte(line + "\n"))
	ts.Check(err)
	answer, err := bufio.NewReader(conn).ReadBytes('\n')
	ts.Check(err)
	return answer
}

// deadline is the dead man's limit: far more than anything takes.
const deadline = time.Minute

// killDaemon kills the daemon as a crash would, and waits until it is gone.
func killDaemon(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: killdaemon")
	}
	pid := namedDaemon(ts)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	awaitEnd(ts, pid)
}

// oneDaemon demands that all daemons of this script's state end but for the
// one that holds the lock. (Those that lost against it may just be about to.)
func oneDaemon(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: onedaemon")
	}
	one := namedDaemon(ts)
	found := false
	for _, pid := range daemons(ts, one) {
		if found = found || pid == one; pid != one {
			awaitEnd(ts, pid)
		}
	}
	if !found {
		ts.Fatalf("the lock names pid %d, which is no daemon", one)
	}
}

// namedDaemon is the daemon that the single-instance lock names.
func namedDaemon(ts *testscript.TestScript) int {
	text, err := os.ReadFile(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "sidetask/daemon.lock"))
	ts.Check(err)
	first, _, _ := strings.Cut(string(text), " ")
	pid, err := strconv.Atoi(first)
	ts.Check(err)
	return pid
}

// daemons finds the processes of this script's state that were started as
// `sidetask daemon`. A child of one that is about to become a keeper looks like
// it until its exec, and is left out.
func daemons(ts *testscript.TestScript, one int) (pids []int) {
	mark := "XDG_STATE_HOME=" + ts.Getenv("XDG_STATE_HOME") + "\x00"
	entries, err := os.ReadDir("/proc")
	ts.Check(err)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// Of a process that is gone meanwhile these are empty.
		environ, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		command, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		status, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "status"))
		if strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", one)) {
			continue
		}
		if strings.Contains(string(environ), mark) && strings.Contains(string(command), "sidetask\x00daemon\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

func awaitEnd(ts *testscript.TestScript, pid int) {
	p, err := openProcess(pid)
	ts.Check(err)
	defer p.close()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := p.wait(ctx); err != nil {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		ts.Fatalf("process %d (%q) does not end: %v", pid, command, err)
	}
}
