package client

import (
	"encoding/json"
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
