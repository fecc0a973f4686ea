package config

import "slices"

// subscriber is asked before a change and told after it; either may be nil.
type subscriber struct {
	verify func(old, next *Settings) error
	commit func(old, next *Settings)
}

// Subscribe registers for changes of the settings and returns those in force,
// without a gap between the two. verify may refuse a change: the reload fails
// with its error and nothing changes. commit hears of a change that is in
// force. Either may be nil. Both are called from one goroutine at a time, may
// read from [Live] and cancel, but not call [Live.Reload]. A call that is in
// progress when cancel is called still ends.
func (l *Live) Subscribe(verify func(old, next *Settings) error, commit func(old, next *Settings)) (current *Settings, cancel func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Current(), l.registerLocked(l.subscribers.add(subscriber{verify, commit}))
}

// OnMounts calls fn after each change of the mounts: by a reload, an attach or
// a detach.
func (l *Live) OnMounts(fn func()) (cancel func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.registerLocked(l.onMounts.add(fn))
}

// OnState calls fn after each change of [State]: a file refused, mended or put
// in force, another way of watching.
func (l *Live) OnState(fn func(State)) (cancel func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.registerLocked(l.onState.add(fn))
}

// registerLocked makes the removal of an entry safe to call without the lock.
func (l *Live) registerLocked(remove func()) (cancel func()) {
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		remove()
	}
}

// registered is a list of what has been registered, in that order. The owner has the lock.
type registered[T any] struct{ entries []*T }

func (r *registered[T]) add(value T) (remove func()) {
	entry := &value
	r.entries = append(r.entries, entry)
	return func() {
		r.entries = slices.DeleteFunc(slices.Clone(r.entries), func(e *T) bool { return e == entry })
	}
}

func (r *registered[T]) all() []T {
	values := make([]T, len(r.entries))
	for i, e := range r.entries {
		values[i] = *e
	}
	return values
}

// changedMounts tells the listeners that the mounts are others now.
func (l *Live) changedMounts() {
	l.mu.Lock()
	listeners := l.onMounts.all()
	l.mu.Unlock()
	for _, fn := range listeners {
		fn()
	}
}
