package registry

import (
	"fmt"
	"slices"

	"sidetask/scope"
)

// listener is one function that somebody registered.
type listener[T any] struct{ call func(T) }

// OnDone listens to the ends of tasks of owners at or below a scope, one call
// for each end (T60 to T67). Unowned tasks and the operator's are heard at the
// root alone (T88). The function must not block; it may call the registry.
func (r *Registry) OnDone(at scope.Path, fn func(Task)) (remove func()) {
	return listen(r, &r.done, at, fn)
}

// OnChange listens to changes of the tasks that an owner sees (T100 to T103);
// Nobody stands for everybody. The function must not block.
func (r *Registry) OnChange(at scope.Path, fn func(Handle)) (remove func()) {
	return listen(r, &r.changed, at, fn)
}

// OnRing listens to "a notice of this owner waits (again)": a settlement left
// one unreported, a lease came back, a report could not be delivered.
func (r *Registry) OnRing(fn func(Handle)) (remove func()) {
	return listen(r, &r.rings, scope.Root, fn)
}

func listen[T any](r *Registry, table *scope.Table[*listener[T]], at scope.Path, fn func(T)) func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	remove := table.Add(at, &listener[T]{call: fn})
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		remove()
	}
}

// tellLocked queues one round of calls for a scope, if anybody listens at or
// above it; whoever unlocks makes them.
func tellLocked[T any](r *Registry, table *scope.Table[*listener[T]], at scope.Path, value T, threw func(any)) {
	if _, _, heard := table.Nearest(at); !heard {
		return
	}
	r.queue = append(r.queue, func() { round(r, table, at, value, threw) })
}

// round calls the listeners along the chain of a scope, the root's first. It
// looks at each layer anew after every call, so that one added meanwhile is
// reached and one removed is not (T92).
func round[T any](r *Registry, table *scope.Table[*listener[T]], at scope.Path, value T, threw func(any)) {
	for _, layer := range slices.Backward(at.Chain()) {
		var called []*listener[T]
		for {
			r.mu.Lock()
			rest := table.At(layer)
			i := slices.IndexFunc(rest, func(l *listener[T]) bool { return !slices.Contains(called, l) })
			r.mu.Unlock()
			if i < 0 {
				break
			}
			called = append(called, rest[i])
			contain(func() { rest[i].call(value) }, threw)
		}
	}
}

// contain keeps a listener's panic from the others (T63, T102).
func contain(f func(), threw func(any)) {
	defer func() {
		if v := recover(); v != nil {
			threw(v)
		}
	}()
	f()
}

// announceLocked queues "the tasks of this owner changed".
func (r *Registry) announceLocked(o *owner) {
	tellLocked(r, &r.changed, o.Scope, o.Handle, func(v any) {
		r.log.Error(fmt.Sprintf("tasks: onTasksChanged listener threw: %v", v))
	})
}

// completeLocked queues the one round of completion listeners of a task.
func (r *Registry) completeLocked(o *owner, t Task) {
	tellLocked(r, &r.done, o.Scope, t, func(v any) {
		r.log.Error(fmt.Sprintf("tasks: onTaskDone listener threw for %s: %v", t.ID, v))
	})
}

// ringLocked queues the bell, if a notice of the owner waits for it.
func (r *Registry) ringLocked(o *owner) {
	if r.phase != open || len(o.waiting) == 0 || o.disposed != nil {
		return
	}
	tellLocked(r, &r.rings, scope.Root, o.Handle, func(v any) {
		r.log.Error(fmt.Sprintf("tasks: bell listener threw: %v", v), "owner", o.Handle)
	})
}

// mostCalls bounds the calls that one caller makes before it goes on.
const mostCalls = 64

// unlock gives the lock back and makes the calls that are queued, unless
// somebody else is at it: they are made one after another, in the order of
// the commits. What others add meanwhile, or listeners cause, is made here too,
// but not without end: a goroutine takes over then, which ends with the queue;
// Shutdown and Close wait for it.
func (r *Registry) unlock() {
	if r.draining || len(r.queue) == 0 {
		r.mu.Unlock()
		return
	}
	r.draining, r.drained = true, make(chan struct{})
	for range mostCalls {
		if !r.callLocked() {
			r.mu.Unlock()
			return
		}
	}
	r.mu.Unlock()
	go func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for r.callLocked() {
		}
	}()
}

// callLocked makes the next call, without the lock, or ends the work on the
// queue. A panic ends nothing but its call (T63, T102).
func (r *Registry) callLocked() (more bool) {
	if len(r.queue) == 0 {
		r.queue, r.draining = nil, false
		close(r.drained)
		return false
	}
	next := r.queue[0]
	r.queue = r.queue[1:]
	r.mu.Unlock()
	defer r.mu.Lock()
	contain(next, func(v any) { r.log.Error(fmt.Sprintf("tasks: telling of a change threw: %v", v)) })
	return true
}
