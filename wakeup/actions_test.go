package wakeup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"sidetask/registry"
)

// actions are the machine's steps; "" is the comparison after each.
func (m *machine) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){"": m.check}
	// How often a step is drawn beside the others: what fills the registry more
	// often than what empties it.
	for _, a := range []struct {
		weight int
		name   string
		do     func(*rapid.T)
	}{
		{6, "start", m.doStart},
		{4, "settle", m.doSettle},
		{3, "register", m.doRegister},
		{3, "kill", m.doKill},
		{3, "read", m.doRead},
		{4, "receipt", m.doReceipt},
		{4, "claim", m.doClaim},
		{3, "lease", m.doLease},
		{2, "wait", m.doWait},
		{2, "output", m.doOutput},
		{2, "mount", m.doMount},
		{2, "time", m.doTime},
		{1, "abort", m.doAbort},
		{2, "full", m.doFull},
		{1, "host gone", m.doHostGone},
		{1, "empty", m.doEmpty},
	} {
		for i := range a.weight {
			actions[fmt.Sprint(a.name, " ", i)] = a.do
		}
	}
	return actions
}

// doEmpty is one of the steps after which there is less.
func (m *machine) doEmpty(t *rapid.T) {
	rapid.SampledFrom([]func(*rapid.T){m.doDispose, m.doPrune, m.doRestart, m.doRestart}).Draw(t, "empty")(t)
}

func pick[T any](t *rapid.T, name string, from []T) T {
	if len(from) == 0 {
		t.Skip("nothing to pick")
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(t, name)]
}

// session is the id of a session.
func session(i int) string { return fmt.Sprint("s", i) }

func (m *machine) session(t *rapid.T) (int, *mOwner) {
	i := rapid.IntRange(0, len(m.owners)-1).Draw(t, "session")
	return i, m.owners[i]
}

// registered is a session that the registry knows.
func (m *machine) registered(t *rapid.T) (int, *mOwner) {
	i, o := m.session(t)
	if o.handle == "" {
		t.Skip("not registered")
	}
	return i, o
}

// task is a task and somebody who may touch it: its owner, anybody for an
// unowned one, or the operator (-1).
func (m *machine) task(t *rapid.T) (*mTask, registry.Caller, int) {
	task := pick(t, "task", m.tasks)
	as := task.owner
	if as == -2 {
		as = rapid.IntRange(0, len(m.owners)-1).Draw(t, "anybody")
	}
	if as < 0 || m.owners[as].handle == "" || rapid.Bool().Draw(t, "operator") {
		return task, registry.AsOperator(), -1
	}
	return task, registry.AsOwner(m.owners[as].handle), as
}

func (m *machine) drawCancel(t *rapid.T) {
	m.cancel = rapid.SampledFrom([]string{cancelAsks, cancelFails, cancelEnds}).Draw(t, "cancel")
}

func (m *machine) doRegister(t *rapid.T) {
	i, _ := m.session(t)
	host := rapid.IntRange(0, 2).Draw(t, "host")
	takeover := rapid.Bool().Draw(t, "takeover")
	var named []string
	if rapid.Bool().Draw(t, "name leases") {
		for _, task := range m.of(i) {
			if task.notice == registry.Leased {
				named = append(named, task.lease)
			}
		}
	}
	m.register(i, host, takeover, named)
}

func (m *machine) register(i, host int, takeover bool, named []string) {
	o := m.owners[i]
	token := fmt.Sprintf("token-of-owner-%d-%d", i, host)
	_, known := m.r.ByToken(token)
	h, err := m.r.Register(registry.Registration{
		Token: token, Agent: "agent", Session: session(i), Scope: o.scope, Takeover: takeover, Leases: named,
	}, m.hosts[host])
	if o.handle != "" && o.host >= 0 && o.host != host && !takeover && known != nil {
		m.wantKind("register over a live host", err, "unauthorized")
		return
	}
	m.must(err)
	if o.handle != "" && o.handle != h {
		m.t.Fatalf("session %d was %s and is %s", i, o.handle, h)
	}
	m.unlease(i, registry.Waiting, func(task *mTask) bool {
		return task.lender < 0 && !slices.Contains(named, task.lease)
	})
	o.handle, o.host, o.lapsed = h, host, false
}

func (m *machine) doHostGone(t *rapid.T) {
	host := rapid.IntRange(0, 2).Draw(t, "host")
	m.r.HostGone(m.hosts[host])
	m.hostGone(host)
}

func (m *machine) doStart(t *rapid.T) {
	owner := rapid.IntRange(-2, len(m.owners)-1).Draw(t, "owner")
	c, spec := registry.AsOperator(), registry.Spec{Kind: "bash", Label: "x", Stream: true, Producer: "work", Shared: owner == -2}
	if owner >= 0 {
		handle := m.owners[owner].handle
		if handle == "" {
			handle = "o-999"
		}
		c = registry.AsOwner(handle)
	}
	ends, fails := rapid.Bool().Draw(t, "ends at once"), rapid.IntRange(0, 9).Draw(t, "fails") == 0
	refused, boom := m.start(owner), errors.New("boom")
	task := &mTask{owner: owner, status: registry.Running, lender: -1}
	got, err := m.r.Start(context.Background(), c, spec, func(row registry.Row) error {
		if refused != "" {
			t.Fatalf("run though the model says %s", refused)
		}
		if fails {
			return boom
		}
		if ends {
			m.r.Settle(row, registry.Outcome{Status: registry.Completed})
		}
		return nil
	})
	if refused != "" {
		m.wantKind("start", err, refused)
		return
	}
	if fails {
		if !errors.Is(err, boom) {
			t.Fatalf("start: %v", err)
		}
		return
	}
	m.must(err)
	m.count++
	task.id, task.row = got.ID, got.Row
	m.same("id", got.ID, fmt.Sprintf("bash-%d", m.count))
	m.tasks = append(m.tasks, task)
	if ends {
		m.settle(task, registry.Completed, "", 0)
	}
}

func (m *machine) doOutput(t *rapid.T) { pick(t, "task", m.tasks).out++ }

// waiters counts the waits of agents on a task, which its end answers.
func (m *machine) waiters(task *mTask) int {
	n := 0
	for _, w := range m.waits {
		if w.task == task && w.owner >= 0 {
			n++
		}
	}
	return n
}

func (m *machine) doSettle(t *rapid.T) {
	task := pick(t, "task", m.tasks)
	status := rapid.SampledFrom([]registry.Status{registry.Completed, registry.Killed, registry.Failed}).Draw(t, "status")
	m.r.Settle(task.row, registry.Outcome{Status: status, Detail: new("by itself")})
	m.settle(task, status, "by itself", m.waiters(task))
}

func (m *machine) doKill(t *rapid.T) {
	task, c, as := m.task(t)
	m.drawCancel(t)
	already, _, err := m.r.Kill(context.Background(), c, task.id, nil)
	if task.status.Terminal() {
		if !already || err != nil {
			t.Fatalf("kill of an ended task: %v, %v", already, err)
		}
		if as >= 0 && !task.reported {
			task.record()
			task.reported = true
		}
		return
	}
	if already {
		t.Fatal("a live task had already ended")
	}
	if m.cancel == cancelFails {
		m.wantKind("kill", err, "producerFailed")
		return
	}
	m.must(err)
	if as < 0 && !task.asked() {
		task.cause = "killed by the user"
	}
	task.reported = task.reported || as >= 0
	if m.cancel == cancelEnds {
		m.settle(task, registry.Killed, "signal: SIGTERM", m.waiters(task))
		task.record()
		return
	}
	task.record()
	task.status = registry.Stopping
}

func (m *machine) doPrune(t *rapid.T) {
	keep := int64(rapid.IntRange(1, 4).Draw(t, "keep"))
	_, _, err := m.r.Prune(registry.Retention{Tasks: keep, Lost: modelLost})
	m.must(err)
	ended := int64(0)
	for _, task := range m.tasks {
		if task.status.Terminal() {
			ended++
		}
	}
	left := idsOf(m.r.List(registry.AsOperator(), true))
	m.remove(func(task *mTask) bool {
		if slices.Contains(left, task.id) {
			return false
		}
		ended--
		protected := task.claims > 0 || task.reading != [2]bool{}
		if task.owner >= 0 {
			o := m.owners[task.owner]
			told := task.reported || task.notice == registry.Acked
			protected = protected || !told && (o.host >= 0 || m.now().Sub(o.lostAt) <= modelLost)
		}
		if !task.status.Terminal() || protected || ended < keep {
			t.Fatalf("pruned %+v; %d ended left, %d to keep", task, ended, keep)
		}
		return true
	})
	for i, o := range m.owners {
		if o.handle == "" || o.host >= 0 || len(m.of(i)) > 0 {
			continue
		}
		if _, there := m.r.Owner(o.handle); !there {
			m.owners[i] = &mOwner{scope: o.scope, host: -1}
		}
	}
}

func (m *machine) doRestart(*rapid.T) {
	m.close()
	m.restart()
	m.open()
}
