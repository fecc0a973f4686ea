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
	// OpBeside starts a program in "/", in a session of its own and outside of the
	// task's tree, and has an answer only if it cannot: else the connection is the
	// program's descriptor 3, and what comes on it the program says.
	OpBeside = "beside"
)

// Request is what is asked of a keeper.
type Request struct {
	Op      string
	GraceMs *int64
	Data    []byte
	Cols    int
	Rows    int
	Path    string // of a program, with all of its arguments and variables
	Argv    []string
	Env     []string
}

func (r *Request) fields() []field {
	return []field{
		{"op", &r.Op},
		{"graceMs", &r.GraceMs},
		{"data", &r.Data},
		{"cols", &r.Cols},
		{"rows", &r.Rows},
		{"path", &r.Path},
		{"argv", &r.Argv},
		{"env", &r.Env},
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
