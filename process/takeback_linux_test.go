package process

import (
	"os"
	"testing"

	"sidetask/registry"

	"golang.org/x/sys/unix"
)

// TestTakeBackAfterTheEnd: a keeper that dies while its job is handed over is
// buried by whoever hears of it first. Its descriptor's number may be another
// file's by the time that the start fails.
func TestTakeBackAfterTheEnd(t *testing.T) {
	w := newWorld(t)
	k, err := startKeeper(keeperBinary)
	if err != nil {
		t.Fatal(err)
	}
	defer k.conn.Close()
	const row = registry.Row(1 << 30)
	gone := make(chan struct{})
	if err := w.p.track(&kept{row: row, pidfd: k.pidfd, gone: gone}); err != nil {
		t.Fatal(err)
	}
	if err := unix.PidfdSendSignal(k.pidfd, unix.SIGKILL, nil, 0); err != nil {
		t.Fatal(err)
	}
	<-gone
	var file *os.File
	for range 100 {
		if file, err = os.Open(os.DevNull); err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if int(file.Fd()) == k.pidfd {
			break
		}
	}
	if int(file.Fd()) != k.pidfd {
		t.Fatalf("descriptor %d is not given out again", k.pidfd)
	}
	w.p.takeBack(row, k)
	if _, err := file.Stat(); err != nil {
		t.Errorf("somebody else's file was closed: %v", err)
	}
}
