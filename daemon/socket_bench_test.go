package daemon_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// BenchmarkSocket measures the two ways over the socket that an agent feels,
// beside a parent that forks, execs and waits itself in the same run: the call
// of task/start → the command's first instruction (goal: 3×), and the command's end
// → inbox/pending at its host (goal: 5×).
func BenchmarkSocket(b *testing.B) {
	w := newWorld(b)
	told := make(chan time.Time, 1)
	o := w.options()
	o.Handle = func(_ context.Context, _ *client.Client, method string, _ json.RawMessage) (any, error) {
		if method == rpc.NotifyInboxPending {
			select {
			case told <- time.Now():
			default: // rung again for the same one
			}
		}
		return nil, nil
	}
	c, err := client.Dial(w.ctx, o)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	as := rpc.As{Token: token}
	w.call(c, rpc.MethodOwnerRegister, rpc.OwnerRegister{Token: token, Agent: "bench", Session: "s", Cwd: w.dir}, nil)

	first, last := filepath.Join(w.dir, "first"), filepath.Join(w.dir, "last")
	// Both are read after the end: no reader sees half a stamp.
	command := "echo $EPOCHREALTIME > first; echo $EPOCHREALTIME > last"
	var starts, ends pairs
	for b.Loop() {
		_ = exec.Command("rm", "-f", first, last).Run()
		direct := exec.Command("bash", "-c", command)
		direct.Dir = w.dir
		directly := time.Now()
		if err := direct.Run(); err != nil {
			b.Fatal(err)
		}
		buried := time.Now()
		directStart, directEnd := stamped(b, first).Sub(directly.Round(0)), buried.Round(0).Sub(stamped(b, last))

		_ = exec.Command("rm", "-f", first, last).Run()
		began := time.Now()
		w.call(c, rpc.MethodTaskStart, rpc.TaskStart{As: as, Command: command}, nil)
		known := <-told
		starts.add(stamped(b, first).Sub(began.Round(0)), directStart)
		ends.add(known.Round(0).Sub(stamped(b, last)), directEnd)
		var claimed rpc.InboxClaimed
		w.call(c, rpc.MethodInboxClaim, rpc.InboxClaim{As: as, Reason: rpc.ClaimUser}, &claimed)
		w.call(c, rpc.MethodInboxAck, rpc.InboxAck{As: as, Lease: claimed.Lease}, nil)
	}
	starts.report(b, "start→first-instruction", time.Microsecond, "", "(goal≤3)")
	ends.report(b, "end→inbox/pending", time.Microsecond, "", "(goal≤5)")
}
