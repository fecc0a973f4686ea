package wire

// Format is the number of these formats. A daemon accepts those of the version
// before: its keepers may still run.
const Format = 2

// FormatFlag, as the only argument of a keeper, has it print Format and end.
const FormatFlag = "--format"

// MaxJob bounds a job on the wire: the kernel takes no larger environment.
const MaxJob = 16 << 20

// Job is what a keeper has to do: it comes as a [Frame], with the locked file's
// descriptor beside the first byte. The environment goes this way only, never by
// argv or disk.
type Job struct {
	Format    int
	Row       int64
	Boot      string // of this boot of the machine, for the signature
	Dir       string // the task's folder: spools go below it
	Exits     string // the record is renamed into it
	Control   string // path of the control socket to be made
	Path      string // program
	Argv      []string
	Env       []string
	Cwd       string
	Bytes     int64 // bound of one stream on disk
	Head      int64
	TimeoutMs int64 // 0 = none
	GraceMs   int64 // between TERM and KILL where a stop names none
	WaitingMs int64 // silence after which a reader of its input is said to wait
	Stdin     bool  // takes input; else /dev/null
	Separate  bool  // stderr has a spool of its own
	Cols      int   // a terminal of this size, where positive
	Rows      int
	// Group is the folder of a control group into which the command is born, and
	// the keeper not; "" = none. The keeper removes it when nothing is left.
	Group string
}

func (j *Job) fields() []field {
	return []field{
		{"format", &j.Format},
		{"row", &j.Row},
		{"boot", &j.Boot},
		{"dir", &j.Dir},
		{"exits", &j.Exits},
		{"control", &j.Control},
		{"path", &j.Path},
		{"argv", &j.Argv},
		{"env", &j.Env},
		{"cwd", &j.Cwd},
		{"bytes", &j.Bytes},
		{"head", &j.Head},
		{"timeoutMs", &j.TimeoutMs},
		{"graceMs", &j.GraceMs},
		{"waitingMs", &j.WaitingMs},
		{"stdin", &j.Stdin},
		{"separate", &j.Separate},
		{"cols", &j.Cols},
		{"rows", &j.Rows},
		{"group", &j.Group},
	}
}

// The spools below a task's folder.
const (
	OutDir = "out" // stdout and stderr, in true order
	ErrDir = "err" // stderr where it is kept apart
	// OrderDir, where they are kept apart, has the sizes of both streams, each
	// time that the keeper had copied something: 8 bytes each, big endian.
	OrderDir = "order"
)

// Report is the keeper's answer to a job, a [Frame] too.
type Report struct {
	PID   int    // of the command
	Error string // the command could not be started
	// Recorded: a record says so, too; the task is to end by it.
	Recorded bool
}

func (r *Report) fields() []field {
	return []field{
		{"pid", &r.PID},
		{"error", &r.Error},
		{"recorded", &r.Recorded},
	}
}
