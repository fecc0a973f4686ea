package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"sidetask/process/wire"
)

// reportFD is the descriptor on which a started daemon reports, and
// reportVariable says that it is one.
const (
	reportFD       = 3
	reportVariable = "SIDETASK_REPORT"
)

// maxReport bounds the line that is read from a daemon that starts.
const maxReport = 64 << 10

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

// advice is what to do about a daemon that has the lock and is not to be heard on
// the socket.
func (r Report) advice(socket string) string {
	if next := (Holder{PID: r.PID, Socket: r.Socket}).Advice(socket); next != "" {
		return next
	}
	return r.Hint
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

// hear reads the daemon's report, or why a keeper did not start the helper.
// ended is how the helper ended, where that is known.
func hear(ctx context.Context, from reportEnd, ended error) (Report, error) {
	stop := context.AfterFunc(ctx, func() { _ = from.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	line, err := bufio.NewReader(io.LimitReader(from, maxReport)).ReadBytes('\n')
	if ctx.Err() != nil {
		return Report{}, fmt.Errorf("it was not ready in time: %w", ctx.Err())
	}
	var report Report
	if err == nil {
		err = json.Unmarshal(line, &report)
	}
	if err == nil {
		return report, nil
	}
	var refusal wire.Answer
	if wire.Decode(line, &refusal) == nil && refusal.Error != "" {
		return Report{}, fmt.Errorf("%w (%s)", errKeeper, refusal.Error)
	}
	if ended != nil {
		err = ended
	}
	return Report{}, fmt.Errorf("it ended without a word (%w): see its log, or run `sidetask daemon`", err)
}

// reportEnd is our end of the pipe, or of the connection to a keeper, on which
// the daemon reports.
type reportEnd interface {
	io.Reader
	SetReadDeadline(t time.Time) error
}
