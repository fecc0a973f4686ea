package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// programs builds the two programs once for all stories.
func programs(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	build := exec.Command("go", "build", "-o", dir, "./cmd/sidetask", "./cmd/sidetask-keeper")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return dir
}

// TestDaemon is about the whole path: a real daemon, the real command line, real
// clients.
func TestDaemon(t *testing.T) {
	bin := programs(t)
	t.Run("stories", func(t *testing.T) { stories(t, bin) })
	t.Run("mounts under a live owner", func(t *testing.T) { mountsUnderALiveOwner(t, bin) })
	t.Run("a wait keeps its deadline", func(t *testing.T) { waitKeepsItsDeadline(t, bin) })
	t.Run("always one whole file", func(t *testing.T) { callsSeeOneWholeFile(t, bin) })
}

// stories has one for each way of saving and for each thing that may be wrong.
func stories(t *testing.T, bin string) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/stories",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			// A socket's path has 107 bytes at most: not below $WORK.
			runtime, err := os.MkdirTemp("", "st")
			if err != nil {
				return err
			}
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "conf"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("XDG_RUNTIME_DIR", runtime)
			env.Setenv("SIDETASK_SOCKET", filepath.Join(runtime, "s"))
			env.Setenv("CONFIG", filepath.Join(env.WorkDir, "conf/sidetask/config.toml"))
			env.Defer(func() {
				stop := exec.Command(filepath.Join(bin, "sidetask"), "daemon", "stop", "--cancel-tasks")
				stop.Env = env.Vars
				if out, err := stop.CombinedOutput(); err != nil {
					t.Errorf("sidetask daemon stop: %v\n%s", err, out)
				}
				os.RemoveAll(runtime)
			})
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "inforce": inForce, "refused": refused, "mended": mended, "hup": hup,
		},
	})
}

// exits STATUS PROGRAM ARGS… runs a program that must end with that status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits status program args...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		got = ended.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if want, err := strconv.Atoi(args[0]); err != nil || got != want {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// listen connects to the daemon of a story; told gets a word at each config/changed.
func listen(ts *testscript.TestScript) (c *client.Client, told <-chan bool) {
	changes := make(chan bool, 1000)
	ctx, cancel := context.WithTimeout(context.Background(), deadMan)
	defer cancel()
	c, err := client.Dial(ctx, client.Options{
		Socket: ts.Getenv("SIDETASK_SOCKET"), Name: "story",
		Handle: func(_ context.Context, _ *client.Client, method string, _ json.RawMessage) (any, error) {
			if method == rpc.NotifyConfigChanged {
				changes <- true
			}
			return nil, nil
		},
	})
	ts.Check(err)
	ts.Check(c.Call(ctx, rpc.MethodConfigSubscribe, rpc.Empty{}, nil))
	return c, changes
}

// awaitConfig waits, by config/subscribe, for a state of the configuration.
func awaitConfig(ts *testscript.TestScript, what string, ok func(rpc.ConfigGetResult) bool) rpc.ConfigGetResult {
	c, told := listen(ts)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), deadMan)
	defer cancel()
	for {
		var now rpc.ConfigGetResult
		ts.Check(c.Call(ctx, rpc.MethodConfigGet, rpc.Empty{}, &now))
		if ok(now) {
			return now
		}
		select {
		case <-told:
		case <-ctx.Done():
			ts.Fatalf("never: %s; the state is %+v", what, now.State)
		}
	}
}

// inforce KEY VALUE waits until a setting has a value, as JSON.
func inForce(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: inforce key value")
	}
	awaitConfig(ts, fmt.Sprint(args), func(now rpc.ConfigGetResult) bool {
		return slices.ContainsFunc(now.Settings, func(s rpc.Setting) bool {
			return s.Key == args[0] && bytes.Equal(s.Value, []byte(args[1]))
		})
	})
}

// refused FILE waits until the file is refused and writes why into FILE.
func refused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: refused file")
	}
	now := awaitConfig(ts, "refused", func(now rpc.ConfigGetResult) bool { return len(now.State.Errors) > 0 })
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(now.State.Errors, "\n")+"\n"), 0o600))
}

// mended waits until nothing is wrong any more.
func mended(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: mended")
	}
	awaitConfig(ts, "mended", func(now rpc.ConfigGetResult) bool { return len(now.State.Errors) == 0 })
}

// hup sends SIGHUP to the daemon.
func hup(ts *testscript.TestScript, neg bool, args []string) {
	c, _ := listen(ts)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), deadMan)
	defer cancel()
	var status rpc.DaemonStatus
	ts.Check(c.Call(ctx, rpc.MethodDaemonStatus, rpc.Empty{}, &status))
	ts.Check(syscall.Kill(status.PID, syscall.SIGHUP))
}
