package registry

import "context"

// readers of a record: its owner (whoever that is), and the operator.
const (
	byOwner = iota
	byOperator
)

// readerOf is whose cursor a caller's read moves.
func readerOf(c Caller) int {
	if _, agent := c.Owner(); agent {
		return byOwner
	}
	return byOperator
}

// cursorLocked is where the caller's next read begins.
func (rec *record) cursorLocked(c Caller) int64 {
	if readerOf(c) == byOwner {
		return rec.Cursor
	}
	return rec.OpCursor
}

// Read gives the output since the last read, or all of it with fromStart (T31
// to T36). keep says for a snapshot how many bytes the caller can use at most;
// nil = all. Cursor and report become final with the receipt; until then a
// second read of the same cursor waits.
func (r *Registry) Read(ctx context.Context, c Caller, id string, keep func(Task) int64, fromStart bool) (Reading, Task, *Receipt, error) {
	r.mu.Lock()
	rec, err := r.readTurnLocked(ctx, c, id)
	if err != nil {
		r.unlock()
		return Reading{}, Task{}, nil, err
	}
	_, agent := c.Owner()
	ended := rec.Status.Terminal()
	reports := agent && ended
	if reports {
		r.claimLocked(rec)
	}
	snapshot := rec.snapshotLocked()
	req := ReadRequest{From: rec.cursorLocked(c), Ended: ended}
	if fromStart {
		req.From = 0
	}
	p := r.producerLocked(rec.Producer)
	r.unlock()

	if keep != nil {
		req.Keep = keep(snapshot)
	}
	reading, err := p.Read(rec.row, req)
	if err != nil { // T34
		r.finishRead(rec, c, reading.Next, reports, false)
		return Reading{}, Task{}, nil, producerFailed(err)
	}
	receipt := &Receipt{done: func(delivered bool) { r.finishRead(rec, c, reading.Next, reports, delivered) }}
	return reading, snapshot, receipt, nil
}

// readTurnLocked takes the caller's turn to read: it gives the lock up while
// the receipt of the read before is open.
func (r *Registry) readTurnLocked(ctx context.Context, c Caller, id string) (*record, error) {
	for {
		rec, err := r.findLocked(c, id)
		if err != nil {
			return nil, err
		}
		busy := rec.readers[readerOf(c)]
		if busy == nil {
			rec.readers[readerOf(c)] = make(chan struct{})
			return rec, nil
		}
		if r.phase != open {
			return nil, ErrShuttingDown
		}
		abort := r.abortOfLocked(c)
		r.unlock()
		select {
		case <-busy:
			r.mu.Lock()
		case <-ctx.Done():
			r.mu.Lock()
			return nil, ErrWaitAborted
		case <-abort:
			r.mu.Lock()
			return nil, ErrWaitAborted
		}
	}
}

// abortOfLocked is closed when the waits of a caller are aborted.
func (r *Registry) abortOfLocked(c Caller) <-chan struct{} {
	h, agent := c.Owner()
	if !agent {
		h = OperatorHandle
	}
	if o, err := r.ownerLocked(h); err == nil {
		return o.abortedLocked()
	}
	return r.life.Done()
}

// finishRead gives the turn on, and makes cursor and report final where the
// answer was delivered.
func (r *Registry) finishRead(rec *record, c Caller, cursor int64, reports, delivered bool) {
	r.mu.Lock()
	defer r.unlock()
	signal(&rec.readers[readerOf(c)])
	if rec.gone || r.phase == closed {
		return
	}
	next := rec.Record
	if readerOf(c) == byOwner {
		next.Cursor = cursor
	} else {
		next.OpCursor = cursor
	}
	switch {
	case !delivered && reports:
		r.unclaimLocked(rec)
	case !delivered:
	case reports:
		r.reportLocked(rec, next)
	case next.Cursor != rec.Cursor || next.OpCursor != rec.OpCursor:
		t := r.transitionLocked()
		t.moveCursors(rec, next.Cursor, next.OpCursor)
		if err := t.commit(); err != nil {
			r.log.Error("a cursor could not be recorded; the output will be given again", "task", rec.ID, "error", err)
		}
	}
}

// Tail reads raw output; it consumes nothing. Ended of the request is set here.
func (r *Registry) Tail(ctx context.Context, c Caller, id string, req TailRequest) (Tailed, error) {
	r.mu.Lock()
	rec, err := r.findLocked(c, id)
	if err != nil {
		r.mu.Unlock()
		return Tailed{}, err
	}
	p := r.producerLocked(rec.Producer)
	req.Ended = rec.endedLocked()
	r.mu.Unlock()
	tailed, err := p.Tail(ctx, rec.row, req)
	switch {
	case err != nil && ctx.Err() != nil:
		return Tailed{}, ErrWaitAborted
	case err != nil:
		return Tailed{}, producerFailed(err)
	}
	return tailed, nil
}

// Write gives input to a live task. Cancelling ctx ends it with
// [ErrWaitAborted]; some of the input may have been taken.
func (r *Registry) Write(ctx context.Context, c Caller, id string, req WriteRequest) (int, error) {
	r.mu.Lock()
	rec, err := r.findLocked(c, id)
	if err == nil && rec.Status.Terminal() {
		err = Errorf(KindInvalid, "task %s has already finished; it takes no input", id)
	}
	if err != nil {
		r.mu.Unlock()
		return 0, err
	}
	p := r.producerLocked(rec.Producer)
	r.mu.Unlock()
	n, err := p.Write(ctx, rec.row, req)
	switch {
	case err != nil && ctx.Err() != nil:
		return n, ErrWaitAborted
	case err != nil:
		return n, producerFailed(err)
	}
	return n, nil
}
