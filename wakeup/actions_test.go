package wakeup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sidetask/config"
	"sidetask/registry"
	"sidetask/scope"
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
	token := fmt.Sprintf("token-%d-%d", i, host)
	_, known := m.r.ByToken(token)
	h, err := m.r.Register(registry.Registration{
		Token: token, Agent: "agent", Session: fmt.Sprint(i), Scope: o.scope, Takeover: takeover, Leases: named,
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
		task.reported = task.reported || as >= 0
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
	if as < 0 && task.status == registry.Running {
		task.cause = "killed by the user"
	}
	task.reported = task.reported || as >= 0
	if m.cancel == cancelEnds {
		m.settle(task, registry.Killed, "signal: SIGTERM", m.waiters(task))
		return
	}
	task.status = registry.Stopping
}

func (m *machine) doRead(t *rapid.T) {
	task, c, as := m.task(t)
	reader := 0
	if as < 0 {
		reader = 1
	}
	if task.reading[reader] { // would wait: give it up at once
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, _, _, err := m.r.Read(ctx, c, task.id, nil, false)
		m.wantKind("a second read", err, "aborted")
		return
	}
	reading, got, rcpt, err := m.r.Read(context.Background(), c, task.id, nil, false)
	m.must(err)
	m.same("text", len(reading.Text), task.out-task.cursor[reader])
	reports := as >= 0 && task.status.Terminal()
	task.reading[reader] = true
	if reports {
		task.claims++
		if !got.Reported {
			t.Fatal("the snapshot of a terminal read is not reported")
		}
	}
	m.receipts = append(m.receipts, receipt{rcpt, task, reader, task.out, reports})
}

func (m *machine) doWait(t *rapid.T) {
	task, c, as := m.task(t)
	ctx, cancel := context.WithCancel(context.Background())
	w := &wait{task: task, owner: as, cancel: cancel, until: m.now().Add(30 * time.Second), done: make(chan answer, 1)}
	ended, r := task.status.Terminal(), m.r
	if ended && as >= 0 {
		task.claims++
	}
	go func() {
		got, rcpt, err := r.Wait(ctx, c, task.id, 30_000)
		w.done <- answer{got, rcpt, err}
	}()
	m.waits = append(m.waits, w)
	if ended {
		m.collect(w, "")
	}
}

// collect takes the answer of a wait that is over.
func (m *machine) collect(w *wait, kind string) {
	a := <-w.done
	w.cancel()
	m.waits = slices.DeleteFunc(m.waits, func(o *wait) bool { return o == w })
	m.wantKind("wait", a.err, kind)
	if a.receipt != nil {
		m.receipts = append(m.receipts, receipt{a.receipt, w.task, -1, 0, true})
	}
}

// answers collects the waits whose task has ended or whose time is over.
func (m *machine) answers() {
	for _, w := range slices.Clone(m.waits) {
		ended := w.task.status.Terminal()
		if !ended && m.now().Before(w.until) {
			if len(w.done) > 0 {
				m.t.Fatalf("a wait for %s ended by itself", w.task.id)
			}
			continue
		}
		a := <-w.done
		if a.err != nil || a.task.Status.Terminal() != ended && a.task.Status.Terminal() || (a.receipt != nil) != (a.task.Status.Terminal() && w.owner >= 0) {
			m.t.Fatalf("a wait for %s gave %+v", w.task.id, a)
		}
		w.done <- a
		m.collect(w, "")
	}
}

func (m *machine) doAbort(t *rapid.T) {
	if rapid.Bool().Draw(t, "one") {
		w := pick(t, "wait", m.waits)
		w.cancel()
		m.collect(w, "aborted")
		return
	}
	i, o := m.registered(t)
	m.r.AbortWaits(o.handle)
	for _, w := range slices.Clone(m.waits) {
		if w.owner == i {
			m.collect(w, "aborted")
		}
	}
}

func (m *machine) doReceipt(t *rapid.T) {
	rcpt := pick(t, "receipt", m.receipts)
	m.receipts = slices.DeleteFunc(m.receipts, func(o receipt) bool { return o.Receipt == rcpt.Receipt })
	delivered := rapid.Bool().Draw(t, "delivered")
	if delivered {
		rcpt.Delivered()
	} else {
		rcpt.Failed()
	}
	task := rcpt.task
	if !slices.Contains(m.tasks, task) {
		return
	}
	if rcpt.reader >= 0 {
		task.reading[rcpt.reader] = false
		if delivered {
			task.cursor[rcpt.reader] = rcpt.next
		}
	}
	if rcpt.reports {
		task.reported = task.reported || delivered
		m.unclaim(task)
	}
}

func (m *machine) doClaim(t *rapid.T) {
	i, o := m.registered(t)
	reason := rapid.SampledFrom([]string{registry.ClaimWake, registry.ClaimTurnEnd, registry.ClaimUser}).Draw(t, "reason")
	take := rapid.IntRange(0, 4).Draw(t, "take") > 0
	by := o.host
	if by < 0 || rapid.IntRange(0, 4).Draw(t, "guest") == 0 {
		by = rapid.IntRange(0, 2).Draw(t, "by")
	}
	refused := m.refusal(i, reason)
	c, err := m.w.Claim(o.handle, reason, take, m.hosts[by])
	m.must(err)
	m.same("refusal", c.Refused, refused)
	if reason == registry.ClaimUser {
		o.spent = 0
	}
	var want []string
	if refused == "" && take {
		for _, task := range m.of(i) {
			if task.due() {
				want = append(want, task.id)
				task.notice, task.lease, task.lender = registry.Leased, c.Lease, -1
				if by != o.host {
					task.lender = by
				}
			}
		}
		if reason == registry.ClaimWake {
			o.spent++
		}
	}
	got := idsOf(c.Tasks)
	slices.Sort(got)
	slices.Sort(want)
	m.same("claim", got, want)
}

func (m *machine) doLease(t *rapid.T) {
	i, o := m.registered(t)
	var leases []string
	for _, task := range m.of(i) {
		if task.notice == registry.Leased {
			leases = append(leases, task.lease)
		}
	}
	lease := pick(t, "lease", append(leases, "none"))
	mine := func(task *mTask) bool { return task.lease == lease }
	switch rapid.SampledFrom([]string{"ack", "release", "park"}).Draw(t, "how") {
	case "ack":
		m.must(m.r.Ack(o.handle, lease))
		m.unlease(i, registry.Acked, mine)
	case "release":
		m.must(m.r.Release(o.handle, lease, false))
		if m.unlease(i, registry.Waiting, mine) {
			m.ring(i)
		}
	case "park":
		m.must(m.r.Release(o.handle, lease, true))
		m.unlease(i, registry.Parked, mine)
	}
}

func (m *machine) doMount(t *rapid.T) {
	at := rapid.SampledFrom([]scope.Path{"/", "/review", "/review/strict"}).Draw(t, "at")
	switch delivery := rapid.SampledFrom([]string{"none", "", config.Wakeup, config.Wakeup, config.Quiet}).Draw(t, "delivery"); delivery {
	case "none":
		delete(m.mounts, at)
	default:
		m.setMount(at, delivery, int64(rapid.IntRange(1, 3).Draw(t, "wakes")))
	}
	m.w.Reconsider()
	for i := range m.owners {
		m.ring(i)
	}
}

// doTime lets time pass: waits end, suspended leases come back, the grace of
// lost hosts ends.
func (m *machine) doTime(t *rapid.T) {
	m.drawCancel(t)
	m.r.Counts() // the timer's goroutine takes the same lock after this, and so may see what this one has written
	time.Sleep(rapid.SampledFrom([]time.Duration{time.Second, 61 * time.Second, 9 * time.Hour}).Draw(t, "time"))
	synctest.Wait()
	m.answers()
	for i, o := range m.owners {
		if o.handle == "" || o.host >= 0 {
			continue
		}
		if !m.now().Before(o.awayAt.Add(time.Minute)) {
			m.unlease(i, registry.Waiting, func(task *mTask) bool { return task.lender < 0 })
		}
		if o.lapsed || m.now().Before(o.lostAt.Add(modelGrace)) {
			continue
		}
		o.lapsed = true
		for _, task := range m.of(i) {
			if !task.status.Terminal() {
				m.teardown(task, "owner lost", "owner lost")
			}
		}
	}
}

// teardown is T72 to T76 for one task.
func (m *machine) teardown(task *mTask, reason, cause string) {
	if task.status == registry.Running && task.cause == "" {
		task.cause = cause
	}
	switch m.cancel {
	case cancelAsks:
		task.status = registry.Stopping
	case cancelEnds:
		m.settle(task, registry.Killed, "signal: SIGTERM", m.waiters(task))
	case cancelFails:
		m.settle(task, registry.Failed, "cancel threw during teardown; work may be orphaned: cannot", m.waiters(task))
	}
}

func (m *machine) doDispose(t *rapid.T) {
	i, o := m.registered(t)
	m.drawCancel(t)
	if m.cancel == cancelAsks { // nobody would settle: it takes stopGraceMs and 2 s
		m.cancel = cancelEnds
	}
	_, err := m.r.Dispose(context.Background(), o.handle, "")
	m.must(err)
	for _, task := range m.of(i) {
		if !task.status.Terminal() {
			task.reported = true
			m.teardown(task, "owner disposed", "")
			m.rounds[task.id]-- // nobody asks for it any more
		}
	}
	m.answers()
	for _, w := range slices.Clone(m.waits) {
		if w.owner == i {
			m.collect(w, "aborted")
		}
	}
	m.remove(func(task *mTask) bool { return task.owner == i })
	m.owners[i] = &mOwner{scope: o.scope, host: -1}
	clear(m.rang)
}

func (m *machine) doPrune(t *rapid.T) {
	keep := int64(rapid.IntRange(1, 4).Draw(t, "keep"))
	_, _, err := m.r.Prune(registry.Retention{Tasks: keep, Lost: time.Hour})
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
			protected = protected || !told && (o.host >= 0 || m.now().Sub(o.lostAt) <= time.Hour)
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
