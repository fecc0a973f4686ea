package acp

import (
	"slices"
	"time"

	"sidetask/registry"
)

// given is a prompt that was given to an agent, with the notices in it.
type given struct {
	chat      *chat
	id        string
	own       bool
	tasks     []string
	quiet     bool // the agent had been quiet for 2 s
	spoke     bool // it has said something since
	cancelled bool
	answered  bool
	failed    bool
}

// excused reports whether the notices of a prompt may be told again: the window
// of ACP.md §4.
func (g *given) excused() bool {
	return g.failed || g.unread() || g.chat.stray || !g.chat.alive || g.givenUp()
}

// unread: it was cancelled before the agent took it up.
func (g *given) unread() bool { return g.cancelled && !g.spoke && !g.chat.s.v2 }

func (g *given) givenUp() bool { return g.cancelled && time.Since(g.chat.cancelled) >= 30*time.Second }

// has reports whether the agent has what is in it.
func (g *given) has() bool {
	return g.quiet && g.spoke || g.answered && !g.failed && (!g.unread() || g.givenUp())
}

// given judges a prompt that comes to an agent.
func (s *scene) given(g *given, at time.Time) {
	c := g.chat
	var ours, theirs int
	for _, o := range c.open {
		if o.own {
			ours++
		} else {
			theirs++
		}
	}
	switch {
	case g.own && (ours+theirs > 0 || c.running):
		s.fatalf("a prompt of ours beside %d of ours and %d of the editor's; running %v", ours, theirs, c.running)
	case !g.own && ours > 0 && (c.cancelled.IsZero() || at.Sub(c.cancelled) < 30*time.Second):
		s.fatalf("a prompt of the editor's goes out beside ours")
	case g.own && len(g.tasks) == 0:
		s.fatalf("a prompt of ours without a notice")
	}
	for _, id := range g.tasks {
		again := slices.ContainsFunc(s.gave, func(o *given) bool { return slices.Contains(o.tasks, id) && !o.excused() })
		refused := slices.ContainsFunc(s.gave, func(o *given) bool { return slices.Contains(o.tasks, id) && o.failed })
		s.rooms.mu.Lock()
		acked := s.rooms.acked[id]
		s.rooms.mu.Unlock()
		switch {
		case again:
			s.fatalf("%s is told twice", id)
		case acked && !refused && !c.stray:
			s.fatalf("%s is told again, though it was acknowledged", id)
		}
	}
	if g.own {
		s.pay(g, at)
	} else {
		s.wakes, c.drains, s.heard, s.then = 0, 0, c, s.rooms.granted()
	}
	s.gave = append(s.gave, g)
}

// pay checks what lets a prompt of ours go out: it goes on with a turn that has
// just ended, or is a refused one again, or a wake of the budget.
func (s *scene) pay(g *given, at time.Time) {
	s.owns++
	c := g.chat
	if c.stray { // its notices are another's, too: that was all settled when it took them
		return
	}
	if s.again(g) { // it opens a turn, whatever it was at first
		c.drains = 0
		return
	}
	began := c.turnOver
	if s.v2 && !c.accepted.IsZero() && at.Sub(c.accepted) >= 2*time.Second { // a turn that never ran
		began = c.accepted.Add(2 * time.Second)
	}
	if !began.IsZero() && at.Sub(began) <= 250*time.Millisecond && s.reason(g) != registry.ClaimWake {
		if c.drains++; c.drains > s.rooms.drains {
			s.fatalf("%d prompts of ours in a row", c.drains)
		}
		return
	}
	c.drains = 0
	if s.reason(g) != registry.ClaimWake {
		s.fatalf("a turn is opened for %v, claimed with %q", g.tasks, s.reason(g))
	}
	if s.wakes++; s.wakes > roomsWakes {
		s.fatalf("%d wakes in a row, the budget is %d", s.wakes, roomsWakes)
	}
}

// again reports whether a prompt of ours is one that the agent has refused before.
func (s *scene) again(g *given) bool {
	return slices.ContainsFunc(s.gave, func(o *given) bool {
		return o.chat == g.chat && o.failed && slices.Contains(o.tasks, g.tasks[0])
	})
}

// reason is that of the newest claim of a prompt's notices.
func (s *scene) reason(g *given) string {
	s.rooms.mu.Lock()
	defer s.rooms.mu.Unlock()
	return s.rooms.claims[g.tasks[0]].reason
}
