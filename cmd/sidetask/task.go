package main

import (
	"time"

	"golang.org/x/sys/unix"

	"sidetask/render"
	"sidetask/rpc"
)

// taskJSON is a task as --json prints it.
type taskJSON struct {
	ID         string  `json:"id"`
	Kind       string  `json:"kind"`
	Label      string  `json:"label"`
	Status     string  `json:"status"`
	Detail     *string `json:"detail,omitempty"`
	StartedAt  string  `json:"startedAt"`
	FinishedAt string  `json:"finishedAt,omitempty"`
	DurationMs int64   `json:"durationMs"`

	Owner     string `json:"owner,omitempty"`
	Agent     string `json:"agent,omitempty"`
	Session   string `json:"session,omitempty"`
	Scope     string `json:"scope,omitempty"`
	Reported  bool   `json:"reported"`
	PID       int    `json:"pid,omitempty"`
	Bytes     int64  `json:"bytes"`
	Leftovers int    `json:"leftovers"`
	ExitCode  *int   `json:"exitCode,omitempty"`
	Signal    string `json:"signal,omitempty"`
	TimedOut  bool   `json:"timedOut,omitempty"`
	CPUMs     *int64 `json:"cpuMs,omitempty"`
	RSSMax    *int64 `json:"rssMax,omitempty"`
}

func jsonTask(t rpc.Task, now time.Time) taskJSON {
	out := taskJSON{
		ID: t.ID, Kind: t.Kind, Label: t.Label, Status: string(t.Status), Detail: t.Detail,
		StartedAt: stamp(t.StartedAt), DurationMs: duration(t, now).Milliseconds(),
	}
	if t.FinishedAt != nil {
		out.FinishedAt = stamp(*t.FinishedAt)
	}
	if o := t.Operator; o != nil {
		out.Owner, out.Agent, out.Session, out.Scope = o.Owner, o.Agent, o.Session, o.Scope
		out.Reported, out.PID, out.Bytes, out.Leftovers = o.Reported, o.PID, o.Bytes, o.Leftovers
		out.ExitCode, out.Signal, out.TimedOut = o.ExitCode, o.Signal, o.TimedOut
		out.CPUMs, out.RSSMax = o.CPUMs, o.RSSMax
	}
	return out
}

// jsonTasks is a list for JSON, never null.
func jsonTasks(tasks []rpc.Task, now time.Time) []taskJSON {
	list := make([]taskJSON, 0, len(tasks))
	for _, t := range tasks {
		list = append(list, jsonTask(t, now))
	}
	return list
}

// duration is how long the task ran, or has run. A clock that was set back
// makes it 0, not negative.
func duration(t rpc.Task, now time.Time) time.Duration {
	end := now.UnixMilli()
	if t.FinishedAt != nil {
		end = *t.FinishedAt
	}
	return time.Duration(max(end-t.StartedAt, 0)) * time.Millisecond
}

// exitStatus is what the task's end means to a shell: the command's own exit
// status, 128+n after a signal, 124 after a time-out, 1 for what never ran or
// was lost. A task of an outside producer has no exit status: 0, 143 or 1 for
// completed, killed and failed.
func exitStatus(t rpc.Task) int {
	if o := t.Operator; o != nil {
		if o.TimedOut {
			return statusTimeout
		}
		if o.ExitCode != nil {
			return *o.ExitCode
		}
		if n := unix.SignalNum(o.Signal); n != 0 {
			return 128 + int(n)
		}
	}
	switch t.Status {
	case rpc.StatusCompleted:
		return 0
	case rpc.StatusKilled:
		return 128 + int(unix.SIGTERM)
	}
	return statusError
}

// ended makes an exit status the command's result: nil for 0.
func ended(t rpc.Task) error {
	if status := exitStatus(t); status != 0 {
		return exit(status)
	}
	return nil
}

// statusText is a task's status with its detail, on one line.
func statusText(t rpc.Task) string {
	if t.Detail == nil {
		return string(t.Status)
	}
	return string(t.Status) + ", " + render.OneLine(*t.Detail)
}
