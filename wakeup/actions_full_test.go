package wakeup

import (
	"context"
	"errors"
	"slices"

	"pgregory.net/rapid"

	"sidetask/registry"
)

// doFull is one call while the store refuses everything: it says so, and
// nothing has changed, so the model is not touched. But a receipt counts as not
// delivered, and a kill counts, for its work is asked to end.
func (m *machine) doFull(t *rapid.T) {
	disk, ok := m.store.(*memory)
	if !ok {
		t.Skip("only the memory can be filled")
	}
	disk.refuse = true
	defer func() { disk.refuse = false }()
	var err error
	switch rapid.SampledFrom([]string{"start", "kill", "claim", "lease", "register", "receipt"}).Draw(t, "call") {
	case "start":
		i, o := m.registered(t)
		if m.start(i) != "" {
			t.Skip("refused anyway")
		}
		_, err = m.r.Start(context.Background(), registry.AsOwner(o.handle), registry.Spec{Kind: "bash", Label: "x", Producer: "work"}, func(registry.Row) error {
			t.Fatal("run, though its row could not be recorded")
			return nil
		})
	case "kill":
		m.fullKill(t)
		return
	case "claim":
		i, o := m.registered(t)
		if m.refusal(i, registry.ClaimUser) != "" {
			t.Skip("nothing to take")
		}
		_, err = m.w.Claim(o.handle, registry.ClaimUser, true, m.hosts[0])
	case "lease":
		var leased []*mTask
		for _, task := range m.tasks {
			if task.notice == registry.Leased {
				leased = append(leased, task)
			}
		}
		task := pick(t, "leased", leased)
		err = m.r.Ack(m.owners[task.owner].handle, task.lease)
	case "register":
		i, o := m.registered(t)
		if o.host >= 0 {
			t.Skip("has a host")
		}
		_, err = m.r.Register(registry.Registration{Token: "token-of-the-full", Agent: "agent", Session: session(i), Scope: o.scope}, m.hosts[0])
	case "receipt":
		m.undelivered(t)
		return
	}
	if !errors.Is(err, errFull) {
		t.Fatalf("on a full disk: %v", err)
	}
}

// undelivered makes a receipt that says delivered but cannot be recorded.
func (m *machine) undelivered(t *rapid.T) {
	rcpt := pick(t, "receipt", m.receipts)
	m.receipts = slices.DeleteFunc(m.receipts, func(o receipt) bool { return o.Receipt == rcpt.Receipt })
	rcpt.Delivered()
	if !slices.Contains(m.tasks, rcpt.task) {
		return
	}
	if rcpt.reader >= 0 {
		rcpt.task.reading[rcpt.reader] = false
	}
	if rcpt.reports {
		m.unclaim(rcpt.task)
	}
}

// fullKill is a kill that is recorded later.
func (m *machine) fullKill(t *rapid.T) {
	task, c, as := m.task(t)
	m.cancel = cancelAsks
	_, _, err := m.r.Kill(context.Background(), c, task.id, nil)
	m.must(err)
	ended := task.status.Terminal()
	switch {
	case as >= 0 && !task.lateAgent && !(ended && task.reported):
		task.lateAgent = true
		task.claims++
	case as < 0 && !task.asked():
		task.lateUser = true
	}
}
