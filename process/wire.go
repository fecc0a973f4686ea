package process

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// What the daemon and a keeper say to each other, and what a keeper leaves on
// disk. The rooms process and cmd/sidetask-keeper share no package, so this file
// is in both, the same but for its package clause (a test compares them).
//
// Each message and each record is one line of fields, see encode. It is not JSON,
// since encoding/json builds its tables for each type at the first use: in a
// process that says four things in its life, that was a fourth of its start.

// format is the number of these formats. A daemon accepts those of the version
// before: its keepers may still run.
const format = 2

// maxJob bounds a job on the wire: the kernel takes no larger environment.
const maxJob = 16 << 20

// maxRequest and maxAnswer bound one message on a control socket.
const (
	maxRequest = 1 << 20
	maxAnswer  = 64 << 10
)

// job is what a keeper has to do: a length (4 bytes, big endian) and this as
// one line, with the locked file's descriptor beside the first byte. The environment
// goes this way only, never by argv or disk.
type job struct {
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

func (j *job) fields() []field {
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
	outDir = "out" // stdout and stderr, in true order
	errDir = "err" // stderr where it is kept apart
	// orderDir, where they are kept apart, has the sizes of both streams, each
	// time that the keeper had copied something: 8 bytes each, big endian.
	orderDir = "order"
)

// report is the keeper's answer to a job, framed alike.
type report struct {
	PID   int    // of the command
	Error string // the command could not be started
	// Recorded: a record says so, too; the task is to end by it.
	Recorded bool
}

func (r *report) fields() []field {
	return []field{
		{"pid", &r.PID},
		{"error", &r.Error},
		{"recorded", &r.Recorded},
	}
}

// alive is what a keeper writes into its locked file, a line each time that it
// knows more; the last counts. What else is in the file a crash wrote. No pid in
// it is trusted before the start time fits.
type alive struct {
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
	// of this keeper's own; 0 = none.
	Mark uint64
}

func (a *alive) fields() []field {
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

// Why a keeper ended its command.
const (
	causeStop    = "stop"
	causeTimeout = "timeout"
)

// exit is the exit record: the truth about an end. An incomplete one is none.
type exit struct {
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

func (e *exit) fields() []field {
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

// What can be asked on a control socket: one line each, and one answer.
const (
	opStop   = "stop"   // TERM, the grace, KILL, for the whole tree; leftovers, too
	opWrite  = "write"  // data to stdin or the terminal; answered when it is taken
	opEOF    = "eof"    // end of stdin
	opResize = "resize" // of the terminal
	opStatus = "status"
)

type request struct {
	Op      string
	GraceMs *int64
	Data    []byte
	Cols    int
	Rows    int
}

func (r *request) fields() []field {
	return []field{
		{"op", &r.Op},
		{"graceMs", &r.GraceMs},
		{"data", &r.Data},
		{"cols", &r.Cols},
		{"rows", &r.Rows},
	}
}

type answer struct {
	Error     string
	Written   int
	Processes int // that live in the tree, the command included
	// Names of the first few of them, where a stop is under way: survivors.
	Names   []string
	Waiting bool // silent for 45 s, and blocked reading its input
}

func (a *answer) fields() []field {
	return []field{
		{"error", &a.Error},
		{"written", &a.Written},
		{"processes", &a.Processes},
		{"names", &a.Names},
		{"waiting", &a.Waiting},
	}
}

// field is one field of a message: its name, and a pointer to its place.
type field struct {
	name string
	at   any
}

// encode makes one line: name=value, a space between two, strings quoted as Go
// quotes them. What is zero is left out; a list has its name before each element.
func encode(fields []field) []byte {
	var line []byte
	put := func(name, value string) {
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = append(append(append(line, name...), '='), value...)
	}
	for _, f := range fields {
		switch at := f.at.(type) {
		case *int:
			if *at != 0 {
				put(f.name, strconv.Itoa(*at))
			}
		case *int64:
			if *at != 0 {
				put(f.name, strconv.FormatInt(*at, 10))
			}
		case **int64: // may be absent, so that zero is said
			if *at != nil {
				put(f.name, strconv.FormatInt(**at, 10))
			}
		case *uint64:
			if *at != 0 {
				put(f.name, strconv.FormatUint(*at, 10))
			}
		case *bool:
			if *at {
				put(f.name, "true")
			}
		case *string:
			if *at != "" {
				put(f.name, strconv.Quote(*at))
			}
		case *[]byte:
			if len(*at) > 0 {
				put(f.name, strconv.Quote(string(*at)))
			}
		case *[]string:
			for _, element := range *at {
				put(f.name, strconv.Quote(element))
			}
		}
	}
	return append(line, '\n')
}

// errLine says that a text is no line of encode's, or a part of one.
var errLine = errors.New("incomplete or not understood")

// decode reads such a line. Fields that it does not know are passed over: a later
// version has more.
func decode(line []byte, fields []field) error {
	rest, whole := strings.CutSuffix(string(line), "\n")
	if !whole {
		return errLine
	}
	for rest != "" {
		name, after, ok := strings.Cut(rest, "=")
		if !ok {
			return errLine
		}
		value, _, _ := strings.Cut(after, " ")
		if strings.HasPrefix(after, `"`) {
			quoted, err := strconv.QuotedPrefix(after)
			if err != nil {
				return errLine
			}
			value = quoted
		}
		for _, f := range fields {
			if f.name != name {
				continue
			}
			if err := f.set(value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		rest = strings.TrimPrefix(after[len(value):], " ")
	}
	return nil
}

// set reads one value into the field's place.
func (f field) set(value string) (err error) {
	switch at := f.at.(type) {
	case *int:
		*at, err = strconv.Atoi(value)
	case *int64:
		*at, err = strconv.ParseInt(value, 10, 64)
	case **int64:
		*at = new(int64)
		**at, err = strconv.ParseInt(value, 10, 64)
	case *uint64:
		*at, err = strconv.ParseUint(value, 10, 64)
	case *bool:
		*at, err = strconv.ParseBool(value)
	case *string:
		*at, err = strconv.Unquote(value)
	case *[]byte:
		var text string
		text, err = strconv.Unquote(value)
		*at = []byte(text)
	case *[]string:
		var element string
		element, err = strconv.Unquote(value)
		*at = append(*at, element)
	}
	return err
}
