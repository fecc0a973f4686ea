package acp

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestModel puts a session through random interleavings of what its editors, its
// agents, its daemons and time do, all of which die and come back: real proxies,
// the real registry on a real database, the real wakeup (ACP.md §4). Every request
// of an editor is answered once; never a prompt of ours beside another; no notice
// is lost, none told twice outside the window of §4; the budget is never exceeded
// (BEHAVIOUR T163), and the user's word restores it (T164).
// SIDETASK_STEPS sets the number of steps.
func TestModel(t *testing.T) {
	want := 1200
	if s := os.Getenv("SIDETASK_STEPS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		want = n
	}
	for name, value := range map[string]string{"rapid.checks": "10", "rapid.steps": "60", "rapid.nofailfile": "true"} {
		before := flag.Lookup(name).Value.String()
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set(name, before) }()
	}
	dir, steps, own := t.TempDir(), 0, 0
	for steps < want && !t.Failed() {
		synctest.Test(t, func(t *testing.T) {
			rapid.Check(noDeadline{t}, func(rt *rapid.T) {
				s := newScene(rt, dir)
				defer s.close()
				rt.Repeat(s.actions())
				if s.rooms.r != nil && rapid.Bool().Draw(rt, "crash") {
					s.daemon(true)
				}
				s.settle()
				steps += s.steps
				own += s.owns
			})
		})
	}
	if own == 0 {
		t.Error("there was no prompt of ours")
	}
	t.Logf("%d steps, %d prompts of ours", steps, own)
}

// noDeadline hides the deadline of a test, which a bubble may not ask for.
type noDeadline struct{ rapid.TB }

// scene is all that has to do with one session.
type scene struct {
	t      *rapid.T
	v2     bool
	absent bool // the user says nothing
	rooms  *rooms
	chats  []*chat // the newest is the one that has the session
	opens  string  // the next request for the session
	gave   []*given
	wakes  int   // turns that we opened since the user last spoke
	heard  *chat // whose agent got the user's last prompt
	then   int   // wakes that had been granted by then
	owns   int
	steps  int
	hosted time.Time // when the daemon last had a host of the session, or there was none
	story  []string
	slow   hanging // it is
}

func newScene(t *rapid.T, dir string) *scene {
	s := &scene{t: t, v2: rapid.Bool().Draw(t, "v2"), absent: rapid.IntRange(0, 3).Draw(t, "absent") == 0, opens: methodNew, rooms: newRooms(t, dir), hosted: time.Now()}
	s.newChat()
	return s
}

func (s *scene) log(who, what string) {
	s.story = append(s.story, fmt.Sprintf("%s %s: %s", time.Now().Format("04:05.000"), who, what))
}

// fatalf fails with what has happened: goroutines may run in another order when
// rapid tries again, so its own log may be of something else.
func (s *scene) fatalf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(s.story, "\n"))
}

// close ends everything, also after a failure.
func (s *scene) close() {
	for _, c := range s.chats {
		if c.alive {
			c.alive = false
			c.seat.slow(prompt)
			_ = c.editor.Close()
			c.died <- 0
			_ = c.agent.Close()
			<-c.exit
		}
	}
	if s.rooms.r != nil {
		s.rooms.close(false)
	}
	synctest.Wait()
}

// look lets all come to rest, and takes what came of it.
func (s *scene) look() {
	synctest.Wait()
	for _, c := range s.chats {
		for _, call := range c.seat.takeCalls() {
			c.log("  daemon:", call)
		}
		for _, l := range c.toAg.take() {
			c.gets(l)
		}
		for _, l := range c.toEd.take() {
			c.shows(l)
		}
	}
	// A minute without its host, and a daemon gives leases back.
	switch {
	case s.rooms.r == nil || s.rooms.hosted():
		s.hosted = time.Now()
	case time.Since(s.hosted) >= time.Minute:
		for _, c := range s.chats {
			c.stray = true
		}
	}
	s.rooms.mu.Lock()
	acks, wrong := s.rooms.acks, s.rooms.wrong
	s.rooms.acks = nil
	s.rooms.mu.Unlock()
	if wrong != "" {
		s.fatalf("%s", wrong)
	}
	for _, id := range acks {
		if !slices.ContainsFunc(s.gave, func(g *given) bool { return slices.Contains(g.tasks, id) && g.has() }) {
			s.fatalf("the notice of %s is acknowledged, and no agent has it", id)
		}
	}
}

// settle brings everything back, lets all that is open end, and then has the user
// speak once more: no notice is lost, and the budget is there again.
func (s *scene) settle() {
	s.log("---", "settle")
	rings := s.rooms.r == nil && s.newest().cancelled.IsZero() // a new registration does; but a cancelled turn is deaf
	s.daemonBack()
	for _, c := range s.chats[:len(s.chats)-1] {
		if c.alive {
			c.end("closed")
		}
	}
	c := s.newest()
	if spent, _ := s.rooms.budget(); s.heard == c && s.then == s.rooms.granted() && c.alive && !c.stray && spent > 0 {
		s.fatalf("the user has spoken, and %d wakes are still spent", spent)
	}
	if !c.alive {
		c, rings = s.newChat(), true
	}
	s.rest(c, 8)
	if spent, waiting := s.rooms.budget(); rings && !c.stray && spent < roomsWakes && waiting > 0 {
		s.fatalf("%d notices wait, and nobody is woken", waiting)
	}
	s.prompt(c, "hello")
	s.rest(c, 6)
	if left := s.rooms.untold(); len(left) > 0 {
		s.fatalf("%v are never told", left)
	}
	owns := s.owns
	if !s.rooms.start() {
		s.fatalf("no task can be started")
	}
	s.rooms.end(fmt.Sprintf("bash-%d", len(s.rooms.tasks)))
	s.look()
	s.rest(c, 6)
	if left := s.rooms.untold(); len(left) > 0 || s.owns == owns {
		s.fatalf("the user has spoken, and yet nobody is woken for %v", left)
	}
	c.allAnswered()
}

// rest answers what is open, for so many half minutes.
func (s *scene) rest(c *chat, times int) {
	for range times {
		for len(c.asked) > 0 {
			s.permit(c)
		}
		for len(c.open) > 0 {
			c.answer(c.open[0], "end_turn")
		}
		if s.v2 {
			c.state(true)
			c.state(false)
		}
		time.Sleep(31 * time.Second)
		s.look()
	}
}
