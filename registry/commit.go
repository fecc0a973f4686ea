package registry

import (
	"log/slog"
	"slices"
)

// keptLog is how many changes are kept for observers who come back; trimStep
// how many more may pile up before the oldest are dropped together.
const (
	keptLog  = 100_000
	trimStep = 10_000
)

// transition is one change of the state, put together under the lock: first
// the whole of it goes to the store, and only then, and only if that worked,
// to memory.
type transition struct {
	r      *Registry
	change Change
	apply  []func() // in order, after the commit
}

// transitionLocked begins a transition. r.mu must be held until its commit.
func (r *Registry) transitionLocked() *transition { return &transition{r: r} }

// put replaces what is kept of a record.
func (t *transition) put(rec *record, next Record) {
	t.change.Tasks = append(t.change.Tasks, next)
	t.apply = append(t.apply, func() {
		rec.Record = next
		t.r.indexLocked(rec)
	})
}

// moveCursors replaces only how far the task of a record has been read.
func (t *transition) moveCursors(rec *record, cursor, opCursor int64) {
	t.change.Cursors = append(t.change.Cursors, Cursors{Row: rec.row, Cursor: cursor, OpCursor: opCursor})
	t.then(func() { rec.Cursor, rec.OpCursor = cursor, opCursor })
}

// drop takes a record away; one with an id is announced to observers.
func (t *transition) drop(rec *record) {
	t.change.DropTasks = append(t.change.DropTasks, rec.row)
	if rec.ID != "" {
		t.log(LogEntry{Row: rec.row, Removed: &Removed{ID: rec.ID, Owner: rec.Owner, Scope: rec.Scope}})
	}
	t.apply = append(t.apply, func() { t.r.forgetLocked(rec) })
}

// putOwner replaces what is kept of an owner.
func (t *transition) putOwner(o *owner, next OwnerRecord) {
	t.change.Owners = append(t.change.Owners, next)
	t.apply = append(t.apply, func() { o.OwnerRecord = next })
}

// announce gives the change of a record its number in the log.
func (t *transition) announce(next *Record) {
	t.log(LogEntry{Row: next.Row, Status: next.Status, Detail: next.Detail, FinishedAt: next.FinishedAt})
}

// log appends an entry; the next free number is its Seq.
func (t *transition) log(e LogEntry) {
	e.Seq = t.nextSeq()
	t.change.Log = append(t.change.Log, e)
}

// nextSeq is the number that the next entry will get.
func (t *transition) nextSeq() int64 { return t.r.seq + int64(len(t.change.Log)) + 1 }

// then runs in memory after the commit.
func (t *transition) then(f func()) { t.apply = append(t.apply, f) }

// commit writes the transition and applies it. A failed one changes nothing.
func (t *transition) commit() error {
	r := t.r
	if r.phase == closed {
		return ErrShuttingDown
	}
	t.change.DropTasks = append(t.change.DropTasks, r.orphans...)
	trim := r.changes.trim(len(t.change.Log))
	t.change.TrimLog = trim
	r.trouble = r.store.Commit(t.change)
	if r.trouble != nil {
		r.failures++
		return r.trouble
	}
	r.failures = 0
	r.orphans = nil
	for kind, n := range t.change.Counters {
		r.counters[kind] = n
	}
	r.nextRow = max(r.nextRow, t.change.NextRow)
	r.nextOwner = max(r.nextOwner, t.change.NextOwner)
	for _, f := range t.apply {
		f()
	}
	if n := len(t.change.Log); n > 0 {
		r.seq = t.change.Log[n-1].Seq
		r.changes.append(t.change.Log, trim)
	}
	return nil
}

// refusedLocked logs what must be tried again, once for a whole spell of
// failures.
func (r *Registry) refusedLocked(message string, rec *record, err error) {
	level := slog.LevelError
	if r.failures > 1 {
		level = slog.LevelDebug
	}
	r.log.Log(r.life, level, message, "task", rec.ID, "error", err)
}

// changeLog is the kept end of the numbered log.
type changeLog struct {
	entries []LogEntry // ascending, no gaps
	last    int64      // Seq of the newest, also when there is none
	grown   chan struct{}
	readers int // subscriptions that are open

	// gone are the tasks that went last, so that a subscriber that is only a
	// little behind still hears how they ended.
	gone  map[Row]Task
	order []Row // of gone, oldest first
}

// keptGone bounds changeLog.gone.
const keptGone = 1_000

// bury keeps a task that goes.
func (l *changeLog) bury(t Task) {
	if len(l.order) >= keptGone {
		delete(l.gone, l.order[0])
		l.order = slices.Delete(l.order, 0, 1)
	}
	l.gone[t.Row] = t
	l.order = append(l.order, t.Row)
}

func (l *changeLog) restore(entries []LogEntry, last int64) {
	l.entries, l.last, l.grown, l.gone = slices.Clone(entries), last, make(chan struct{}), make(map[Row]Task)
}

// first is the Seq of the oldest entry.
func (l *changeLog) first() int64 { return l.last - int64(len(l.entries)) + 1 }

// trim says before which Seq entries go when more are added; 0 = none.
func (l *changeLog) trim(more int) int64 {
	if len(l.entries)+more <= keptLog+trimStep {
		return 0
	}
	return l.last + int64(more) - keptLog + 1
}

func (l *changeLog) append(more []LogEntry, trim int64) {
	if trim > 0 {
		// A copy: the old array would keep everything alive that was trimmed.
		l.entries = slices.Clone(l.entries[min(trim-l.first(), int64(len(l.entries))):])
	}
	l.entries = append(l.entries, more...)
	l.last = more[len(more)-1].Seq
	if l.readers > 0 {
		close(l.grown)
		l.grown = make(chan struct{})
	}
}
