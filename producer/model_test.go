package producer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sidetask/paths"
	"sidetask/registry"
	"sidetask/scope"
	"sidetask/store"
)

const (
	modelGrace = time.Minute
	modelConns = 3
)

// link is a producer's connection that agrees to every cancel.
type link struct{ asked []string }

func (l *link) Cancel(_ context.Context, id string, _ *string) error {
	l.asked = append(l.asked, id)
	return nil
}

// mTask is a task as the rules have it, in the plainest way.
type mTask struct {
	id, key string
	stream  bool
	holder  *link // nil: lost
	gives   time.Time
	text    string
	status  registry.Status
	detail  string
	byUser  bool
}

func (m *mTask) ended() bool { return m.status.Terminal() }

// ends counts the ends that are committed.
type ends struct {
	registry.Store
	of map[registry.Row]int
}

func (e *ends) Commit(c registry.Change) error {
	for _, r := range c.Tasks {
		if r.Status.Terminal() && e.of[r.Row] == 0 {
			e.of[r.Row]++
		} else if !r.Status.Terminal() && e.of[r.Row] > 0 {
			e.of[r.Row]++ // it lives again
		}
	}
	return e.Store.Commit(c)
}

// machine has outside producers on a real registry and store, beside the model.
type machine struct {
	t        *rapid.T
	dir      string
	ends     map[registry.Row]int
	registry *registry.Registry
	outside  *Outside
	conns    [modelConns]*link
	tasks    []*mTask
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) open() {
	kept, err := store.Open(filepath.Join(m.dir, "db"))
	m.must(err)
	m.registry, err = registry.Open(registry.Options{
		Store: &ends{kept, m.ends}, Limit: func() int64 { return 1000 },
		Serves: func(scope.Path) bool { return true },
		Grace:  func() registry.Grace { return registry.Grace{Owner: time.Hour, Stop: time.Second} },
	})
	m.must(err)
	m.outside, err = Open(Options{
		Registry: m.registry, Paths: paths.Paths{State: m.dir},
		Settings: func() Settings { return Settings{Grace: modelGrace, Spool: 1 << 20, SpoolHead: 1 << 10} },
	})
	m.must(err)
	m.must(m.outside.Recover())
	for i := range m.conns {
		m.conns[i] = &link{}
	}
}

// close is the end of a daemon: all connections go, and no task ends by that.
func (m *machine) close() {
	m.registry.Shutdown(context.Background(), false)
	for _, conn := range m.conns {
		m.outside.ConnGone(conn)
	}
	m.must(m.outside.Close())
	m.must(m.registry.Close())
}

// TestOutsideModel: whatever outside producers do in whatever order (register,
// append, settle, lose their connection, resume or not, over restarts of the
// daemon, with kills between), each task ends once, with the outcome that came
// first, and one that was resumed in time goes on (T59, T66).
func TestOutsideModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { rapid.SyncTest(t, play) })
}

func play(t *rapid.T) {
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	m := &machine{t: t, dir: dir, ends: make(map[registry.Row]int)}
	m.open()
	defer func() { m.close() }()
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		m.step()
		m.check()
	}
	time.Sleep(2 * modelGrace) // nobody who is lost comes back
	m.expire()
	m.check()
}

func (m *machine) step() {
	conn := m.conns[rapid.IntRange(0, modelConns-1).Draw(m.t, "conn")]
	action := "register"
	var task *mTask
	if len(m.tasks) > 0 {
		action = rapid.SampledFrom([]string{
			"register", "append", "append", "settle", "lost", "resume", "resume", "kill", "sleep", "sleep", "restart",
		}).Draw(m.t, "action")
		task = rapid.SampledFrom(m.tasks).Draw(m.t, "task")
	}
	switch action {
	case "register":
		m.register(conn)
	case "append":
		m.append(conn, task)
	case "settle":
		m.settle(conn, task)
	case "lost":
		m.lose(conn)
	case "resume":
		m.resume(conn, task)
	case "kill":
		m.kill(task)
	case "sleep":
		time.Sleep(time.Duration(rapid.IntRange(1, 80).Draw(m.t, "seconds")) * time.Second)
		m.expire()
	case "restart":
		m.close()
		for _, task := range m.tasks {
			task.holder, task.gives = nil, time.Now().Add(modelGrace)
		}
		m.open()
	}
}

func (m *machine) register(conn *link) {
	stream := rapid.Bool().Draw(m.t, "stream")
	task, key, started, err := m.outside.Register(context.Background(), registry.AsOperator(), Registration{
		Kind: "build", Label: "a task", Stream: stream, Shared: true,
	}, conn)
	m.must(err)
	started()
	m.tasks = append(m.tasks, &mTask{id: task.ID, key: key, stream: stream, holder: conn, status: registry.Running})
}

func (m *machine) append(conn *link, task *mTask) {
	text := rapid.StringMatching(`[a-z]{0,9}\n`).Draw(m.t, "text")
	err := m.outside.Append(conn, task.id, text)
	if allowed := !task.ended() && task.holder == conn && task.stream; allowed != (err == nil) {
		m.t.Fatalf("append to %+v: %v", task, err)
	} else if allowed {
		task.text += text
	}
}

func (m *machine) settle(conn *link, task *mTask) {
	detail := fmt.Sprint("detail ", rapid.IntRange(0, 9).Draw(m.t, "detail"))
	status := rapid.SampledFrom([]registry.Status{registry.Completed, registry.Failed, registry.Killed}).Draw(m.t, "status")
	var output *string
	if !task.stream {
		output = &detail
	}
	err := m.outside.Settle(conn, task.id, registry.Outcome{Status: status, Detail: &detail}, output)
	switch allowed := task.ended() || task.holder == conn; {
	case allowed != (err == nil):
		m.t.Fatalf("settle %+v: %v", task, err)
	case allowed && !task.ended():
		if output != nil {
			task.text = *output
		}
		if task.byUser && status == registry.Killed {
			detail = "killed by the user"
		}
		task.status, task.detail = status, detail
	}
}

func (m *machine) lose(conn *link) {
	m.outside.ConnGone(conn)
	for _, task := range m.tasks {
		if task.holder == conn {
			task.holder, task.gives = nil, time.Now().Add(modelGrace)
		}
	}
	m.conns[slices.Index(m.conns[:], conn)] = &link{}
}

func (m *machine) resume(conn *link, task *mTask) {
	key := task.key
	if wrong := rapid.IntRange(0, 4).Draw(m.t, "wrong") == 0; wrong {
		key = "00000000000000000000000000000000"
	}
	got, err := m.outside.Resume(conn, task.id, key)
	if allowed := !task.ended() && key == task.key; allowed != (err == nil) {
		m.t.Fatalf("resume %+v: %v", task, err)
	} else if allowed {
		task.holder = conn
		if got.Status != task.status {
			m.t.Fatalf("resumed as %s, want %s", got.Status, task.status)
		}
	}
}

func (m *machine) kill(task *mTask) {
	already, _, err := m.registry.Kill(context.Background(), registry.AsOperator(), task.id, nil)
	lost := !task.ended() && task.holder == nil
	if already != task.ended() || lost != (err != nil) {
		m.t.Fatalf("kill of %+v: already %v, %v", task, already, err)
	}
	if task.ended() || lost {
		return
	}
	if !slices.Contains(task.holder.asked, task.id) {
		m.t.Fatalf("the producer of %s was not asked to cancel", task.id)
	}
	task.status, task.byUser = registry.Stopping, true
}

// expire lets the timers that are due run, and ends the same tasks in the model.
func (m *machine) expire() {
	synctest.Wait()
	for _, task := range m.tasks {
		if !task.ended() && task.holder == nil && !task.gives.After(time.Now()) {
			task.status, task.detail = registry.Failed, "producer disconnected"
		}
	}
}

func (m *machine) check() {
	for _, task := range m.tasks {
		got, err := m.registry.Get(registry.AsOperator(), task.id)
		m.must(err)
		detail := ""
		if got.Detail != nil {
			detail = *got.Detail
		}
		if got.Status != task.status || detail != task.detail {
			m.t.Fatalf("%s is %s, %q; want %s, %q", task.id, got.Status, detail, task.status, task.detail)
		}
		want := 0
		if task.ended() {
			want = 1
		}
		if m.ends[got.Row] != want {
			m.t.Fatalf("%s ended %d times, want %d", task.id, m.ends[got.Row], want)
		}
		reading, _, receipt, err := m.registry.Read(context.Background(), registry.AsOperator(), task.id, nil, true)
		if err != nil || reading.Text != task.text {
			m.t.Fatalf("%s reads %q, %v; want %q", task.id, reading.Text, err, task.text)
		}
		receipt.Failed()
	}
}
