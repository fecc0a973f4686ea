package acp

import (
	"maps"
	"slices"
)

// roster has the sessions: those that have their id, and those whose request is
// open.
type roster struct {
	byID    map[string]*session
	opening map[*session]bool // their request is not answered yet, or a later load not bound
	last    int
}

func newRoster() *roster {
	return &roster{byID: map[string]*session{}, opening: map[*session]bool{}}
}

// open adds a session whose request is at the agent, or about to be.
func (r *roster) open(s *session) {
	r.last++
	s.number = r.last
	r.opening[s] = true
}

// opened notes that no request of a session is open any more.
func (r *roster) opened(s *session) { delete(r.opening, s) }

// put makes a session the one of its id.
func (r *roster) put(s *session) { r.byID[s.id] = s }

// remove takes a session away, and says whether it was the one of that id.
func (r *roster) remove(id string, s *session) bool {
	was := r.byID[id] == s
	if was {
		delete(r.byID, id)
	}
	return was
}

// of finds a session by its id; nil for none.
func (r *roster) of(id string) *session { return r.byID[id] }

// byOwner finds the session of the daemon's handle; nil for none.
func (r *roster) byOwner(owner string) *session {
	for _, s := range r.all() {
		if s.owner == owner && owner != "" {
			return s
		}
	}
	return nil
}

// all are the sessions in the order they came.
func (r *roster) all() []*session {
	all := slices.Collect(maps.Keys(r.opening))
	for _, s := range r.byID {
		if !r.opening[s] {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *session) int { return a.number - b.number })
	return all
}

// next are the later loads of a session that lives.
func (r *roster) next(s *session) []*session {
	return slices.DeleteFunc(r.all(), func(next *session) bool { return next.into != s })
}
