package config

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestOverflow: a save is seen though the kernel dropped its event, and the watches go
// on to be where the folder was replaced meanwhile.
func TestOverflow(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Skip(err)
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || most > 1<<18 {
		t.Skipf("fs.inotify.max_queued_events is %s, %v", text, err)
	}
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.toml")
	write(t, path, version(1))
	h := open(t, path)
	looked, goOn := make(chan struct{}), make(chan struct{})
	h.Subscribe(nil, func(_, next *Settings) {
		if versionOf(next) == 2 {
			close(looked)
			<-goOn
		}
	})
	h.run()
	write(t, path, version(2))
	<-looked              // and as long as that commit takes, no event is read
	var files [2]*os.File // two events that are alike are one, so they take turns
	for i := range files {
		if files[i], err = os.Create(filepath.Join(dir, strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
		defer files[i].Close()
	}
	for i := range most + most/4 {
		if _, err := files[i%2].WriteAt([]byte{1}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, path, version(3))
	close(goOn)
	h.await(3)
	write(t, path, version(4))
	h.await(4)
}
