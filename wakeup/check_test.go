package wakeup

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sidetask/registry"
)

// check compares everything that can be seen.
func (m *machine) check(*rapid.T) {
	synctest.Wait()
	m.answers()
	r := m.r
	var lines []string
	for _, t := range r.List(registry.AsOperator(), true) {
		m.invariants(t)
		lines = append(lines, line(t.ID, t.Status, detail(t), t.Owner, t.Reported))
	}
	m.same("tasks", append([]string{}, lines...), m.lines())
	for i, o := range m.owners {
		if o.handle == "" {
			continue
		}
		m.checkOwner(i, o)
	}
	for _, t := range m.tasks {
		if m.rounds[t.id] != t.rounds {
			m.t.Fatalf("%s: %d rounds of completion, the model says %d", t.id, m.rounds[t.id], t.rounds)
		}
	}
	m.bells()
	m.follow()
	m.step++
}

func (m *machine) same(what string, got, want any) {
	m.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		m.t.Fatalf("step %d: %s (-model +registry):\n%s", m.step, what, diff)
	}
}

func detail(t registry.Task) string {
	if t.Detail == nil {
		return ""
	}
	return *t.Detail
}

// invariants are T104.
func (m *machine) invariants(t registry.Task) {
	n, err := strconv.ParseInt(strings.TrimPrefix(t.ID, t.Kind+"-"), 10, 64)
	if err != nil || n < 1 || t.Kind == "" || t.Label == "" || t.StartedAt < 0 ||
		(t.FinishedAt != 0) != t.Status.Terminal() || t.FinishedAt != 0 && t.FinishedAt < t.StartedAt {
		m.t.Fatalf("invariants: %+v", t)
	}
}

func (m *machine) checkOwner(i int, o *mOwner) {
	var own, all, due []string
	ends := map[string]int{}
	for _, t := range m.tasks {
		if t.owner != i && t.owner != -2 {
			continue
		}
		all = append(all, t.id)
		if !t.status.Terminal() {
			own = append(own, t.id)
		}
		if t.due() && t.owner == i {
			due = append(due, t.id)
			ends[t.id] = t.endStep
		}
	}
	c := registry.AsOwner(o.handle)
	m.same("live tasks of an owner", idsOf(m.r.List(c, false)), own)
	m.same("tasks of an owner", idsOf(m.r.List(c, true)), all)
	inbox := idsOf(m.r.Inbox(o.handle))
	if !slices.IsSortedFunc(inbox, func(a, b string) int { return ends[a] - ends[b] }) {
		m.t.Fatalf("inbox %q is not in the order of the ends", inbox)
	}
	slices.Sort(inbox)
	slices.Sort(due)
	m.same("inbox", inbox, due)
	got, _ := m.r.Owner(o.handle)
	waiting, parked := m.waiting(i)
	m.same("owner", []any{got.Spent, got.Host != nil, got.Waiting, got.Parked, m.w.Budget(o.handle)},
		[]any{o.spent, o.host >= 0, waiting, parked, m.budget(o)})
}

func (m *machine) budget(o *mOwner) int64 {
	mount, served := m.mount(o.scope)
	if !served {
		return 0
	}
	return max(0, mount.MaxConsecutiveWakes-o.spent)
}

func idsOf(tasks []registry.Task) []string {
	var list []string
	for _, t := range tasks {
		list = append(list, t.ID)
	}
	return list
}

// bells compares who was rung in which lane.
func (m *machine) bells() {
	heard := map[string]bool{}
	for i, h := range m.hosts {
		for _, bell := range h.heard() {
			f := strings.Fields(bell)
			heard[f[0]+" "+f[2]] = true
			if o := slices.IndexFunc(m.owners, func(o *mOwner) bool { return string(o.handle) == f[0] }); o < 0 || m.owners[o].host != i {
				m.t.Fatalf("host %d was rung for %s", i, f[0])
			}
		}
	}
	m.same("bells", slices.Sorted(maps.Keys(heard)), slices.Sorted(maps.Keys(m.rang)))
	clear(m.rang)
}

// follow reads the log: no number twice, and in the end it tells what is.
func (m *machine) follow() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	for {
		e, err := m.sub.Next(ctx)
		if err != nil {
			break
		}
		if e.Seq <= m.last {
			m.t.Fatalf("number %d after %d", e.Seq, m.last)
		}
		m.last = e.Seq
		if e.Removed {
			delete(m.seen, e.Task.ID)
		} else {
			m.seen[e.Task.ID] = e.Task.Status
		}
	}
	want := map[string]registry.Status{}
	for _, t := range m.tasks {
		want[t.id] = t.status
	}
	m.same("what the log tells", m.seen, want)
}
