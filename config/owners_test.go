package config_test

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

// daemon is a real one with a configuration of its own, and two connections to it.
type daemon struct {
	t        *testing.T
	ctx      context.Context
	config   string
	operator *client.Client
	host     *client.Client // of one owner
	bells    chan rpc.InboxPending
	token    rpc.As
}

// startDaemon starts a daemon and registers an owner at a scope.
func startDaemon(t *testing.T, content, scope string) *daemon {
	t.Helper()
	bin := programs(t)
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
	ctx, cancel := context.WithTimeout(context.Background(), deadMan)
	d := &daemon{t: t, ctx: ctx, config: home + "/config.toml", bells: make(chan rpc.InboxPending, 1000), token: rpc.As{Token: "00112233445566778899aabbccddeeff"}}
	d.write(content)
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

func (d *daemon) dial(socket string, handle client.Handler) *client.Client {
	d.t.Helper()
	c, err := client.Dial(d.ctx, client.Options{Socket: socket, Name: "test", Handle: handle})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	return c
}

func (d *daemon) must(c *client.Client, method string, params, result any) {
	d.t.Helper()
	if err := c.Call(d.ctx, method, params, result); err != nil {
		d.t.Fatalf("%s: %v", method, err)
	}
}

func (d *daemon) write(content string) {
	d.t.Helper()
	if err := os.WriteFile(d.config, []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// reload brings a file into force, whether the daemon has seen it by itself or not.
func (d *daemon) reload(content string) {
	d.t.Helper()
	d.write(content)
	var r rpc.ConfigReloadResult
	d.must(d.operator, rpc.MethodConfigReload, rpc.Empty{}, &r)
	if len(r.Errors) > 0 {
		d.t.Fatalf("refused: %q", r.Errors)
	}
}

func (d *daemon) start(command string) (rpc.Task, error) {
	var r rpc.TaskResult
	err := d.host.Call(d.ctx, rpc.MethodTaskStart, rpc.TaskStart{As: d.token, Command: command}, &r)
	return r.Task, err
}

// ended starts a command and waits for its end.
func (d *daemon) ended(command string) rpc.Task {
	d.t.Helper()
	task, err := d.start(command)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.wait(task.ID)
}

func (d *daemon) wait(id string) rpc.Task {
	d.t.Helper()
	var r rpc.TaskResult
	d.must(d.operator, rpc.MethodTaskWait, rpc.TaskWait{TaskRef: rpc.TaskRef{ID: id}, TimeoutMs: json.RawMessage("60000")}, &r)
	return r.Task
}

// bell waits for the bell with that lane.
func (d *daemon) bell(lane string) {
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
func (d *daemon) claim() (ids []string, refused string) {
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

func (d *daemon) info() rpc.OwnerInfo {
	d.t.Helper()
	var r rpc.OwnerListResult
	d.must(d.operator, rpc.MethodOwnerList, rpc.Empty{}, &r)
	if len(r.Owners) != 1 {
		d.t.Fatalf("%d owners, want one", len(r.Owners))
	}
	return r.Owners[0]
}

// TestMountsUnderALiveOwner pins CONFIG.md "What a reload does".
func TestMountsUnderALiveOwner(t *testing.T) {
	const (
		review = "[mounts.\"/\"]\nenabled = false\n[mounts.\"/review\"]\nmaxConsecutiveWakes = 2\n"
		none   = "[mounts.\"/\"]\nenabled = false\n"
		root   = "[mounts.\"/\"]\nmaxConsecutiveWakes = 3\n"
	)
	d := startDaemon(t, review, "/review/strict")

	// Served by the nearest mount; one wake is spent.
	first := d.ended("true")
	d.bell("wake")
	if ids, refused := d.claim(); refused != "" || len(ids) != 1 || ids[0] != first.ID {
		t.Fatalf("claim = %v, refused %q; want %s", ids, refused, first.ID)
	}
	if o := d.info(); o.Mount != "/review" || o.BudgetLeft != 1 {
		t.Errorf("served by %q with %d wakes left, want /review and 1", o.Mount, o.BudgetLeft)
	}
	live, err := d.start("echo here; sleep 1000")
	if err != nil {
		t.Fatal(err)
	}

	// The mount is gone and none is above: no work can be started. What runs
	// goes on and can be read and killed; its notice waits, unrung.
	d.reload(none)
	if _, err := d.start("true"); err == nil || err.Error() != "background tasks unavailable: no task controller serves this agent" {
		t.Errorf("start without a mount = %v", err)
	}
	var out rpc.TaskOutputResult
	d.must(d.host, rpc.MethodTaskOutput, rpc.TaskOutput{TaskRef: rpc.TaskRef{As: d.token, ID: live.ID}}, &out)
	if out.Task.Status != rpc.StatusRunning {
		t.Errorf("the task is %s, want running", out.Task.Status)
	}
	d.must(d.operator, rpc.MethodTaskKill, rpc.TaskKill{TaskRef: rpc.TaskRef{ID: live.ID}}, nil)
	if task := d.wait(live.ID); task.Status != rpc.StatusKilled {
		t.Errorf("the task is %s, want killed", task.Status)
	}
	if o := d.info(); o.Mount != "" || o.Pending != 1 {
		t.Errorf("served by %q, %d notices wait; want nobody and 1", o.Mount, o.Pending)
	}
	if len(d.bells) != 0 {
		t.Error("the bell was rung though nobody serves the owner")
	}

	// Something serves the scope again: the notice that waited rings. What was
	// spent stays spent.
	d.reload(root)
	d.bell("wake")
	if o := d.info(); o.Mount != "/" || o.BudgetLeft != 2 {
		t.Errorf("served by %q with %d wakes left, want / and 2", o.Mount, o.BudgetLeft)
	}
	if ids, refused := d.claim(); refused != "" || len(ids) != 1 || ids[0] != live.ID {
		t.Fatalf("claim = %v, refused %q; want %s", ids, refused, live.ID)
	}

	// A lower cap counts at once, and so does a higher one.
	d.reload("[mounts.\"/\"]\nmaxConsecutiveWakes = 2\n")
	last := d.ended("true")
	d.bell("inject")
	if ids, refused := d.claim(); refused != rpc.RefusedBudget || len(ids) > 0 {
		t.Errorf("claim = %v, refused %q; want refused by the budget", ids, refused)
	}
	d.reload(root)
	d.bell("wake")

	// A new mount nearer to the owner is the one that counts from then on.
	d.reload(root + "[mounts.\"/review/strict\"]\ncompletionDelivery = \"quiet\"\n")
	if _, refused := d.claim(); refused != rpc.RefusedQuiet {
		t.Errorf("claim under quiet: refused %q", refused)
	}
	d.reload(root)
	if ids, _ := d.claim(); len(ids) != 1 || ids[0] != last.ID {
		t.Errorf("claim = %v, want %s", ids, last.ID)
	}
}

// TestWaitKeepsItsDeadline pins CONFIG.md: a wait in progress keeps its
// deadline; the next one has the new cap.
func TestWaitKeepsItsDeadline(t *testing.T) {
	d := startDaemon(t, "[mounts.\"/\"]\nmaxWaitTimeoutMs = 600000\n", "/")
	end := filepath.Join(t.TempDir(), "fifo")
	if err := exec.Command("mkfifo", end).Run(); err != nil {
		t.Fatal(err)
	}
	task, err := d.start("cat " + end)
	if err != nil {
		t.Fatal(err)
	}
	wait := rpc.TaskOutput{TaskRef: rpc.TaskRef{As: d.token, ID: task.ID}, Wait: true, TimeoutMs: json.RawMessage("600000")}
	answer := make(chan rpc.TaskOutputResult, 1)
	go func() {
		var out rpc.TaskOutputResult
		if err := d.host.Call(d.ctx, rpc.MethodTaskOutput, wait, &out); err != nil {
			t.Errorf("the wait: %v", err)
		}
		answer <- out
	}()
	// The daemon reads a connection in order: when it answers this, it has the wait.
	d.must(d.host, rpc.MethodInboxList, d.token, nil)
	d.reload("[mounts.\"/\"]\nwaitTimeoutMs = 1\nmaxWaitTimeoutMs = 1\n")

	var other rpc.TaskOutputResult
	d.must(d.operator, rpc.MethodTaskOutput, rpc.TaskOutput{TaskRef: rpc.TaskRef{As: rpc.As{Session: "s"}, ID: task.ID}, Wait: true, TimeoutMs: json.RawMessage("600000")}, &other)
	if other.Task.Status != rpc.StatusRunning {
		t.Errorf("a wait under the new cap = %s, want running after 1 ms", other.Task.Status)
	}
	select {
	case out := <-answer:
		t.Fatalf("the wait in progress was cut short: %s", out.Task.Status)
	default:
	}
	f, err := os.OpenFile(end, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if out := <-answer; out.Task.Status != rpc.StatusCompleted {
		t.Errorf("the wait in progress = %s, want completed", out.Task.Status)
	}
}
