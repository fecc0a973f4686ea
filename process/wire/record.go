package wire

// Alive is what a keeper writes into its locked file, a line each time that it
// knows more; the last counts. What else is in the file a crash wrote. No pid in
// it is trusted before the start time fits.
type Alive struct {
	Format  int
	Keeper  int
	Start   uint64 // of the keeper: field 22 of /proc/<pid>/stat
	Boot    string
	Command int
	Input   bool   // it takes input
	Group   string // the command's control group
	GraceMs int64  // of a stop that names none
	// TimeoutMs is the command's time limit; 0 = none.
	TimeoutMs int64
	// Pipes are the command's output pipes, as /proc/<pid>/fd names them.
	Pipes []string
	// Mark is the soft RLIMIT_RTTIME of the command and all that it starts, a number
	// of this keeper's own from [LeastMark] on; 0 = none.
	Mark uint64
}

func (a *Alive) fields() []field {
	return []field{
		{"format", &a.Format},
		{"keeper", &a.Keeper},
		{"start", &a.Start},
		{"boot", &a.Boot},
		{"command", &a.Command},
		{"input", &a.Input},
		{"group", &a.Group},
		{"graceMs", &a.GraceMs},
		{"timeoutMs", &a.TimeoutMs},
		{"pipes", &a.Pipes},
		{"mark", &a.Mark},
	}
}

// LeastMark keeps marks so large that they limit nothing: as microseconds, longer
// than there has been anybody to count them.
const LeastMark = 1 << 62

// Why a keeper ended its command.
const (
	CauseStop    = "stop"
	CauseTimeout = "timeout"
)

// Exit is the exit record: the truth about an end. An incomplete one is none.
type Exit struct {
	Format     int
	Row        int64
	SpawnError string
	PID        int
	Code       int // where Signal is 0
	Signal     int // that ended the command
	Core       bool
	Cause      string
	TimeoutMs  int64
	EndedAt    int64 // ms since the epoch
	RanMs      int64 // from start to end, whatever the clock was set to
	Leftovers  int
	Dropped    int64 // bytes of output that a full disk did not take
	CPUMs      int64
	RSSMax     int64 // bytes
	// Of a control group with a memory limit: its most, and whether the limit
	// killed something in it.
	MemoryPeak  int64
	OutOfMemory bool
}

func (e *Exit) fields() []field {
	return []field{
		{"format", &e.Format},
		{"row", &e.Row},
		{"spawnError", &e.SpawnError},
		{"pid", &e.PID},
		{"code", &e.Code},
		{"signal", &e.Signal},
		{"core", &e.Core},
		{"cause", &e.Cause},
		{"timeoutMs", &e.TimeoutMs},
		{"endedAt", &e.EndedAt},
		{"ranMs", &e.RanMs},
		{"leftovers", &e.Leftovers},
		{"dropped", &e.Dropped},
		{"cpuMs", &e.CPUMs},
		{"rssMax", &e.RSSMax},
		{"memoryPeak", &e.MemoryPeak},
		{"outOfMemory", &e.OutOfMemory},
	}
}
