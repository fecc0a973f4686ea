package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sidetask/rpc"
)

// TestSubscribe: the state now, then each change once; `since` gives what was
// missed; an owner hears of its own and the unowned only.
func TestSubscribe(t *testing.T) {
	g := newRig(t, "")
	g.host(tokenA, "a")
	g.host(tokenB, "b")
	worker, observer := g.dial(), g.dial()
	worker.registered(args{"token": tokenA, "kind": "a", "label": "l", "stream": true})
	var now rpc.TaskSubscribed
	observer.call("task/subscribe", args{"token": tokenA}, &now)
	if len(now.Tasks) != 1 || now.Tasks[0].ID != "a-1" || now.Tasks[0].Operator != nil {
		t.Errorf("the state now: %+v", now)
	}
	worker.registered(args{"token": tokenB, "kind": "b", "label": "l", "stream": true})
	worker.registered(args{"shared": true, "kind": "all", "label": "l", "stream": true})
	worker.call("task/settle", args{"id": "a-1", "status": "completed"}, nil)
	last := now.Seq
	for _, want := range []string{"all-1 running", "a-1 completed"} {
		var change rpc.TaskChanged
		observer.heard("task/changed", &change)
		if got := change.Task.ID + " " + string(change.Task.Status); got != want || change.Seq <= last {
			t.Errorf("heard %s at %d after %d, want %s", got, change.Seq, last, want)
		}
		last = change.Seq
	}
	later := g.dial()
	var missed rpc.TaskSubscribed
	later.call("task/subscribe", args{"since": now.Seq}, &missed)
	for _, want := range []string{"b-1 running", "all-1 running", "a-1 completed"} {
		var change rpc.TaskChanged
		later.heard("task/changed", &change)
		if got := change.Task.ID + " " + string(change.Task.Status); got != want || change.Task.Operator == nil {
			t.Errorf("missed %s (%+v), want %s", got, change.Task.Operator, want)
		}
	}
	if missed.Reset {
		t.Error("the log does not reach back")
	}
	var pruned rpc.TaskPruned
	later.call("task/prune", args{}, &pruned)
	if pruned.Removed != 0 {
		t.Errorf("a task with a notice that waits was pruned: %+v", pruned)
	}
	later.call("owner/dispose", args{"token": tokenA}, nil)
	var removed rpc.TaskRemoved
	later.heard("task/removed", &removed)
	if removed.ID != "a-1" {
		t.Errorf("removed %+v", removed)
	}
}

// TestSubscriptionOutlivesItsInput: a half-closed observer goes on hearing, as
// with socat.
func TestSubscriptionOutlivesItsInput(t *testing.T) {
	g := newRig(t, "")
	worker, observer := g.dial(), g.dial()
	observer.call("task/subscribe", args{}, nil)
	if err := observer.nc.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	worker.registered(args{"kind": "k", "label": "l", "stream": true})
	observer.heard("task/changed", nil)
}

// TestListPages: at most `limit`, then `next` goes on, whatever came between.
func TestListPages(t *testing.T) {
	g := newRig(t, "")
	worker := g.dial()
	for i := range 7 {
		worker.registered(args{"kind": "k", "label": fmt.Sprint(i), "stream": true})
	}
	worker.call("task/settle", args{"id": "k-2", "status": "completed"}, nil)
	var seen []string
	after := ""
	for {
		var page rpc.TaskListResult
		worker.call("task/list", args{"all": true, "limit": 3, "after": after}, &page)
		for _, task := range page.Tasks {
			seen = append(seen, task.ID)
		}
		if after = page.Next; after == "" {
			break
		}
		if len(page.Tasks) != 3 {
			t.Errorf("a page of %d", len(page.Tasks))
		}
	}
	if got := strings.Join(seen, " "); got != "k-1 k-2 k-3 k-4 k-5 k-6 k-7" {
		t.Errorf("pages give %s", got)
	}
	var live rpc.TaskListResult
	worker.call("task/list", args{}, &live)
	if len(live.Tasks) != 6 {
		t.Errorf("%d live tasks, want 6", len(live.Tasks))
	}
}

// TestOwners: what owner/list shows; update and takeover; the old host hears.
func TestOwners(t *testing.T) {
	g := newRig(t, "")
	first := g.host(tokenA, "s")
	operator := g.dial()
	first.call("owner/update", args{"token": tokenA, "status": "busy", "title": "T", "note": "N"}, nil)
	var list rpc.OwnerListResult
	operator.call("owner/list", args{}, &list)
	o := list.Owners[0]
	if len(list.Owners) != 1 || o.Agent != "test" || o.Session != "s" || o.Scope != "/" || o.Mount != "/" || o.Status != "busy" || o.Title != "T" || o.BudgetLeft != 3 {
		t.Errorf("owners %+v", list.Owners)
	}
	second := g.dial()
	if err := second.try("owner/register", args{"token": tokenB, "agent": "test", "session": "s"}, nil); err == nil {
		t.Error("a second live host was let in without takeover")
	}
	var registered rpc.OwnerRegistered
	second.call("owner/register", args{"token": tokenB, "agent": "test", "session": "s", "takeover": true}, &registered)
	if registered.Owner != o.Owner || registered.ACP.MaxDrains != 8 || registered.ACP.ShowWake != "auto" {
		t.Errorf("registered %+v", registered)
	}
	var lost rpc.OwnerLost
	first.heard("owner/lost", &lost)
	if lost.Owner != o.Owner {
		t.Errorf("lost %+v", lost)
	}
	for method, params := range map[string]args{"owner/update": {"token": tokenA, "status": "idle"}, "tools/call": {"token": tokenA, "name": "task_list", "arguments": args{}}} {
		if err := first.try(method, params, nil); !errors.Is(err, rpc.ErrOwnerGone) || !strings.Contains(err.Error(), "do not retry") {
			t.Errorf("%s with the token that was taken over: %v", method, err)
		}
	}
	var gone rpc.OwnerDisposed
	second.call("owner/dispose", args{"token": tokenB}, &gone)
	if gone.Cancelled == nil || len(gone.Cancelled) != 0 {
		t.Errorf("disposed %+v", gone)
	}
}

// TestUnnamedOwner: a token first, its session later (owner/bind).
func TestUnnamedOwner(t *testing.T) {
	g := newRig(t, "")
	host := g.dial()
	host.call("owner/register", args{"token": tokenA, "agent": "test"}, nil)
	host.registered(args{"token": tokenA, "kind": "k", "label": "l", "stream": true})
	host.refused(rpc.CodeInvalidParams, `invalid session: expected a non-empty string`, "owner/bind", args{"token": tokenA})
	var bound rpc.OwnerBound
	host.call("owner/bind", args{"token": tokenA, "session": "s", "fresh": true}, &bound)
	var tasks rpc.TaskListResult
	host.call("task/list", args{"session": "s"}, &tasks)
	if bound.Owner == "" || len(tasks.Tasks) != 1 {
		t.Errorf("bound %+v, tasks %+v", bound, tasks.Tasks)
	}
}

// TestInbox: a look takes nothing, a wait ends with the first notice, a lease
// that is released comes back, one that nobody holds is no error.
func TestInbox(t *testing.T) {
	g := newRig(t, "")
	host := g.host(tokenA, "s")
	worker := g.dial()
	worker.registered(args{"token": tokenA, "kind": "k", "label": "l", "stream": true})
	var none rpc.InboxNotices
	host.call("inbox/wait", args{"token": tokenA, "timeoutMs": 1}, &none)
	if none.Notices == nil || len(none.Notices) != 0 {
		t.Errorf("nothing is %+v", none)
	}
	host.refused(rpc.CodeInvalidParams, "invalid wait timeout: expected a positive number of milliseconds, got -1", "inbox/wait", args{"token": tokenA, "timeoutMs": -1})
	_, waiting := host.start("inbox/wait", args{"token": tokenA})
	worker.call("task/settle", args{"id": "k-1", "status": "completed"}, nil)
	if r := host.await(waiting); !strings.Contains(string(r.result), `"summary":"k l [status: completed]"`) {
		t.Errorf("waited for %s, %v", r.result, r.err)
	}
	var claim rpc.InboxClaimed
	host.call("inbox/claim", args{"token": tokenA, "reason": "user", "take": false}, &claim)
	if claim.Lease != "" || len(claim.Notices) != 0 {
		t.Errorf("a claim that takes nothing: %+v", claim)
	}
	host.call("inbox/claim", args{"token": tokenA, "reason": "wake"}, &claim)
	if n := host.pending(tokenA); n != 0 || claim.Lease == "" {
		t.Errorf("%d notices beside the lease %q", n, claim.Lease)
	}
	host.call("inbox/release", args{"token": tokenA, "lease": claim.Lease}, nil)
	host.heard("inbox/pending", nil)
	host.call("inbox/ack", args{"token": tokenA, "lease": "none"}, nil)
	stranger := g.dial() // a lease of a caller that is no host comes back with its end
	stranger.call("inbox/claim", args{"token": tokenA, "reason": "turn-end"}, &claim)
	if n := host.pending(tokenA); n != 0 {
		t.Errorf("%d notices beside the stranger's lease", n)
	}
	stranger.close()
	host.call("inbox/wait", args{"token": tokenA}, nil)
}

// TestMounts pins T89, T90 (an owner is served iff its chain has an enabled
// mount) and T91: a connection's mount lives as long as it does.
func TestMounts(t *testing.T) {
	g := newRig(t, "[mounts.\"/\"]\nenabled = false\n")
	c, other := g.dial(), g.dial()
	c.call("owner/register", args{"token": tokenA, "session": "s", "scope": "/x/y"}, nil)
	start := args{"token": tokenA, "command": "true"}
	const none = "background tasks unavailable: no task controller serves this agent"
	c.refused(rpc.CodeNoController, none, "task/start", start)
	var mount rpc.MountAttached
	other.call("mount/attach", args{"scope": "/x", "settings": args{"completionDelivery": "quiet"}}, &mount)
	c.call("task/start", start, nil)
	var list rpc.MountListResult
	c.call("mount/list", args{}, &list)
	i := slices.IndexFunc(list.Mounts, func(m rpc.MountInfo) bool { return m.Scope == "/x" })
	if i < 0 || list.Mounts[i].Mount != mount.Mount || list.Mounts[i].Origin != "connection" || list.Mounts[i].CompletionDelivery != "quiet" || !list.Mounts[i].Enabled {
		t.Errorf("mounts %+v", list.Mounts)
	}
	if err := c.try("mount/attach", args{"scope": "/x"}, nil); err == nil {
		t.Error("two mounts at one scope")
	}
	err := c.try("mount/attach", args{"scope": "/z", "settings": args{"waitTimeoutms": 1}}, nil)
	if err == nil || !strings.Contains(err.Error(), `did you mean "waitTimeoutMs"?`) {
		t.Errorf("a key that there is not: %v", err)
	}
	if err := c.try("mount/attach", args{"scope": "/z", "settings": args{"waitTimeoutMs": 0}}, nil); err == nil {
		t.Error("a wait of 0 ms")
	}
	c.refused(rpc.CodeInvalidParams, "mount "+mount.Mount+" is none of this connection", "mount/detach", args{"mount": mount.Mount})
	other.call("mount/detach", args{"mount": mount.Mount}, nil)
	c.refused(rpc.CodeNoController, none, "task/start", start)
	other.call("mount/attach", args{"scope": "/x"}, nil)
	c.refused(rpc.CodeInvalidParams, "mount /x is none of this connection", "mount/detach", args{"scope": "/x"})
	other.refused(rpc.CodeInvalidParams, "mount /nope is none of this connection", "mount/detach", args{"scope": "/nope"})
	const which = `invalid params: give "scope", or "mount" as mount/attach gave it`
	other.refused(rpc.CodeInvalidParams, which, "mount/detach", args{})
	other.refused(rpc.CodeInvalidParams, which, "mount/detach", args{"scope": "/x", "mount": "m"})
	other.call("mount/detach", args{"scope": "/x"}, nil)
	c.refused(rpc.CodeNoController, none, "task/start", start)
	other.call("mount/attach", args{"scope": "/x"}, nil)
	other.close()
	<-g.ended
	c.refused(rpc.CodeNoController, none, "task/start", start)
}

// TestMountIsLost: one that the file takes the place of is none of its
// connection's any more, and counts no more for what that may have.
func TestMountIsLost(t *testing.T) {
	g := newRig(t, "")
	c := g.dial()
	var mount rpc.MountAttached
	c.call("mount/attach", args{"scope": "/x"}, &mount)
	g.check(os.WriteFile(filepath.Join(g.dir, "config.toml"), []byte("[mounts.\"/x\"]\n"), 0o600))
	c.call("config/reload", args{}, nil)
	var list rpc.MountListResult
	c.call("mount/list", args{}, &list)
	if len(list.Mounts) != 2 || list.Mounts[1].Mount != "/x" || !strings.HasSuffix(list.Mounts[1].Origin, "config.toml:1") {
		t.Errorf("mounts %+v", list.Mounts)
	}
	c.refused(rpc.CodeInvalidParams, "mount "+mount.Mount+" is none of this connection", "mount/detach", args{"mount": mount.Mount})
	policy := args{"scope": "/", "stages": []string{"pre"}}
	for range maxHeld {
		c.call("policy/attach", policy, nil)
	}
	if err := c.try("policy/attach", policy, nil); err == nil {
		t.Error("more than the bound")
	}
}

// TestRefusedChangesNothing: neither what is shown of a client, nor how long its
// connection lasts.
func TestRefusedChangesNothing(t *testing.T) {
	g := newRig(t, "")
	live := g.host(tokenA, "a")
	c := g.dial()
	for method, params := range map[string]args{
		"owner/register": {"token": tokenB, "session": "a", "agent": "test"}, // it has a live host
		"mount/attach":   {"scope": "/"},
	} {
		if err := c.try(method, params, nil); err == nil {
			t.Errorf("%s is not refused", method)
		}
	}
	c.refused(rpc.CodeInvalidParams, `invalid status: expected "idle" or "busy"`, "owner/update", args{"token": tokenA, "note": "n", "status": "asleep"})
	for _, client := range g.server.Clients() {
		if client.Notes != "" {
			t.Errorf("shown: %+v", client)
		}
	}
	g.check(c.nc.CloseWrite())
	<-c.ended // nothing of it stays
	live.call("tools/list", args{}, nil)
}

// TestClientsAreOneLine: what clients say of themselves is shown to a person, whose
// terminal they do not command.
func TestClientsAreOneLine(t *testing.T) {
	g := newRig(t, "")
	host := g.host(tokenA, "a")
	host.call("initialize", args{"client": args{"name": "me\nclient  you", "version": "\x1b[2J7"}}, nil)
	host.call("owner/update", args{"token": tokenA, "note": "a\x1b]0;b\x07\n"}, nil)
	want := rpc.Client{Name: "me client  you", Version: " [2J7", PID: os.Getpid(), Notes: "a ]0;b  "}
	if got := g.server.Clients(); len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestConfig: resolved settings with their origin; a reload that is refused is
// a result with its reasons; subscribers hear.
func TestConfig(t *testing.T) {
	g := newRig(t, "[limits]\nmaxConnections = 50\n")
	c := g.dial()
	var got rpc.ConfigGetResult
	c.call("config/get", args{}, &got)
	i := slices.IndexFunc(got.Settings, func(s rpc.Setting) bool { return s.Key == "limits.maxConnections" })
	if i < 0 || string(got.Settings[i].Value) != "50" || !strings.HasSuffix(got.Settings[i].Origin, "config.toml:2") {
		t.Errorf("settings %+v", got.Settings)
	}
	c.call("config/subscribe", args{}, nil)
	file := filepath.Join(g.dir, "config.toml")
	g.check(os.WriteFile(file, []byte("[limits]\nmaxConnections = 0\n"), 0o600))
	var reload rpc.ConfigReloadResult
	c.call("config/reload", args{}, &reload)
	if reload.Changed || len(reload.Errors) != 1 || !strings.Contains(reload.Errors[0], "config.toml:2:") {
		t.Errorf("a bad file: %+v", reload)
	}
	var changed rpc.ConfigChanged
	c.heard("config/changed", &changed)
	if len(changed.State.Errors) != 1 {
		t.Errorf("heard %+v", changed)
	}
	g.check(os.WriteFile(file, []byte("[limits]\nmaxConnections = 60\n"), 0o600))
	c.call("config/reload", args{}, &reload)
	if !reload.Changed || len(reload.Errors) != 0 {
		t.Errorf("a good file: %+v", reload)
	}
}

// TestDaemonMethods: the daemon is asked after the answer is on its way.
func TestDaemonMethods(t *testing.T) {
	g := newRig(t, "")
	c := g.dial()
	c.call("initialize", args{"protocolVersion": 1, "client": args{"name": "me", "version": "7"}}, nil)
	var status rpc.DaemonStatus
	c.call("daemon/status", args{}, &status)
	if status.Version != "test" || len(status.Clients) != 1 || status.Clients[0].Name != "me" || status.Clients[0].PID != os.Getpid() {
		t.Errorf("status %+v", status)
	}
	var ended, kept rpc.DaemonStopped
	c.call("daemon/stop", args{}, &ended)
	c.call("daemon/stop", args{"keepTasks": true}, &kept)
	if ended.KeepTasks == nil || *ended.KeepTasks || kept.KeepTasks == nil || !*kept.KeepTasks {
		t.Errorf("of the tasks it said %+v, then %+v", ended, kept)
	}
	c.refused(rpc.CodeInternal, "/bin/ls is no sidetask", "daemon/restart", args{"executable": "/bin/ls"})
	c.call("daemon/restart", args{}, nil)
	c.call("tools/list", args{}, nil)
	g.daemon.mu.Lock()
	defer g.daemon.mu.Unlock()
	if got := strings.Join(g.daemon.asked, ", "); got != "stop keep=false, stop keep=true, restart " {
		t.Errorf("asked %q", got)
	}
}

// TestToolsList: schemas and guidance, the same bytes always, at most 3000; the
// card of a call (T171).
func TestToolsList(t *testing.T) {
	g := newRig(t, "")
	c := g.dial()
	var first, second json.RawMessage
	c.call("tools/list", args{}, &first)
	g.restart()
	g.dial().call("tools/list", args{}, &second)
	if string(first) != string(second) || len(first) > 3000 {
		t.Errorf("%d bytes, the same after a restart: %v", len(first), string(first) == string(second))
	}
	c = g.dial()
	var card rpc.Card
	c.call("tools/present", args{"name": "task_output", "arguments": args{"task_id": "bash-1"}}, &card)
	if card.Card != "generic" || card.Title != "Read output from background task bash-1" || card.Kind != "read" || string(card.RawInput) != `"bash-1"` {
		t.Errorf("card %+v", card)
	}
	var none json.RawMessage
	c.call("tools/present", args{"name": "task_output", "arguments": args{}}, &none)
	if string(none) != "{}" {
		t.Errorf("bad arguments: %s", none)
	}
}
