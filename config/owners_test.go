package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// mountsUnderALiveOwner pins CONFIG.md "What a reload does".
func mountsUnderALiveOwner(t *testing.T, bin string) {
	const (
		review = "[mounts.\"/\"]\nenabled = false\n[mounts.\"/review\"]\nmaxConsecutiveWakes = 2\n"
		none   = "[mounts.\"/\"]\nenabled = false\n"
		root   = "[mounts.\"/\"]\nmaxConsecutiveWakes = 3\n"
	)
	d := startDaemon(t, bin, review, "/review/strict")

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

// waitKeepsItsDeadline pins CONFIG.md: a wait in progress keeps its deadline;
// the next one has the new cap.
func waitKeepsItsDeadline(t *testing.T, bin string) {
	d := startDaemon(t, bin, "", "/")
	// Nothing tells from outside when a wait has begun. One that the reload has
	// overtaken ends at once and says nothing; if waits were cut short, all would.
	for range 50 {
		if waitOverReload(d) == rpc.StatusCompleted {
			return
		}
	}
	t.Error("each wait that was in progress during a reload was cut short")
}

// waitOverReload begins a wait, lowers the cap, lets the task end and gives the
// status with which the wait answered.
func waitOverReload(d *realDaemon) rpc.Status {
	d.t.Helper()
	d.reload("[mounts.\"/\"]\nmaxWaitTimeoutMs = 600000\n")
	end := filepath.Join(d.t.TempDir(), "fifo")
	mkfifo(d.t, end)
	task, err := d.start("cat " + end)
	if err != nil {
		d.t.Fatal(err)
	}
	output := func(c *client.Client, as rpc.As) rpc.Status {
		var out rpc.TaskOutputResult
		if err := c.Call(d.ctx, rpc.MethodTaskOutput, rpc.TaskOutput{TaskRef: rpc.TaskRef{As: as, ID: task.ID}, Wait: true, TimeoutMs: json.RawMessage("600000")}, &out); err != nil {
			d.t.Errorf("the wait: %v", err)
		}
		return out.Task.Status
	}
	answer := make(chan rpc.Status, 1)
	go func() { answer <- output(d.host, d.token) }()
	// The daemon reads a connection in order: when it answers this, it has the wait.
	d.must(d.host, rpc.MethodInboxList, d.token, nil)
	d.reload("[mounts.\"/\"]\nwaitTimeoutMs = 1\nmaxWaitTimeoutMs = 1\n")
	if status := output(d.operator, rpc.As{Session: "s"}); status != rpc.StatusRunning {
		d.t.Errorf("a wait under the new cap = %s, want running after 1 ms", status)
	}
	f, err := os.OpenFile(end, os.O_WRONLY, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	f.Close()
	return <-answer
}
