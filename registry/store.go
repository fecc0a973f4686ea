package registry

import "sidetask/scope"

// Store keeps records over restarts and power cuts. The registry calls it with
// its lock held, one call at a time.
type Store interface {
	// Load gives everything that was committed.
	Load() (*State, error)
	// Commit writes one transition, all of it or nothing.
	Commit(Change) error
	// Close flushes and closes.
	Close() error
}

// State is everything that is kept.
type State struct {
	Tasks     []Record // in no order
	Owners    []OwnerRecord
	Log       []LogEntry       // ascending Seq, no gaps
	Counters  map[string]int64 // highest number given, by kind (T20)
	Seq       int64            // of the newest change, also when the log is empty
	NextRow   Row              // the next row to give; 0 stands for 1
	NextOwner int64            // number of the next handle; 0 stands for 1
}

// Change is one transition. Records are whole: they replace what is there.
type Change struct {
	Tasks      []Record
	Cursors    []Cursors // of tasks of which nothing else changes
	DropTasks  []Row
	Owners     []OwnerRecord
	DropOwners []Handle
	Log        []LogEntry
	TrimLog    int64            // entries with a smaller Seq go; 0 = none
	Counters   map[string]int64 // new values
	NextRow    Row              // 0 = as it was
	NextOwner  int64            // 0 = as it was
}

// Record is what is kept of a task.
type Record struct {
	// Task is the snapshot, with the final Reported bit: what a receipt that is
	// still open claims is not in it.
	Task
	Starting   bool   // handed to the producer, no id yet
	Registered int64  // Seq of the registration: the order of lists (T24)
	Ended      int64  // Seq of the settlement: the order of notices; 0 while live
	Cursor     int64  // of the one consuming reader (T31)
	OpCursor   int64  // of the operator
	Notice     Notice // state of the notice
	Lease      string // while Notice is Leased
	Key        string // idempotency key of the start
	Cause      string // why it was cancelled, where not by its owner: detail of a killed outcome
}

// Cursors are how far a task has been read: what changes most often of a record,
// whose label may be long, and so what a store need not write the whole of it for.
type Cursors struct {
	Row      Row
	Cursor   int64
	OpCursor int64
}

// Notice is the state of the one notice that a task's end may give; "" before the end.
type Notice string

// The states of a notice. Whether it is due is a question to the whole record:
// terminal, owned, not reported, and waiting or parked.
const (
	Waiting Notice = "waiting" // rings its owner's host
	Parked  Notice = "parked"  // waits, but rings nobody
	Leased  Notice = "leased"  // a host holds it for a turn
	Acked   Notice = "acked"   // the agent has it
)

// OwnerRecord is what is kept of an owner. An environment never is.
type OwnerRecord struct {
	Handle  Handle
	Agent   string
	Session string // "" = unnamed
	Scope   scope.Path
	Title   string
	Cwd     string
	Tokens  [][32]byte // SHA-256 of each
	Spent   int64      // wakes since the last user input
	Wakes   []Wake     // the newest few
	LostAt  int64      // ms since the epoch; 0 = had a host when this was written
}

// LogEntry is one change of a task's visible state.
type LogEntry struct {
	Seq        int64
	Row        Row
	Status     Status // at that time
	Detail     *string
	FinishedAt int64
	Removed    *Removed // the task went; nil else
}

// Removed is what the log must say of a task that is not there any more.
type Removed struct {
	ID    string
	Owner Handle
	Scope scope.Path
}
