package wire

// MaxRequest and MaxAnswer bound one message on a control socket.
const (
	MaxRequest = 1 << 20
	MaxAnswer  = 64 << 10
)

// What can be asked on a control socket: one line each, and one answer.
const (
	OpStop   = "stop"   // TERM, the grace, KILL, for the whole tree; leftovers, too
	OpWrite  = "write"  // data to stdin or the terminal; answered when it is taken
	OpEOF    = "eof"    // end of stdin
	OpResize = "resize" // of the terminal
	OpStatus = "status"
)

// Request is what is asked of a keeper.
type Request struct {
	Op      string
	GraceMs *int64
	Data    []byte
	Cols    int
	Rows    int
}

func (r *Request) fields() []field {
	return []field{
		{"op", &r.Op},
		{"graceMs", &r.GraceMs},
		{"data", &r.Data},
		{"cols", &r.Cols},
		{"rows", &r.Rows},
	}
}

// Answer is what a keeper says to a request; Error says why it did not do it.
type Answer struct {
	Error     string
	Written   int
	Processes int // that live in the tree, the command included
	// Names of the first few of them, where a stop is under way: survivors.
	Names   []string
	Waiting bool // silent for 45 s, and blocked reading its input
}

func (a *Answer) fields() []field {
	return []field{
		{"error", &a.Error},
		{"written", &a.Written},
		{"processes", &a.Processes},
		{"names", &a.Names},
		{"waiting", &a.Waiting},
	}
}
