package config

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// programs builds the two programs once for all.
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

// TestDaemon is about the whole path: a real daemon and real clients. The stories of the
// command line are in cmd/sidetask/testdata/script/config_*.txtar.
func TestDaemon(t *testing.T) {
	bin := programs(t)
	t.Run("mounts under a live owner", func(t *testing.T) { mountsUnderALiveOwner(t, bin) })
	t.Run("a wait keeps its deadline", func(t *testing.T) { waitKeepsItsDeadline(t, bin) })
	t.Run("always one whole file", func(t *testing.T) { callsSeeOneWholeFile(t, bin) })
}

// realDaemon is one with a configuration of its own, and two connections to it.
type realDaemon struct {
	t        *testing.T
	ctx      context.Context
	config   string
	operator *client.Client
	host     *client.Client // of one owner
	bells    chan rpc.InboxPending
	token    rpc.As
}

// startDaemon starts a daemon and registers an owner at a scope.
func startDaemon(t *testing.T, bin, content, scope string) *realDaemon {
	t.Helper()
	home, err := os.MkdirTemp("", "st") // short: a socket's path has 107 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home, "XDG_RUNTIME_DIR="+home,
		"SIDETASK_SOCKET="+home+"/s", "SIDETASK_CONFIG="+home+"/config.toml", "SIDETASK_TASK=")
	sidetask := func(args ...string) {
		cmd := exec.Command(filepath.Join(bin, "sidetask"), args...)
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("sidetask %v: %v\n%s", args, err, out)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*deadMan)
	d := &realDaemon{t: t, ctx: ctx, config: home + "/config.toml", bells: make(chan rpc.InboxPending, 1000), token: rpc.As{Token: "00112233445566778899aabbccddeeff"}}
	if content != "" {
		d.write(content)
	}
	sidetask("status") // starts it
	t.Cleanup(func() {
		cancel()
		sidetask("daemon", "stop", "--cancel-tasks")
		os.RemoveAll(home)
	})
	d.operator = d.dial(home+"/s", nil)
	d.host = d.dial(home+"/s", func(_ context.Context, _ *client.Client, method string, params json.RawMessage) (any, error) {
		if method == rpc.NotifyInboxPending {
			var bell rpc.InboxPending
			if err := json.Unmarshal(params, &bell); err != nil {
				return nil, err
			}
			d.bells <- bell
		}
		return nil, nil
	})
	d.must(d.host, rpc.MethodOwnerRegister, rpc.OwnerRegister{Token: d.token.Token, Agent: "a", Session: "s", Scope: scope}, nil)
	return d
}

func (d *realDaemon) dial(socket string, handle client.Handler) *client.Client {
	d.t.Helper()
	c, err := client.Dial(d.ctx, client.Options{Socket: socket, Name: "test", Handle: handle})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	return c
}

func (d *realDaemon) must(c *client.Client, method string, params, result any) {
	d.t.Helper()
	if err := c.Call(d.ctx, method, params, result); err != nil {
		d.t.Fatalf("%s: %v", method, err)
	}
}

func (d *realDaemon) write(content string) {
	d.t.Helper()
	if err := os.WriteFile(d.config, []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// reload brings a file into force, whether the daemon has seen it by itself or not.
func (d *realDaemon) reload(content string) {
	d.t.Helper()
	d.write(content)
	var r rpc.ConfigReloadResult
	d.must(d.operator, rpc.MethodConfigReload, rpc.Empty{}, &r)
	if len(r.Errors) > 0 {
		d.t.Fatalf("refused: %q", r.Errors)
	}
}

func (d *realDaemon) start(command string) (rpc.Task, error) {
	var r rpc.TaskResult
	err := d.host.Call(d.ctx, rpc.MethodTaskStart, rpc.TaskStart{As: d.token, Command: command}, &r)
	return r.Task, err
}

// ended starts a command and waits for its end.
func (d *realDaemon) ended(command string) rpc.Task {
	d.t.Helper()
	task, err := d.start(command)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.wait(task.ID)
}

func (d *realDaemon) wait(id string) rpc.Task {
	d.t.Helper()
	var r rpc.TaskResult
	d.must(d.operator, rpc.MethodTaskWait, rpc.TaskWait{TaskRef: rpc.TaskRef{ID: id}, TimeoutMs: json.RawMessage("60000")}, &r)
	return r.Task
}

// bell waits for the bell with that lane.
func (d *realDaemon) bell(lane string) {
	d.t.Helper()
	for {
		select {
		case b := <-d.bells:
			if b.Lane == lane {
				return
			}
		case <-d.ctx.Done():
			d.t.Fatalf("the bell %q was never rung", lane)
		}
	}
}

// claim takes what waits for a wake; refused says why nothing was to be had.
func (d *realDaemon) claim() (ids []string, refused string) {
	d.t.Helper()
	var r rpc.InboxClaimed
	d.must(d.host, rpc.MethodInboxClaim, rpc.InboxClaim{As: d.token, Reason: rpc.ClaimWake}, &r)
	for _, n := range r.Notices {
		ids = append(ids, n.Task.ID)
	}
	if r.Lease != "" {
		d.must(d.host, rpc.MethodInboxAck, rpc.InboxAck{As: d.token, Lease: r.Lease}, nil)
	}
	return ids, r.Refused
}

func (d *realDaemon) info() rpc.OwnerInfo {
	d.t.Helper()
	var r rpc.OwnerListResult
	d.must(d.operator, rpc.MethodOwnerList, rpc.Empty{}, &r)
	if len(r.Owners) != 1 {
		d.t.Fatalf("%d owners, want one", len(r.Owners))
	}
	return r.Owners[0]
}
