package registry

import "sync"

// Receipt is what becomes final when an answer has been delivered
// (ARCHITECTURE, decision 10). Exactly one of the two counts, the first; both
// are safe on nil. Whoever gets one must call one: until then the notice of
// the task is in no claim, and further consuming reads of it wait.
type Receipt struct {
	once sync.Once
	done func(delivered bool)
}

// Delivered makes report and cursor final.
func (r *Receipt) Delivered() { r.finish(true) }

// Failed takes them back: the bytes come again, and the bell rings.
func (r *Receipt) Failed() { r.finish(false) }

func (r *Receipt) finish(delivered bool) {
	if r != nil {
		r.once.Do(func() { r.done(delivered) })
	}
}

// claimLocked commits the caller to tell of the end.
func (r *Registry) claimLocked(rec *record) {
	rec.claims++
	r.indexNoticeLocked(rec)
}

// unclaimLocked takes that back; a notice that waits again rings.
func (r *Registry) unclaimLocked(rec *record) {
	rec.claims--
	if rec.gone {
		return
	}
	r.indexNoticeLocked(rec)
	if rec.dueLocked() {
		r.ringLocked(rec.owner)
	}
}

// reportLocked ends a claim: the owner has been told. next is the record with
// whatever else becomes final.
func (r *Registry) reportLocked(rec *record, next Record) {
	next.Reported = true
	t := r.transitionLocked()
	t.put(rec, next)
	if err := t.commit(); err != nil {
		r.log.Error("a report could not be recorded; it will be given again", "task", rec.ID, "error", err)
	}
	r.unclaimLocked(rec)
}

// reportReceipt is the receipt of an answer that tells of the end. The claim
// is held already.
func (r *Registry) reportReceipt(rec *record) *Receipt {
	return &Receipt{done: func(delivered bool) {
		r.mu.Lock()
		defer r.unlock()
		if delivered && !rec.gone && !rec.Reported && r.phase != closed {
			r.reportLocked(rec, rec.Record)
			return
		}
		r.unclaimLocked(rec)
	}}
}
