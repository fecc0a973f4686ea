package daemon_test

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"sidetask/rpc"
)

// TestClockIsSet: the wall clock was set by a day, back or forward, since tasks
// started (their records say a time that is a day off). Nothing is negative, no
// task took a day, and all go on (FIELD "Environment, cwd, locale, clock").
func TestClockIsSet(t *testing.T) {
	for name, step := range map[string]time.Duration{"back": 24 * time.Hour, "forward": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.dial()
			gate := filepath.Join(w.dir, "gate")
			if err := syscall.Mkfifo(gate, 0o600); err != nil {
				t.Fatal(err)
			}
			before := w.wait(c, w.start(c, "true").ID)
			live := w.start(c, "read x < "+gate+"; exit 5")
			limited := w.start(c, "sleep 1000")
			w.kill()
			db, err := sql.Open("sqlite", w.paths.Database())
			if err != nil {
				t.Fatal(err)
			}
			_, err = db.Exec("UPDATE tasks SET started_at = started_at + ?1, finished_at = CASE finished_at WHEN 0 THEN 0 ELSE finished_at + ?1 END", step.Milliseconds())
			if err != nil || db.Close() != nil {
				t.Fatal(err)
			}

			c = w.dial()
			w.shown(before.ID, live.ID, limited.ID)
			if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
				t.Fatal(err)
			}
			w.call(c, rpc.MethodTaskKill, rpc.TaskKill{TaskRef: rpc.TaskRef{ID: limited.ID}}, nil)
			for id, want := range map[string]string{live.ID: "completed, exit code: 5", limited.ID: "killed, killed by the user"} {
				ended := w.wait(c, id)
				if took := *ended.FinishedAt - ended.StartedAt; took < 0 || took > time.Hour.Milliseconds() {
					t.Errorf("%s took %d ms", id, took)
				}
				if detailOf(ended) != want {
					t.Errorf("%s ended %s, want %s", id, detailOf(ended), want)
				}
			}
			w.shown(before.ID, live.ID, limited.ID)
		})
	}
}

// shown lists these tasks as a person sees them, and a program: no age and no
// duration is negative.
func (w *world) shown(ids ...string) {
	w.t.Helper()
	text, err := w.command("ls", "-a").Output()
	if err != nil || regexp.MustCompile(`-\d+(\.\d)?(ms|s|m|h|d)`).Match(text) {
		w.t.Errorf("ls: %v\n%s", err, text)
	}
	text, err = w.command("ls", "-a", "--json").Output()
	if err != nil {
		w.t.Fatal(err, stderrOf(err))
	}
	var list struct {
		Tasks []struct {
			ID         string
			DurationMs int64
		}
	}
	if err := json.Unmarshal(text, &list); err != nil || len(list.Tasks) != len(ids) {
		w.t.Errorf("%d tasks are listed, want %d; %v", len(list.Tasks), len(ids), err)
	}
	for _, task := range list.Tasks {
		if task.DurationMs < 0 {
			w.t.Errorf("%s lasts %d ms", task.ID, task.DurationMs)
		}
	}
}
