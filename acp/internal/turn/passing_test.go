package turn

import (
	"fmt"
	"strings"
	"testing"
)

// A prompt that is too long to wait is known as any other: nothing of ours goes
// beside it, what waited goes before it, and its end is the end of a turn.
func TestPassing(t *testing.T) {
	const end = EndTurn
	set := Settings{Wakes: true, MaxDrains: 8}
	for _, c := range []struct {
		name     string
		before   []Event
		occupied bool
		after    []Event
		want     string // the actions of Passing and of what comes after
	}{
		{"idle", nil, false, []Event{Bell{}, Answered{1, end}}, "claim user false; claim turn-end true"},
		{"in a turn", []Event{Prompt{Ref: 2}, Claimed{ID: 1}}, false, []Event{Answered{2, end}, Answered{1, end}}, "relay 2; claim turn-end true"},
		{"a prompt waits for its claim", []Event{Prompt{Ref: 2}}, false, []Event{Claimed{1, []string{"n"}, "l"}, Answered{2, end}}, "forward 2; release l false; relay 2"},
		{"at the end of a turn", []Event{Prompt{Ref: 2}, Claimed{ID: 1}, Answered{2, end}}, false, []Event{Claimed{2, []string{"n"}, "l"}}, "relay 2; claim user false; release l false"},
		{"a wake is claimed", []Event{Bell{}}, false, []Event{Claimed{1, []string{"n"}, "l"}}, "claim user false; release l false"},
		{"at the end of a wake", []Event{Bell{}, Claimed{1, []string{"n"}, "l"}, OwnAnswered{1, end}}, false, []Event{Claimed{ID: 2}}, "claim user false"},
		{"in a wake", []Event{Bell{}, Claimed{1, []string{"n"}, "l"}}, true, []Event{OwnAnswered{1, end}, Answered{1, end}}, "ack l; claim turn-end true"},
		{"in a wake that is refused", []Event{Bell{}, Claimed{1, []string{"n"}, "l"}}, true, []Event{OwnAnswered{1, Failed}}, "release l true"},
		{"in a drain", []Event{Prompt{Ref: 2}, Claimed{ID: 1}, Answered{2, end}, Claimed{2, []string{"n"}, "l"}}, true, []Event{OwnAnswered{1, end}}, "ack l; relay 2"},
		{"others wait for a cancelled turn", []Event{Prompt{Ref: 2}, Claimed{ID: 1}, Cancel{}, Prompt{Ref: 3}}, true, nil, ""},
	} {
		for _, v2 := range []bool{false, true} {
			if v2 && c.name != "idle" {
				continue
			}
			set.V2 = v2
			m := New(set)
			m.Step(Ready{})
			for _, e := range c.before {
				m.Step(e)
			}
			if got := m.Occupied(); got != c.occupied {
				t.Errorf("%s: occupied %v", c.name, got)
			}
			after := c.after
			want := c.want
			if v2 {
				after = []Event{Bell{}, Answered{1, end}, State{Busy: true}, State{Result: end}}
				want = "claim user false; relay 1; claim turn-end true"
			}
			var got []string
			for _, e := range append([]Event{Passing{1}}, after...) {
				for _, a := range m.Step(e) {
					if s := inWords(a); s != "" {
						got = append(got, s)
					}
				}
			}
			if got := strings.Join(got, "; "); got != want {
				t.Errorf("%s, v2 %v: got %s, want %s", c.name, v2, got, want)
			}
		}
	}
}

// inWords is an action in words; timers and what is only for display are "".
func inWords(a Action) string {
	switch a := a.(type) {
	case Forward:
		return fmt.Sprintf("forward %d", a.Ref)
	case Relay:
		return fmt.Sprintf("relay %d", a.Ref)
	case Claim:
		return fmt.Sprintf("claim %s %v", a.Reason, a.Take)
	case Send:
		return fmt.Sprintf("send %d", a.N)
	case Ack:
		return "ack " + a.Lease
	case Release:
		return fmt.Sprintf("release %s %v", a.Lease, a.Park)
	case SetTimer, Busy:
		return ""
	}
	return fmt.Sprintf("%T", a)
}
