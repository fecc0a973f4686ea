package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// rounds is how often the daemon is killed; scripts/soak asks for more.
func rounds(t *testing.T) int {
	text, ok := os.LookupEnv("SIDETASK_KILL_ROUNDS")
	if !ok {
		return 50
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("SIDETASK_KILL_ROUNDS=%s: %v", text, err)
	}
	return n
}

const token = "00112233445566778899aabbccddeeff"

// witness is what an agent's host has seen, by task id.
type witness struct {
	mu        sync.Mutex
	expected  map[string]int // exit status that the task must end with
	delivered map[string]int // notices, where the ack was confirmed in between
	open      string         // lease that is held, its ack not confirmed
	again     map[string]bool
	output    map[string]string // what the owner's consuming reads gave, by task id
	unsure    map[string]bool   // a read was cut off: its bytes may come again
}

// TestKilledAtAnyInstant kills the daemon again and again while an owner's
// tasks start, write, end and are told of. Afterwards no task, exit status, byte,
// id or notice is lost or invented, no command has run twice, and a notice came
// twice only where its delivery had not been confirmed (issue: durability; FIELD "Daemon life").
func TestKilledAtAnyInstant(t *testing.T) {
	w := newWorld(t)
	w.configure("[retention]\ntasks = 1000000\n")
	t.Logf("%d rounds", rounds(t))
	runs := filepath.Join(w.dir, "runs")
	if err := os.Mkdir(runs, 0o700); err != nil {
		t.Fatal(err)
	}
	seen := &witness{expected: map[string]int{}, delivered: map[string]int{}, again: map[string]bool{}, output: map[string]string{}, unsure: map[string]bool{}}
	host := client.Keep(client.KeeperOptions{Options: w.options(), OnConnect: seen.register, Revive: true})
	defer func() { _ = host.Close() }()

	for round := range rounds(t) {
		host.Start()
		if _, err := host.Client(w.ctx); err != nil {
			t.Fatalf("round %d: %v%s", round, err, w.log())
		}
		ctx, stop := context.WithCancel(w.ctx)
		var group sync.WaitGroup
		for i := range 3 {
			group.Go(func() { seen.start(ctx, t, host, runs, fmt.Sprintf("%d-%d", round, i)) })
		}
		group.Go(func() { _ = seen.claim(ctx, t, host) })
		group.Go(func() { seen.read(ctx, t, host) })
		// A random instant, not a wait for something: all instants must do.
		pause := time.NewTimer(time.Duration(rand.IntN(60)) * time.Millisecond)
		<-pause.C
		w.kill()
		host.Start()
		group.Wait()
		stop()
	}
	seen.check(w, host, runs)
}

// register is what a host does on each connection: it names the leases that it
// still holds.
func (s *witness) register(ctx context.Context, c *client.Client) error {
	s.mu.Lock()
	var leases []string
	if s.open != "" {
		leases = []string{s.open}
	}
	s.mu.Unlock()
	var answer rpc.OwnerRegistered
	return c.Call(ctx, rpc.MethodOwnerRegister, rpc.OwnerRegister{
		Token: token, Agent: "test", Session: "s", Cwd: "/", Env: map[string]string{"PATH": os.Getenv("PATH")}, Leases: leases, Takeover: true,
	}, &answer)
}

// start starts one task for certain: with the same key again as long as the
// connection is lost in the middle.
func (s *witness) start(ctx context.Context, t testing.TB, host *client.Keeper, runs, key string) {
	status := rand.IntN(100)
	command := fmt.Sprintf("echo run >> %s/%s; echo %s; sleep 0.0%d; echo end; exit %d", runs, key, key, rand.IntN(9), status)
	for {
		var started rpc.TaskResult
		err := host.Call(ctx, rpc.MethodTaskStart, rpc.TaskStart{As: rpc.As{Token: token}, Command: command, Key: key, Label: key}, &started)
		if err == nil {
			s.mu.Lock()
			if _, twice := s.expected[started.Task.ID]; twice {
				t.Errorf("id %s was given twice", started.Task.ID)
			}
			s.expected[started.Task.ID] = status
			s.mu.Unlock()
			return
		}
		if errors.Is(err, rpc.ErrLimitReached) {
			return // nothing was started, and nothing is expected
		}
		if !retryable(err) {
			t.Errorf("start %s: %v", key, err)
			return
		}
		host.Start()
	}
}

// claim takes what waits and acknowledges it, once. It tells whether the daemon
// lived to answer.
func (s *witness) claim(ctx context.Context, t testing.TB, host *client.Keeper) (answered bool) {
	var claimed rpc.InboxClaimed
	err := host.Call(ctx, rpc.MethodInboxClaim, rpc.InboxClaim{As: rpc.As{Token: token}, Reason: rpc.ClaimUser}, &claimed)
	if err != nil {
		if !retryable(err) {
			t.Errorf("claim: %v", err)
		}
		return false
	}
	if claimed.Lease == "" {
		return true
	}
	s.mu.Lock()
	s.open = claimed.Lease
	for _, n := range claimed.Notices {
		if s.delivered[n.ID]++; s.delivered[n.ID] > 1 && !s.again[n.ID] {
			t.Errorf("the notice of %s came twice", n.ID)
		}
		s.again[n.ID] = true // until the ack is confirmed it may come again
	}
	s.mu.Unlock()
	err = host.Call(ctx, rpc.MethodInboxAck, rpc.InboxAck{As: rpc.As{Token: token}, Lease: claimed.Lease}, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = ""
	if err == nil {
		for _, n := range claimed.Notices {
			s.again[n.ID] = false
		}
	} else if !retryable(err) {
		t.Errorf("ack: %v", err)
	}
	return true
}

// read is one consuming read of a task that lives or has ended. A read that
// tells of the end is as good as the notice. Its bytes may come again if the
// daemon dies before it has recorded that they arrived; it has when it has
// answered one thing more.
func (s *witness) read(ctx context.Context, t testing.TB, host *client.Keeper) {
	s.mu.Lock()
	var id string
	for id = range s.expected {
		break // any
	}
	s.mu.Unlock()
	if id == "" {
		return
	}
	var got rpc.TaskOutputResult
	ref := rpc.TaskRef{As: rpc.As{Token: token}, ID: id}
	c, err := host.Client(ctx) // the same daemon for both calls
	if err == nil {
		err = c.Call(ctx, rpc.MethodTaskOutput, rpc.TaskOutput{TaskRef: ref}, &got)
	}
	recorded := err == nil && c.Call(ctx, rpc.MethodTaskGet, ref, nil) == nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsure[id] = s.unsure[id] || !recorded
	switch {
	case err == nil:
		s.output[id] += got.Text
		if got.Task.Status.Terminal() {
			s.delivered[id] = max(s.delivered[id], 1)
			s.again[id] = true // its notice may be on its way
		}
	case !retryable(err):
		t.Errorf("read %s: %v", id, err)
	}
}

// check looks at everything when all is quiet.
func (s *witness) check(w *world, host *client.Keeper, runs string) {
	t := w.t
	c := w.dial() // the host may not know yet that its connection is dead
	for id, status := range s.expected {
		task := w.wait(c, id)
		want := "exit code: " + strconv.Itoa(status)
		if task.Status != rpc.StatusCompleted || task.Detail == nil || *task.Detail != want {
			t.Errorf("%s: %v %v, want completed, %s", id, task.Status, deref(task.Detail), want)
		}
		if got := w.tail(c, id); got != task.Label+"\nend\n" {
			t.Errorf("%s: output %q", id, got)
		}
		var last rpc.TaskOutputResult
		w.call(c, rpc.MethodTaskOutput, rpc.TaskOutput{TaskRef: rpc.TaskRef{As: rpc.As{Token: token}, ID: id}}, &last)
		s.delivered[id] = max(s.delivered[id], 1)
		if read := s.output[id] + last.Text; read != task.Label+"\nend\n" && !s.unsure[id] {
			t.Errorf("%s: the owner's reads gave %q", id, read)
		}
		if ran, err := os.ReadFile(filepath.Join(runs, task.Label)); err != nil || string(ran) != "run\n" {
			t.Errorf("%s has run %d times: %v", id, strings.Count(string(ran), "run"), err)
		}
	}
	for len(s.missing()) > 0 {
		before := len(s.missing())
		host.Start()
		if s.claim(w.ctx, t, host) && len(s.missing()) == before {
			t.Fatalf("no notice ever came of %v", s.missing())
		}
	}
	for page := (rpc.TaskListResult{Next: ""}); ; {
		after := page.Next
		page = rpc.TaskListResult{}
		w.call(c, rpc.MethodTaskList, rpc.TaskList{As: rpc.As{Token: token}, All: true, Limit: rpc.MaxListLimit, After: after}, &page)
		for _, task := range page.Tasks {
			if _, known := s.expected[task.ID]; !known {
				t.Errorf("%s (%s) was invented", task.ID, task.Label)
			}
		}
		if page.Next == "" {
			break
		}
	}
	started, err := os.ReadDir(runs)
	if err != nil || len(started) != len(s.expected) {
		t.Errorf("%d commands ran, %d tasks were started: %v", len(started), len(s.expected), err)
	}
}

// missing lists the ended tasks of which no notice has come.
func (s *witness) missing() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.expected {
		if s.delivered[id] == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// retryable tells the errors that a killed daemon may leave at its clients.
func retryable(err error) bool {
	var start *client.StartError
	return errors.Is(err, client.ErrLost) || errors.Is(err, client.ErrNoDaemon) || errors.Is(err, rpc.ErrOwnerGone) ||
		errors.As(err, &start)
}

func deref(s *string) string {
	if s == nil {
		return "(no detail)"
	}
	return *s
}
