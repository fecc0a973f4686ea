package turn

import "time"

// Timer names one timer of a session.
type Timer int

// The timers.
const (
	Patience    Timer = iota // a message waits for a claim
	Quiet                    // since the agent's last update
	Grace                    // a held answer waits for a cancelled drain
	CancelLimit              // prompts wait for a cancelled turn
	Backoff                  // until a refused prompt is tried again
	Unanswered               // a permission request in a wake
	Accepted                 // version 2: an accepted prompt has not begun to run
	timers
)

// Timers is their number.
const Timers = int(timers)

// Reasons of a claim, as the daemon names them.
const (
	ForUser    = "user"
	ForTurnEnd = "turn-end"
	ForWake    = "wake"
)

// Action is something that the caller is to do, in the order given.
type Action interface{ action() }

type (
	// Forward sends a message of the editor to the agent; with notices, their
	// frame goes in front of the prompt's blocks.
	Forward struct {
		Ref     Ref
		Notices []string
	}
	// Send gives the agent a prompt of ours. Alone: no prompt of the editor's is
	// open, so the editor may be shown why.
	Send struct {
		N       int
		Notices []string
		Alone   bool
	}
	// Relay passes the agent's answer to the editor's prompt on; with Cancelled,
	// its stop reason becomes cancelled.
	Relay struct {
		Ref       Ref
		Cancelled bool
	}
	// Refuse answers a request that never went to the agent: it was cancelled.
	Refuse struct{ Ref Ref }
	// Interrupt sends a session/cancel of ours.
	Interrupt struct{}
	// DenyPermissions answers the open permission requests: cancelled.
	DenyPermissions struct{}
	// Claim asks the daemon for the waiting notices.
	Claim struct {
		ID     int
		Reason string
		Take   bool
	}
	// Ack tells the daemon that the agent has the notices of a lease.
	Ack struct{ Lease string }
	// Release gives a lease back; parked, its notices ring nobody.
	Release struct {
		Lease string
		Park  bool
	}
	// Abort ends the waits of the session's owner.
	Abort struct{}
	// SetTimer starts a timer anew; After 0 stops it.
	SetTimer struct {
		Timer Timer
		After time.Duration
	}
	// Busy says whether the session is busy, for display.
	Busy struct{ Busy bool }
)

func (Forward) action()         {}
func (Send) action()            {}
func (Relay) action()           {}
func (Refuse) action()          {}
func (Interrupt) action()       {}
func (DenyPermissions) action() {}
func (Claim) action()           {}
func (Ack) action()             {}
func (Release) action()         {}
func (Abort) action()           {}
func (SetTimer) action()        {}
func (Busy) action()            {}
