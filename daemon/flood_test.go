package daemon_test

import (
	"fmt"
	"sync"
	"testing"
	"unicode/utf8"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// TestFlood: whatever commands write and however much — without an end, in a
// line of 200 MB, ten million empty lines, bytes that are no text —, others are
// served meanwhile, and neither the daemon nor a keeper grows with it (FIELD
// "Output content", "Bounds, disk, memory").
func TestFlood(t *testing.T) {
	w := newWorld(t)
	const kept = 4 << 20
	w.configure(fmt.Sprintf("[commands]\nspoolBytes = %d\nkeepHeadBytes = 65536\n", kept))
	c := w.dial()
	w.wait(c, w.start(c, "echo what is made once is made").ID)
	before := kib(t, w.pid(), "status", "VmHWM")

	endless := w.start(c, "yes")
	floods := map[string]int64{
		"head -c 200000000 /dev/zero | tr '\\0' x": 200_000_000,
		"yes '' | head -n 10000000":                10_000_000,
		"head -c 50000000 /dev/urandom":            50_000_000,
		"yes é | head -n 10000000 >&2":             30_000_000,
	}
	var writers, others sync.WaitGroup
	written := make(chan struct{})
	for command, size := range floods {
		writers.Go(func() {
			reader := w.dial()
			ended := w.wait(reader, w.start(reader, command+"; echo over").ID)
			if got := ended.Operator.Bytes; got != size+int64(len("over\n")) {
				t.Errorf("%q: %d bytes were copied, want %d and the last line", command, got, size)
			}
			w.looks(reader, ended.ID)
		})
	}
	served := 0
	others.Go(func() {
		other := w.dial()
		for {
			task := w.wait(other, w.start(other, "echo served").ID)
			if got := w.tail(other, task.ID); got != "served\n" {
				t.Errorf("another client's task printed %q", got)
			}
			w.looks(other, endless.ID)
			served++
			select {
			case <-written:
				return
			default:
			}
		}
	})
	writers.Wait()
	close(written)
	others.Wait()
	t.Logf("%d tasks of another client ran meanwhile", served)

	// A command must never wait for room that is bounded: this one is to go on for ever.
	for written := int64(0); written < 10*kept; {
		var now rpc.TaskResult
		w.call(c, rpc.MethodTaskGet, rpc.TaskRef{ID: endless.ID}, &now)
		if written = now.Task.Operator.Bytes; now.Task.Status != rpc.StatusRunning {
			t.Fatalf("the endless one is %s after %d bytes", now.Task.Status, written)
		}
	}
	var status rpc.DaemonStatus
	w.call(c, rpc.MethodDaemonStatus, rpc.Empty{}, &status)
	if most := int64(len(floods)+2) * kept; status.DiskBytes > most {
		t.Errorf("%d bytes are on disk, want %d at most", status.DiskBytes, most)
	}
	// What some reads need at once may stay; of 290 MB and more that went by, nothing.
	grown, keepers := kib(t, w.pid(), "status", "VmHWM")-before, private(t, parent(t, endless.Operator.PID))
	t.Logf("the daemon grew by %.0f KiB, the endless one's keeper has %.0f KiB of its own", grown, keepers)
	if grown > 32<<10 {
		t.Errorf("the daemon grew by %.0f KiB", grown)
	}
	if keepers > 8<<10 { // the limit at which a keeper collects its garbage
		t.Errorf("the endless one's keeper has %.0f KiB of its own", keepers)
	}
}

// looks reads as a model does, and as a person: each gets a bounded piece, and
// text.
func (w *world) looks(c *client.Client, id string) {
	w.t.Helper()
	var read rpc.TaskOutputResult
	w.call(c, rpc.MethodTaskOutput, rpc.TaskOutput{TaskRef: rpc.TaskRef{ID: id}}, &read)
	if !utf8.ValidString(read.Text) || len(read.Text) > 64<<10 {
		w.t.Errorf("%s: a read gives %d bytes, valid %v", id, len(read.Text), utf8.ValidString(read.Text))
	}
	var piece rpc.TaskTailResult
	w.call(c, rpc.MethodTaskTail, rpc.TaskTail{TaskRef: rpc.TaskRef{ID: id}, Offset: []byte("-100000"), MaxBytes: 64 << 10}, &piece)
	if len(piece.Data) > 64<<10*3/2 { // in base64 it is a third more
		w.t.Errorf("%s: 64 KiB of the end are %d bytes", id, len(piece.Data))
	}
}

// parent of a process: a command's is its keeper.
func parent(t testing.TB, pid int) int {
	t.Helper()
	return int(kib(t, pid, "status", "PPid"))
}
