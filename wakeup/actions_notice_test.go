package wakeup

import (
	"context"
	"slices"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sidetask/config"
	"sidetask/registry"
	"sidetask/scope"
)

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
	time.Sleep(rapid.SampledFrom([]time.Duration{time.Second, 61 * time.Second, modelGrace + time.Minute}).Draw(t, "time"))
	synctest.Wait()
	for _, task := range m.tasks {
		task.record() // the registry tries again each second
	}
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
	for _, w := range slices.Clone(m.waits) {
		if w.owner == i && !w.task.status.Terminal() { // an unowned task
			m.collect(w, "aborted")
		}
	}
	m.answers()
	m.remove(func(task *mTask) bool { return task.owner == i })
	m.owners[i] = &mOwner{scope: o.scope, host: -1}
	clear(m.rang)
}
