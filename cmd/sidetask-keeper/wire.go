package main

// What the daemon and a keeper say to each other, and what a keeper leaves on
// disk. The rooms process and cmd/sidetask-keeper share no package, so this file
// is in both, the same but for its package clause (a test compares them).

// format is the number of these formats. A daemon accepts those of the version
// before: its keepers may still run.
const format = 1

// maxJob bounds a job on the wire: the kernel takes no larger environment.
const maxJob = 16 << 20

// maxRequest and maxAnswer bound one message on a control socket.
const (
	maxRequest = 1 << 20
	maxAnswer  = 64 << 10
)

// job is what a keeper has to do: a length (4 bytes, big endian) and this as
// JSON, with the locked file's descriptor beside the first byte. The environment
// goes this way only, never by argv or disk.
type job struct {
	Format    int      `json:"format"`
	Row       int64    `json:"row"`
	Dir       string   `json:"dir"`     // the task's folder: spools go below it
	Exits     string   `json:"exits"`   // the record is renamed into it
	Control   string   `json:"control"` // path of the control socket to be made
	Path      string   `json:"path"`    // program
	Argv      []string `json:"argv"`
	Env       []string `json:"env"`
	Cwd       string   `json:"cwd"`
	Bytes     int64    `json:"bytes"` // bound of one stream on disk
	Head      int64    `json:"head"`
	TimeoutMs int64    `json:"timeoutMs,omitempty"` // 0 = none
	GraceMs   int64    `json:"graceMs"`             // between TERM and KILL where a stop names none
	WaitingMs int64    `json:"waitingMs"`           // silence after which a reader of its input is said to wait
	Stdin     bool     `json:"stdin,omitempty"`     // takes input; else /dev/null
	Separate  bool     `json:"separate,omitempty"`  // stderr has a spool of its own
	Cols      int      `json:"cols,omitempty"`      // a terminal of this size, where positive
	Rows      int      `json:"rows,omitempty"`
	// Group is the folder of a control group into which the command is born, and
	// the keeper not; "" = none. The keeper removes it when nothing is left.
	Group string `json:"group,omitempty"`
}

// The spools below a task's folder.
const (
	outDir = "out" // stdout and stderr, in true order
	errDir = "err" // stderr where it is kept apart
	// orderDir, where they are kept apart, has the sizes of both streams, each
	// time that the keeper had copied something: 8 bytes each, big endian.
	orderDir = "order"
)

// report is the keeper's answer to a job, framed alike.
type report struct {
	PID   int    `json:"pid,omitempty"`   // of the command
	Error string `json:"error,omitempty"` // the command could not be started
	// Recorded: a record says so, too; the task is to end by it.
	Recorded bool `json:"recorded,omitempty"`
}

// alive is what a keeper writes into its locked file, a line each time that it
// knows more; the last counts. What else is in the file a crash wrote. No pid in
// it is trusted before the start time fits.
type alive struct {
	Format  int    `json:"format"`
	Keeper  int    `json:"keeper"`
	Start   uint64 `json:"start"` // of the keeper: field 22 of /proc/<pid>/stat
	Boot    string `json:"boot"`
	Command int    `json:"command"`
	Input   bool   `json:"input,omitempty"` // it takes input
	Group   string `json:"group,omitempty"` // the command's control group
	GraceMs int64  `json:"graceMs"`         // of a stop that names none
	// TimeoutMs is the command's time limit; 0 = none.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	// Pipes are the command's output pipes, as /proc/<pid>/fd names them.
	Pipes []string `json:"pipes,omitempty"`
}

// Why a keeper ended its command.
const (
	causeStop    = "stop"
	causeTimeout = "timeout"
)

// exit is the exit record: the truth about an end. An incomplete one is none.
type exit struct {
	Format     int    `json:"format"`
	Row        int64  `json:"row"`
	SpawnError string `json:"spawnError,omitempty"`
	PID        int    `json:"pid,omitempty"`
	Code       int    `json:"code"`             // where Signal is 0
	Signal     int    `json:"signal,omitempty"` // that ended the command
	Core       bool   `json:"core,omitempty"`
	Cause      string `json:"cause,omitempty"`
	TimeoutMs  int64  `json:"timeoutMs,omitempty"`
	EndedAt    int64  `json:"endedAt"`         // ms since the epoch
	RanMs      int64  `json:"ranMs,omitempty"` // from start to end, whatever the clock was set to
	Leftovers  int    `json:"leftovers,omitempty"`
	Dropped    int64  `json:"dropped,omitempty"` // bytes of output that a full disk did not take
	CPUMs      int64  `json:"cpuMs"`
	RSSMax     int64  `json:"rssMax"` // bytes
	// Of a control group with a memory limit: its most, and whether the limit
	// killed something in it.
	MemoryPeak  int64 `json:"memoryPeak,omitempty"`
	OutOfMemory bool  `json:"outOfMemory,omitempty"`
}

// What can be asked on a control socket: one JSON object a line, one answer each.
const (
	opStop   = "stop"   // TERM, the grace, KILL, for the whole tree; leftovers, too
	opWrite  = "write"  // data to stdin or the terminal; answered when it is taken
	opEOF    = "eof"    // end of stdin
	opResize = "resize" // of the terminal
	opStatus = "status"
)

type request struct {
	Op      string `json:"op"`
	GraceMs *int64 `json:"graceMs,omitempty"`
	Data    []byte `json:"data,omitempty"`
	Cols    int    `json:"cols,omitempty"`
	Rows    int    `json:"rows,omitempty"`
}

type answer struct {
	Error     string `json:"error,omitempty"`
	Written   int    `json:"written,omitempty"`
	Processes int    `json:"processes"` // that live in the tree, the command included
	// Names of the first few of them, where a stop is under way: survivors.
	Names   []string `json:"names,omitempty"`
	Waiting bool     `json:"waiting,omitempty"` // silent for 45 s, and blocked reading its input
}
