package client

import (
	"encoding/json"
	"fmt"
	"os"
)

// reportFD is the descriptor on which a started daemon reports, and
// reportVariable says that it is one.
const (
	reportFD       = 3
	reportVariable = "SIDETASK_REPORT"
)

// maxReport bounds the line that is read from a daemon that starts.
const maxReport = 64 << 10

// Exit statuses of a daemon that did not come up.
const (
	StatusUnavailable = 69 // EX_UNAVAILABLE
	StatusBusy        = 75 // EX_TEMPFAIL: another daemon has the state's lock
	StatusConfig      = 78 // EX_CONFIG
)

// Report is what a started daemon says once, as one JSON line: that it
// listens, or why it ends.
type Report struct {
	Ready  bool   `json:"ready"`
	Socket string `json:"socket,omitempty"` // on which it, or the daemon that was first, listens
	Error  string `json:"error,omitempty"`
	Hint   string `json:"hint,omitempty"`
	Status int    `json:"status,omitempty"`
	PID    int    `json:"pid,omitempty"` // of the daemon that was first
}

// unheard is what to do about a daemon that has the lock and is not to be heard
// on its socket.
func (r Report) unheard() string {
	if r.PID == 0 {
		return r.Hint
	}
	return fmt.Sprintf("it does not answer there: end it with `kill %d` and run the command again; its tasks go on", r.PID)
}

// Write sends the report to whoever started the daemon and closes the pipe. A
// starter that is gone is no error: the daemon serves others.
func (r Report) Write(pipe *os.File) {
	line, err := json.Marshal(r)
	if err == nil {
		_, _ = pipe.Write(append(line, '\n'))
	}
	_ = pipe.Close()
}
