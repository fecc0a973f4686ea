package wakeup

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sidetask/config"
	"sidetask/registry"
	"sidetask/scope"
)

// The model says in the plainest way what BEHAVIOUR asks: no lock, no index,
// no store. The machine compares it with the registry after every step.

const (
	modelLimit = 3
	modelLost  = 5 * time.Minute // retention
	modelGrace = 10 * time.Minute
)

// mOwner is a session of the model.
type mOwner struct {
	handle registry.Handle // "" = not registered
	scope  scope.Path
	host   int // -1 = none
	lostAt time.Time
	awayAt time.Time
	lapsed bool
	spent  int64
}

// mTask is a task of the model. owner -1 is the operator, -2 nobody.
type mTask struct {
	id                  string
	row                 registry.Row
	owner               int
	status              registry.Status
	detail              string
	reported            bool // for good
	claims              int  // receipts that are open
	notice              registry.Notice
	lease               string
	lender              int // host that holds the lease as a guest; -1 = the owner's host
	endStep             int
	rounds              int
	out                 int
	cursor              [2]int // owner, operator
	reading             [2]bool
	cause               string
	lateAgent, lateUser bool // kills that the full disk refused to record
}

// asked reports whether somebody has asked the task to stop.
func (t *mTask) asked() bool {
	return t.lateAgent || t.lateUser || t.status != registry.Running
}

// shown is the status as callers see it.
func (t *mTask) shown() registry.Status {
	if t.status == registry.Running && t.asked() {
		return registry.Stopping
	}
	return t.status
}

// record writes down the kills that were refused.
func (t *mTask) record() {
	if !t.lateAgent && !t.lateUser {
		return
	}
	if t.lateAgent {
		t.reported = true
		t.claims--
	}
	if !t.status.Terminal() {
		if t.lateUser {
			t.cause = "killed by the user"
		}
		t.status = registry.Stopping
	}
	t.lateAgent, t.lateUser = false, false
}

func (t *mTask) due() bool {
	return t.owner >= 0 && t.status.Terminal() && !t.reported && t.claims == 0 &&
		(t.notice == registry.Waiting || t.notice == registry.Parked)
}

// model is the whole state.
type model struct {
	step   int
	now    func() time.Time
	owners []*mOwner
	tasks  []*mTask
	count  int // ids given
	mounts map[scope.Path]config.Mount
	rang   map[string]bool // bells of this step: "o-1 wake"
}

func (m *model) mount(at scope.Path) (config.Mount, bool) {
	for _, p := range at.Chain() {
		if mount, ok := m.mounts[p]; ok {
			return mount, mount.Enabled
		}
	}
	return config.Mount{}, false
}

func (m *model) of(owner int) []*mTask {
	var own []*mTask
	for _, t := range m.tasks {
		if t.owner == owner {
			own = append(own, t)
		}
	}
	return own
}

func (m *model) waiting(owner int) (waiting, parked int) {
	for _, t := range m.of(owner) {
		if t.due() && t.notice == registry.Waiting {
			waiting++
		} else if t.due() {
			parked++
		}
	}
	return waiting, parked
}

// ring notes who must hear the bell: the host of a served owner with waiting
// notices, in the lane of T162.
func (m *model) ring(owner int) {
	if owner < 0 {
		return
	}
	o := m.owners[owner]
	mount, served := m.mount(o.scope)
	if waiting, _ := m.waiting(owner); waiting == 0 || o.host < 0 || !served {
		return
	}
	lane := "inject"
	if mount.CompletionDelivery == config.Wakeup && o.spent < mount.MaxConsecutiveWakes {
		lane = "wake"
	}
	m.rang[string(o.handle)+" "+lane] = true
}

// start says why a start is refused, "" for one that is not (T8).
func (m *model) start(owner int) string {
	at, live := scope.Root, 0
	if owner >= 0 {
		at = m.owners[owner].scope
	}
	for _, t := range m.of(owner) {
		if !t.status.Terminal() {
			live++
		}
	}
	_, served := m.mount(at)
	switch {
	case owner >= 0 && m.owners[owner].handle == "":
		return "ownerGone"
	case owner != -1 && !served:
		return "noController"
	case owner >= 0 && m.owners[owner].host < 0:
		return "ownerGone"
	case owner != -1 && live >= modelLimit:
		return "limitReached"
	}
	return ""
}

// settle ends a task (T59, T60). waits is how many waits of agents it answers.
func (m *model) settle(t *mTask, status registry.Status, detail string, waits int) {
	if t.status.Terminal() {
		return
	}
	if t.lateUser && t.status == registry.Running {
		t.cause = "killed by the user"
	}
	t.status, t.detail, t.endStep = status, detail, m.step
	if status == registry.Killed && t.cause != "" {
		t.detail = t.cause
	}
	if t.owner >= 0 {
		t.notice = registry.Waiting
	}
	t.claims += waits
	t.rounds++
	if t.due() {
		m.ring(t.owner)
	}
}

// unclaim ends a receipt that was not delivered.
func (m *model) unclaim(t *mTask) {
	t.claims--
	if t.due() {
		m.ring(t.owner)
	}
}

// refusal says why a claim gets nothing.
func (m *model) refusal(owner int, reason string) string {
	o := m.owners[owner]
	mount, served := m.mount(o.scope)
	waiting, parked := m.waiting(owner)
	switch {
	case !served || waiting+parked == 0:
		return registry.RefusedEmpty
	case reason != registry.ClaimWake:
		return ""
	case mount.CompletionDelivery == config.Quiet:
		return registry.RefusedQuiet
	case waiting == 0:
		return registry.RefusedEmpty
	case o.spent >= mount.MaxConsecutiveWakes:
		return registry.RefusedBudget
	}
	return ""
}

// unlease moves the notices on that which says; true if there were any.
func (m *model) unlease(owner int, to registry.Notice, which func(*mTask) bool) bool {
	any := false
	for _, t := range m.of(owner) {
		if t.notice == registry.Leased && which(t) {
			t.notice, t.lease, t.lender = to, "", -1
			any = true
		}
	}
	return any
}

// hostGone: its owners are lost, what it held as a guest comes back.
func (m *model) hostGone(host int) {
	for _, o := range m.owners {
		if o.handle != "" && o.host == host {
			o.host, o.lostAt, o.awayAt = -1, m.now(), m.now()
		}
	}
	for i := range m.owners {
		if m.unlease(i, registry.Waiting, func(t *mTask) bool { return t.lender == host }) {
			m.ring(i)
		}
	}
}

// restart: receipts, guests and hosts are gone; the grace goes on.
func (m *model) restart() {
	for _, t := range m.tasks {
		t.record()
		t.claims, t.reading, t.lender, t.rounds = 0, [2]bool{}, -1, min(t.rounds, 1)
	}
	for _, o := range m.owners {
		if o.host >= 0 {
			o.lostAt = m.now()
		}
		gone := min(m.now().Sub(o.lostAt), modelGrace-time.Minute)
		o.host, o.lostAt, o.awayAt, o.lapsed = -1, m.now().Add(-gone), m.now(), false
	}
}

// remove drops tasks.
func (m *model) remove(which func(*mTask) bool) {
	m.tasks = slices.DeleteFunc(m.tasks, which)
}

// line is a task as the machine compares it.
func line(id string, status registry.Status, detail string, owner registry.Handle, reported bool) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %q owner=%s reported=%v", id, status, detail, owner, reported))
}

func (m *model) handle(owner int) registry.Handle {
	switch owner {
	case -1:
		return registry.OperatorHandle
	case -2:
		return registry.Nobody
	}
	return m.owners[owner].handle
}

func (m *model) lines() []string {
	lines := []string{}
	for _, t := range m.tasks {
		lines = append(lines, line(t.id, t.shown(), t.detail, m.handle(t.owner), t.reported || t.lateAgent || t.status.Terminal() && t.claims > 0))
	}
	return lines
}
