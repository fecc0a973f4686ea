package acp

import (
	"maps"

	"sidetask/acp/internal/wire"
)

// permits are the agent's open requests for permission, by id.
type permits map[string]*asked

// asked is an open request for permission.
type asked struct {
	id      []byte
	session *session
	denied  bool // answered by us: the editor's answer is dropped
}

// ask notes a request. Of too many the last pass unwatched.
func (ps permits) ask(id []byte, s *session) {
	if len(ps) < maxOpen {
		ps[wire.Key(id)] = &asked{id: id, session: s}
	}
}

// answered takes a request away that the editor has answered; nil for none.
func (ps permits) answered(key string) *asked {
	a := ps[key]
	delete(ps, key)
	return a
}

// withdrawn takes a request away that the agent has withdrawn; nil for none. One
// that we have denied stays: the editor's answer is still to be dropped.
func (ps permits) withdrawn(key string) *asked {
	if a := ps[key]; a != nil && a.denied {
		return nil
	}
	return ps.answered(key)
}

// deny marks what is open of a session as answered by us, and gives it.
func (ps permits) deny(s *session) (denied []*asked) {
	for _, a := range ps {
		if a.session == s && !a.denied {
			a.denied = true
			denied = append(denied, a)
		}
	}
	return denied
}

// open reports whether the editor is still to answer a request of a session.
func (ps permits) open(s *session) bool {
	for _, a := range ps {
		if a.session == s && !a.denied {
			return true
		}
	}
	return false
}

// turnOver forgets those of a session whose turn has ended, but for the denied ones.
func (ps permits) turnOver(s *session) {
	maps.DeleteFunc(ps, func(_ string, a *asked) bool { return a.session == s && !a.denied })
}

// none forgets all of a session. A late answer of the editor goes to the agent,
// as without us.
func (ps permits) none(s *session) {
	maps.DeleteFunc(ps, func(_ string, a *asked) bool { return a.session == s })
}
