package registry

import "sidetask/scope"

// Status of a task (BEHAVIOUR T1); the same values as on the wire.
type Status string

// The five statuses.
const (
	Running   Status = "running"
	Stopping  Status = "stopping"
	Completed Status = "completed"
	Killed    Status = "killed"
	Failed    Status = "failed"
)

// Terminal reports whether nothing leaves the status any more.
func (s Status) Terminal() bool { return s == Completed || s == Killed || s == Failed }

// Row is the number of a task's record. It names the task's folders, is known
// before the id is, and is never used again.
type Row int64

// Handle is the daemon's name of an owner, "o-12".
type Handle string

const (
	// Nobody owns an unowned task.
	Nobody Handle = ""
	// OperatorHandle is the built-in owner of the person's own tasks.
	OperatorHandle Handle = "operator"
)

// Caller is who makes a call: an owner, or the operator (the zero value).
type Caller struct {
	owner Handle
}

// AsOwner is a caller that acts as that owner.
func AsOwner(h Handle) Caller { return Caller{h} }

// AsOperator is the person at the command line: sees everything, takes nothing
// from an agent by looking.
func AsOperator() Caller { return Caller{} }

// Owner is the owner that the caller acts as; false for the operator.
func (c Caller) Owner() (Handle, bool) { return c.owner, c.owner != "" }

// Task is a snapshot of a task (BEHAVIOUR T4): a value, never live state.
type Task struct {
	Row         Row
	ID          string
	Kind        string
	Label       string
	OutputLimit int64 // bytes of one model-facing text, explicit; 0 = none given
	Owner       Handle
	Scope       scope.Path
	Producer    string // the name under which the producer was added
	Stream      bool
	Status      Status
	Detail      *string
	StartedAt   int64 // ms since the epoch
	FinishedAt  int64 // ms since the epoch; 0 while live
	Reported    bool
	ExitCode    *int
	Signal      string
	TimedOut    bool // it was ended by its time limit
}

// Outcome is how a task ended (BEHAVIOUR T2).
type Outcome struct {
	Status   Status
	Detail   *string
	ExitCode *int
	Signal   string // "SIGTERM"
	TimedOut bool
	EndedAt  int64 // ms since the epoch; 0 = now
	// RanMs is how long the work took by a clock that nobody sets; then the end
	// is that long after the start, whatever EndedAt says. 0 = not known.
	RanMs int64
}

// Facts are what only the producer knows of a task, for the operator.
type Facts struct {
	PID       int
	Bytes     int64 // of output written so far
	Disk      int64 // bytes kept on disk now: what retention counts
	Leftovers int
	CPUMs     *int64
	RSSMax    *int64 // bytes
	// Hint is a passing detail of a live task, such as "waiting for input";
	// shown as the status detail while the task is live, never stored.
	Hint string
}
