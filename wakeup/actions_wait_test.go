package wakeup

import (
	"context"
	"slices"
	"time"

	"pgregory.net/rapid"
)

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
