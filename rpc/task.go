package rpc

import "encoding/json"

// Status of a task (BEHAVIOUR T1). The values are frozen: they are on the
// wire, in the store and in texts that models read.
type Status string

// The five statuses.
const (
	StatusRunning   Status = "running"
	StatusStopping  Status = "stopping"
	StatusCompleted Status = "completed"
	StatusKilled    Status = "killed"
	StatusFailed    Status = "failed"
)

// Terminal reports whether nothing leaves the status any more.
func (s Status) Terminal() bool {
	return s == StatusCompleted || s == StatusKilled || s == StatusFailed
}

// Task is the public snapshot of a task. It never has the owner's session nor
// the reported bit, but to the operator, beside it.
type Task struct {
	ID         string    `json:"id"`
	Kind       string    `json:"kind"`
	Label      string    `json:"label"`
	Status     Status    `json:"status"`
	Detail     *string   `json:"detail,omitempty"`
	StartedAt  int64     `json:"startedAt"`
	FinishedAt *int64    `json:"finishedAt,omitempty"`
	Operator   *Operator `json:"operator,omitempty"`
}

// Operator is what the person sees of a task beyond its public snapshot.
type Operator struct {
	Owner     string `json:"owner,omitempty"` // handle, o-12; empty when unowned
	Agent     string `json:"agent,omitempty"`
	Session   string `json:"session,omitempty"`
	Scope     string `json:"scope"`
	Reported  bool   `json:"reported"`
	PID       int    `json:"pid,omitempty"`
	Bytes     int64  `json:"bytes"`     // of output written so far
	Leftovers int    `json:"leftovers"` // processes left running after the end
	ExitCode  *int   `json:"exitCode,omitempty"`
	Signal    string `json:"signal,omitempty"` // SIGTERM
	TimedOut  bool   `json:"timedOut,omitempty"`
	CPUMs     *int64 `json:"cpuMs,omitempty"`
	RSSMax    *int64 `json:"rssMax,omitempty"` // bytes
}

// As names the owner that a call acts as. Token is the owner's secret;
// Session (and Agent, if that is ambiguous) is the operator's way.
type As struct {
	Token   string `json:"token,omitempty"`
	Session string `json:"session,omitempty"`
	Agent   string `json:"agent,omitempty"`
}

// TaskRef is As and a task id.
type TaskRef struct {
	As
	ID string `json:"id"`
}

// Size is a terminal's size in cells.
type Size struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// TaskStart is the parameter of task/start: a command task of kind bash.
type TaskStart struct {
	As
	Command          string            `json:"command"`
	Label            string            `json:"label,omitempty"` // the command, where empty
	Cwd              string            `json:"cwd,omitempty"`
	Env              map[string]string `json:"env,omitempty"` // laid over the owner's
	OutputLimitBytes json.RawMessage   `json:"outputLimitBytes,omitempty"`
	TimeoutMs        json.RawMessage   `json:"timeoutMs,omitempty"`
	PTY              *Size             `json:"pty,omitempty"`
	Stdin            bool              `json:"stdin,omitempty"`
	Stderr           string            `json:"stderr,omitempty"` // "separate", or empty for one stream
	Shared           bool              `json:"shared,omitempty"` // unowned (operator only)
	Key              string            `json:"key,omitempty"`    // the same key of the same owner gives the same task
}

// TaskRegister is the parameter of task/register, an outside producer's start.
type TaskRegister struct {
	As
	Shared           bool            `json:"shared,omitempty"`
	Kind             string          `json:"kind"`
	Label            string          `json:"label"`
	Stream           bool            `json:"stream"`
	OutputLimitBytes json.RawMessage `json:"outputLimitBytes,omitempty"`
}

// TaskRegistered is the result of task/register. Key lets the producer resume.
type TaskRegistered struct {
	Task Task   `json:"task"`
	Key  string `json:"key"`
}

// TaskAppend is the parameter of task/append.
type TaskAppend struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// TaskSettle is the parameter of task/settle.
type TaskSettle struct {
	ID     string  `json:"id"`
	Status Status  `json:"status"`
	Detail *string `json:"detail,omitempty"`
	Output *string `json:"output,omitempty"`
}

// TaskResume is the parameter of task/resume.
type TaskResume struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

// TaskResult is the result of calls that answer with one task.
type TaskResult struct {
	Task Task `json:"task"`
}

// TaskOutput is the parameter of task/output, the consuming read.
type TaskOutput struct {
	TaskRef
	Wait      bool            `json:"wait,omitempty"`
	TimeoutMs json.RawMessage `json:"timeoutMs,omitempty"`
	Until     string          `json:"until,omitempty"` // RE2
	From      string          `json:"from,omitempty"`  // "start"
}

// TaskOutputResult is the result of task/output. Text is the new output,
// Content the complete bounded text a model would see.
type TaskOutputResult struct {
	Text    string    `json:"text"`
	Task    Task      `json:"task"`
	Content []Content `json:"content"`
}

// TaskList is the parameter of task/list.
type TaskList struct {
	As
	All   bool   `json:"all,omitempty"`
	Limit int    `json:"limit,omitempty"`
	After string `json:"after,omitempty"` // the next of an earlier answer
}

// TaskListResult is the result of task/list; Next continues it.
type TaskListResult struct {
	Tasks []Task `json:"tasks"`
	Next  string `json:"next,omitempty"`
}

// TaskKill is the parameter of task/kill.
type TaskKill struct {
	TaskRef
	Reason *string `json:"reason,omitempty"`
}

// The outcomes of task/kill.
const (
	KillRequested       = "cancellation-requested"
	KillAlreadyFinished = "already-finished"
)

// TaskKillResult is the result of task/kill.
type TaskKillResult struct {
	Outcome string    `json:"outcome"`
	Task    Task      `json:"task"`
	Content []Content `json:"content"`
}

// TaskWait is the parameter of task/wait.
type TaskWait struct {
	TaskRef
	TimeoutMs json.RawMessage `json:"timeoutMs"`
}

// TaskTail is the parameter of task/tail. Offset is a byte offset, "end", or
// a negative number that counts back from the end; absent is 0.
type TaskTail struct {
	TaskRef
	Offset   json.RawMessage `json:"offset,omitempty"`
	MaxBytes int             `json:"maxBytes,omitempty"`
	Follow   bool            `json:"follow,omitempty"`
	Stream   string          `json:"stream,omitempty"` // "stdout" or "stderr", for stderr:"separate"
}

// TaskTailResult is the result of task/tail. Lost counts the bytes between the
// asked and the given offset that are gone from the spool.
type TaskTailResult struct {
	Data     string `json:"data"`
	Encoding string `json:"encoding"` // "utf-8" or "base64"
	Offset   int64  `json:"offset"`
	Next     int64  `json:"next"`
	Lost     int64  `json:"lost"`
	EOF      bool   `json:"eof"`
}

// TaskWrite is the parameter of task/write.
type TaskWrite struct {
	TaskRef
	Data     string `json:"data,omitempty"`
	Encoding string `json:"encoding,omitempty"` // "base64", or empty for text
	EOF      bool   `json:"eof,omitempty"`
	Resize   *Size  `json:"resize,omitempty"`
}

// TaskWritten is the result of task/write.
type TaskWritten struct {
	Written int `json:"written"`
}

// TaskSubscribe is the parameter of task/subscribe.
type TaskSubscribe struct {
	As
	Scope string `json:"scope,omitempty"`
	Since *int64 `json:"since,omitempty"`
}

// TaskSubscribed is the result of task/subscribe.
type TaskSubscribed struct {
	Seq   int64  `json:"seq"`
	Tasks []Task `json:"tasks"`
	Reset bool   `json:"reset,omitempty"`
}

// TaskChanged is the notification task/changed.
type TaskChanged struct {
	Seq  int64 `json:"seq"`
	Task Task  `json:"task"`
}

// TaskRemoved is the notification task/removed.
type TaskRemoved struct {
	Seq int64  `json:"seq"`
	ID  string `json:"id"`
}

// TaskPrune is the parameter of task/prune: finished tasks older than this go
// now, but for what retention protects. Operator only.
type TaskPrune struct {
	OlderMs int64 `json:"olderMs,omitempty"`
}

// TaskPruned is the result of task/prune.
type TaskPruned struct {
	Removed int   `json:"removed"`
	Bytes   int64 `json:"bytes"` // of output freed
}

// TaskCancel is the daemon's request task/cancel to an outside producer.
type TaskCancel struct {
	ID     string  `json:"id"`
	Reason *string `json:"reason,omitempty"`
}
