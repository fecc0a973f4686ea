package daemon_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fsnotify/fsnotify"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// removeState deletes the whole state folder.
func (w *world) removeState() {
	w.t.Helper()
	// The daemon may be faster than the removal of the whole folder.
	if err := os.RemoveAll(w.paths.State); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
		w.t.Fatal(err)
	}
}

// awaitFile returns once there is a file in a folder that is watched.
func (w *world) awaitFile(path string) {
	w.t.Helper()
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = watcher.Close() }()
	var dirs []string
	for dir := filepath.Dir(path); dir != filepath.Dir(w.dir); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	for {
		for _, dir := range dirs { // from the top: one that is not there yet is heard of when it comes
			_ = watcher.Add(dir)
		}
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-watcher.Events:
		case <-w.ctx.Done():
			w.t.Fatalf("%s does not come%s", path, w.log())
		}
	}
}

// Somebody deletes the state folder under a living daemon, which has an owner, a
// task that has ended and two that run, one of them of before. Nothing of it is lost,
// neither to a crash nor to a restart, and no second daemon can come.
func TestStateFolderComesBack(t *testing.T) {
	for how, end := range map[string]func(w *world, c *client.Client){
		"a crash": func(w *world, _ *client.Client) { w.kill() },
		"a restart": func(w *world, c *client.Client) {
			w.call(c, rpc.MethodDaemonRestart, rpc.DaemonRestart{}, nil)
			<-c.Done()
		},
		"a stop": func(w *world, c *client.Client) {
			keep, awaitEnd := true, w.watch(w.pid())
			w.call(c, rpc.MethodDaemonStop, rpc.DaemonStop{KeepTasks: &keep}, nil)
			awaitEnd()
		},
	} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			c := w.dial()
			w.call(c, rpc.MethodOwnerRegister, rpc.OwnerRegister{Token: strings.Repeat("a", 32), Agent: "a", Session: "s"}, nil)
			w.wait(c, w.start(c, "exit 3").ID)
			before := w.start(c, "exec sleep 1000")
			w.removeState()
			w.awaitFile(w.paths.Database())
			w.call(c, rpc.MethodDaemonStatus, nil, nil) // it looks again: the removal may have taken new files along
			if !strings.Contains(w.log(), "it is made anew") {
				t.Errorf("the log made anew says%s", w.log())
			}
			after := w.start(c, "exec sleep 1000")
			second := w.command("daemon")
			second.Env = append(os.Environ(), "SIDETASK_SOCKET="+filepath.Join(w.dir, "other"))
			if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "already serves this state folder") {
				t.Errorf("a second daemon: %v\n%s", err, out)
			}
			if holder, _ := client.FindHolder(w.paths.Lock()); !holder.Serves || holder.PID != w.pid() {
				t.Errorf("the lock made anew says %+v", holder)
			}
			end(w, c)
			c = w.dial()
			var list rpc.TaskListResult
			w.call(c, rpc.MethodTaskList, rpc.TaskList{All: true}, &list)
			if len(list.Tasks) != 3 || list.Tasks[0].Detail == nil || *list.Tasks[0].Detail != "exit code: 3" {
				t.Errorf("tasks %+v%s", list.Tasks, w.log())
			}
			for _, task := range []rpc.Task{before, after} {
				w.call(c, rpc.MethodTaskKill, rpc.TaskKill{TaskRef: rpc.TaskRef{ID: task.ID}}, nil)
				if got := detailOf(w.wait(c, task.ID)); got != "killed, killed by the user" {
					t.Errorf("%s ended as %s%s", task.ID, got, w.log())
				}
			}
			var owners rpc.OwnerListResult
			w.call(c, rpc.MethodOwnerList, nil, &owners)
			if len(owners.Owners) != 1 || owners.Owners[0].Session != "s" {
				t.Errorf("owners %+v", owners.Owners)
			}
		})
	}
}

// As long as it cannot be made anew the daemon says so, and is not replaced.
func TestStateFolderCannotComeBack(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	if err := os.Rename(w.paths.State, w.paths.State+".away"); err != nil {
		t.Fatal(err)
	}
	w.touch(w.paths.State)
	var status rpc.DaemonStatus
	w.call(c, rpc.MethodDaemonStatus, nil, &status)
	want := "the state folder " + w.paths.State + " was deleted and cannot be made anew"
	if len(status.Warnings) != 1 || !strings.HasPrefix(status.Warnings[0], want) || !strings.Contains(status.Warnings[0], "is in the way") {
		t.Errorf("warnings %q", status.Warnings)
	}
	if err := c.Call(w.ctx, rpc.MethodDaemonRestart, rpc.DaemonRestart{}, nil); err == nil || !strings.HasPrefix(err.Error(), "not restarted: "+want) {
		t.Errorf("a restart: %v", err)
	}
	if err := os.Remove(w.paths.State); err != nil {
		t.Fatal(err)
	}
	w.call(c, rpc.MethodDaemonStatus, nil, &status)
	if len(status.Warnings) != 0 {
		t.Errorf("mended: warnings %q", status.Warnings)
	}
	w.wait(c, w.start(c, "true").ID)
}

// A database that the successor could not open is found before the daemon gives up
// what it has in memory: one of a newer version is refused, one that was emptied or
// damaged under the daemon is made anew.
func TestRestartLooksAtTheDatabase(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	w.wait(c, w.start(c, "exit 3").ID)
	db, err := sql.Open("sqlite", w.paths.Database())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(w.ctx, "INSERT INTO migrations VALUES (1000, 0)"); err != nil {
		t.Fatal(err)
	}
	err = c.Call(w.ctx, rpc.MethodDaemonRestart, rpc.DaemonRestart{}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "not restarted, the daemon goes on as it is: ") || !strings.Contains(err.Error(), "written by a newer version of sidetask") {
		t.Fatalf("with the schema of a newer version: %v%s", err, w.log())
	}
	if _, err := db.ExecContext(w.ctx, "DELETE FROM migrations WHERE version = 1000"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(w.ctx, "PRAGMA wal_checkpoint(RESTART)"); err != nil { // all is in the file
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []struct {
		how string
		do  func(file *os.File, size int64) error
	}{
		{"pages overwritten", func(file *os.File, size int64) error {
			_, err := file.WriteAt(bytes.Repeat([]byte{0xff}, int(size)-4096), 4096)
			return err
		}},
		{"emptied", func(file *os.File, _ int64) error {
			return errors.Join(os.Truncate(w.paths.Database()+"-wal", 0), file.Truncate(0))
		}},
	} {
		file, err := os.OpenFile(w.paths.Database(), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(damage.do(file, info.Size()), file.Close()); err != nil {
			t.Fatal(err)
		}
		w.call(c, rpc.MethodDaemonRestart, rpc.DaemonRestart{}, nil)
		<-c.Done()
		c = w.dial()
		var list rpc.TaskListResult
		w.call(c, rpc.MethodTaskList, rpc.TaskList{All: true}, &list)
		if len(list.Tasks) != 1 || detailOf(list.Tasks[0]) != "completed, exit code: 3" {
			t.Errorf("%s: tasks %+v%s", damage.how, list.Tasks, w.log())
		}
	}
}

// Another daemon takes the lock, and the database with it, before the first can make its
// lock anew: the first ends, whether the other is there still or not, and its task is the
// next one's.
func TestLockIsTakenOver(t *testing.T) {
	for _, stays := range []bool{true, false} {
		w := newWorld(t)
		c := w.dial()
		pipe := filepath.Join(w.dir, "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		task := w.start(c, "read line < "+pipe+"; exit 4")
		awaitEnd := w.watch(w.pid())
		another, err := os.Create(filepath.Join(w.dir, "lock"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := another.WriteString(strconv.Itoa(os.Getpid()) + " /other\nserving\n"); err != nil {
			t.Fatal(err)
		}
		if stays {
			if err := syscall.Flock(int(another.Fd()), syscall.LOCK_EX); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(another.Name(), w.paths.Lock()); err != nil {
			t.Fatal(err)
		}
		awaitEnd()
		if !strings.Contains(w.log(), "another daemon took it: this one ends") {
			t.Errorf("it ended otherwise%s", w.log())
		}
		if err := another.Close(); err != nil {
			t.Fatal(err)
		}
		c = w.dial()
		if err := os.WriteFile(pipe, []byte("\n"), 0); err != nil {
			t.Fatal(err)
		}
		if ended := detailOf(w.wait(c, task.ID)); ended != "completed, exit code: 4" {
			t.Errorf("the other stays: %v: the task of before: %s%s", stays, ended, w.log())
		}
	}
}
