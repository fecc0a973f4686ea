package turn

import "time"

// Ref names a message of the editor that the caller keeps. Zero is none.
type Ref int

// Settings of a machine; they may change while it runs.
type Settings struct {
	V2         bool          // ACP version 2: turns are state updates
	Wakes      bool          // false: the editor could not show a wake, so there is none
	MaxDrains  int           // prompts of ours in a row at the end of one turn
	AgentGrace time.Duration // how long a held answer waits for a cancelled drain
	Permission time.Duration // how long a permission request of a wake may stay unanswered
}

// Fixed times of ACP.md §4.
const (
	claimPatience = 250 * time.Millisecond // how long a slow daemon may hold a message
	quietAfter    = 2 * time.Second        // without an update, until an agent counts as quiet
	cancelLimit   = 30 * time.Second       // how long new prompts wait for a cancelled turn
	firstBackoff  = time.Second
	lastBackoff   = 60 * time.Second
	maxRefusals   = 6
)

// Result is how a prompt ended.
type Result int

// The results. In version 2 an accepted prompt is EndTurn.
const (
	EndTurn   Result = iota
	Cancelled        // stopReason cancelled
	Stopped          // any other stop reason
	Failed           // a JSON-RPC error
)

// Event is something that happened to a session.
type Event interface{ event() }

type (
	// Ready says that the editor knows the session, and has had 100 ms to set it up.
	Ready struct{}
	// Bell says that notices wait in the inbox.
	Bell struct{}
	// Prompt is the editor's session/prompt. Slash: it begins with a slash
	// command of the agent, so that nothing may stand in front of it.
	Prompt struct {
		Ref   Ref
		Slash bool
	}
	// Passing is the editor's session/prompt that is too long to wait here: it goes
	// to the agent now, whatever the machine says; see [Machine.Occupied].
	Passing struct{ Ref Ref }
	// Other is any other message of the editor for this session, but cancel and answers.
	Other struct{ Ref Ref }
	// Answered says that the agent answered the editor's prompt.
	Answered struct {
		Ref    Ref
		Result Result
	}
	// OwnAnswered says that the agent answered our prompt of that number.
	OwnAnswered struct {
		N      int
		Result Result
	}
	// Claimed is the daemon's answer to a claim; without notices it was
	// refused, or failed.
	Claimed struct {
		ID      int
		Notices []string
		Lease   string
	}
	// Cancel is the editor's session/cancel, which the caller has forwarded.
	Cancel struct{}
	// CancelRequest is the editor's $/cancel_request of a request that [Machine.Holds].
	CancelRequest struct{ Ref Ref }
	// Activity is an update that shows the agent at work. Speech says that it is a tool call or
	// a chunk of the agent's, which says that it has read its prompt.
	Activity struct{ Speech bool }
	// AgentIdle is the agent saying that it is idle (threadStatus, _session/turn_ended).
	AgentIdle struct{}
	// State is a state_update of version 2; Result is that of a turn that ended.
	State struct {
		Busy   bool
		Result Result
	}
	// Permission says that requests for permission are open, or none is any more.
	Permission struct{ Open bool }
	// Fired says that a timer that [SetTimer] asked for is over.
	Fired struct{ Timer Timer }
	// Gone says that the session has ended for us: closed, or taken over by another proxy.
	Gone struct{}
	// AgentGone says that the agent has ended, and all that it said was taken.
	AgentGone struct{}
	// Back says that a session that had gone is ours again.
	Back struct{}
)

func (Ready) event()         {}
func (Bell) event()          {}
func (Prompt) event()        {}
func (Passing) event()       {}
func (Other) event()         {}
func (Answered) event()      {}
func (OwnAnswered) event()   {}
func (Claimed) event()       {}
func (Cancel) event()        {}
func (CancelRequest) event() {}
func (Activity) event()      {}
func (AgentIdle) event()     {}
func (State) event()         {}
func (Permission) event()    {}
func (Fired) event()         {}
func (Gone) event()          {}
func (AgentGone) event()     {}
func (Back) event()          {}
