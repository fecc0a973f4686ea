package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sidetask/rpc"
)

// fakeDaemon is the daemon's side as far as the proxy sees it, in memory.
type fakeDaemon struct {
	b     *bench
	hooks Hooks

	mu      sync.Mutex // guards all below
	up      bool
	hang    bool
	log     strings.Builder
	life    context.CancelFunc // of the connection
	gone    chan struct{}      // closed when the connection has ended
	release chan struct{}      // closed when calls that hang may go on
	changed chan struct{}      // closed when up changes
	known   chan struct{}      // closed when the owners are registered on the connection
	owners  map[string]*fakeOwner
	count   int
	tokens  []string // of all owners ever, in their order
	mounts  string   // what mount/list answers; set before the proxy runs
	leases  int
	budget  int // wakes left; negative: no end
	acp     *rpc.ACPSettings
	refuse  error // what owner/bind and register answer
	answers sync.WaitGroup
}

type fakeOwner struct {
	handle  string
	session string
	waiting []string            // notices
	leased  map[string][]string // by lease
}

var errLost = errors.New("connection lost")

func (d *fakeDaemon) connect(h Hooks) Daemon {
	d.hooks, d.owners = h, map[string]*fakeOwner{}
	if d.changed == nil {
		d.changed = make(chan struct{})
	}
	d.release = make(chan struct{})
	if d.up {
		d.open()
	}
	return d
}

// open makes a connection. Calls that wait for one go on when its owners are
// registered, as with a keeper.
func (d *fakeDaemon) open() {
	known := make(chan struct{})
	d.known = known
	ctx, cancel := context.WithCancel(context.Background())
	d.life, d.gone = cancel, make(chan struct{})
	d.answers.Go(func() {
		defer close(known)
		_ = d.hooks.Connected(ctx, direct{d}, rpc.Peer{Name: "sidetask", Version: "1.2.3"})
	})
}

func (d *fakeDaemon) Start() { d.note("start") }

// Await waits as a keeper does.
func (d *fakeDaemon) Await(ctx context.Context) error {
	d.mu.Lock()
	up, changed := d.up, d.changed
	d.mu.Unlock()
	if up {
		return nil
	}
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return errors.New("nobody listens")
	}
}

func (d *fakeDaemon) Close() error {
	d.mu.Lock()
	if d.life != nil {
		d.life()
	}
	d.mu.Unlock()
	d.answers.Wait()
	return nil
}

func (d *fakeDaemon) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log.WriteString(line + "\n")
}

func (d *fakeDaemon) take() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.log.String()
	d.log.Reset()
	// An abort, a dispose and the answer of a resolve go out beside the other
	// calls: where they show must not depend on which goroutine ran first.
	rank := func(line string) int {
		switch {
		case strings.HasPrefix(line, rpc.MethodOwnerAbort):
			return 0
		case strings.HasPrefix(line, rpc.MethodOwnerResolve), strings.HasPrefix(line, rpc.MethodOwnerDispose):
			return 2
		}
		return 1
	}
	// Nor where two of them show that go out together: the older owner comes first.
	age := func(line string) int {
		return slices.IndexFunc(d.tokens, func(token string) bool { return strings.Contains(line, token) })
	}
	lines := slices.Collect(strings.Lines(out))
	slices.SortStableFunc(lines, func(a, b string) int {
		if strings.HasPrefix(a, rpc.MethodOwnerDispose) && strings.HasPrefix(b, rpc.MethodOwnerDispose) {
			return age(a) - age(b)
		}
		return rank(a) - rank(b)
	})
	return strings.Join(lines, "")
}

// do performs what a transcript says:
//
//	notice TEXT   a task of the newest owner ends: it waits in the inbox, the bell rings
//	silent TEXT   the same without a bell
//	notice-of SESSION TEXT
//	hang, go      calls are answered only from go on
//	down-at-start, down, up    there is no connection; it ends; it comes (back)
//	lost SESSION  another proxy has taken this session
//	budget N      wakes left
//	acp JSON      the [acp] settings, for registrations from here on
//	config JSON   the same, in force at once
//	refuse TEXT   register and bind are answered with this error; without a text, no more
//	resolve SESSION NAME ARGUMENTS META
func (d *fakeDaemon) do(line string) {
	what, rest, _ := strings.Cut(line, " ")
	d.mu.Lock()
	defer d.mu.Unlock()
	switch what {
	case "notice", "silent":
		d.end(d.newest(), rest, what == "notice")
	case "notice-of":
		session, text, _ := strings.Cut(rest, " ")
		d.end(d.of(session), text, true)
	case "hang":
		d.hang = true
	case "go":
		d.hang = false
		close(d.release)
		d.release = make(chan struct{})
	case "down-at-start":
		d.up, d.changed = false, make(chan struct{})
	case "down":
		d.up = false
		d.life()
		close(d.gone)
		d.answers.Go(d.hooks.Lost)
	case "up":
		d.up = true
		close(d.changed)
		d.changed = make(chan struct{})
		if d.hooks.Connected != nil {
			d.open()
		}
	case "lost":
		d.tell(rpc.NotifyOwnerLost, rpc.OwnerLost{Owner: d.of(rest).handle})
	case "budget":
		_, _ = fmt.Sscan(rest, &d.budget)
	case "acp":
		d.acp = &rpc.ACPSettings{}
		*d.acp = DefaultSettings()
		_ = json.Unmarshal([]byte(rest), d.acp)
	case "config":
		d.acp = &rpc.ACPSettings{}
		*d.acp = DefaultSettings()
		_ = json.Unmarshal([]byte(rest), d.acp)
		d.tell(rpc.NotifyConfigChanged, rpc.ConfigChanged{})
	case "refuse":
		if d.refuse = nil; rest != "" {
			d.refuse = rpc.Errorf(rpc.CodeUnauthorized, "%s", rest)
		}
	case "resolve":
		d.resolve(rest)
	default:
		d.b.t.Fatalf("transcript: what is %q?", line)
	}
}

func (d *fakeDaemon) resolve(rest string) {
	f := strings.SplitN(rest, " ", 4)
	q := rpc.OwnerResolve{Owner: d.of(f[0]).handle, Name: f[1], Arguments: json.RawMessage(f[2])}
	if len(f) == 4 {
		q.Meta = json.RawMessage(f[3])
	}
	d.answers.Go(func() {
		raw, _ := json.Marshal(q)
		got, err := d.hooks.Handle(context.Background(), rpc.MethodOwnerResolve, raw)
		answer, _ := json.Marshal(got)
		if err != nil {
			answer = []byte(err.Error())
		}
		d.note("owner/resolve: " + string(answer))
	})
}

func (d *fakeDaemon) end(o *fakeOwner, text string, bell bool) {
	o.waiting = append(o.waiting, text)
	if bell {
		d.tell(rpc.NotifyInboxPending, rpc.InboxPending{Owner: o.handle, Count: len(o.waiting)})
	}
}

// tell sends a notification.
func (d *fakeDaemon) tell(method string, params any) {
	raw, _ := json.Marshal(params)
	if d.up {
		d.answers.Go(func() { _, _ = d.hooks.Handle(context.Background(), method, raw) })
	}
}

func (d *fakeDaemon) newest() (o *fakeOwner) {
	for _, e := range d.owners {
		if o == nil || e.handle > o.handle {
			o = e
		}
	}
	return o
}

func (d *fakeDaemon) of(session string) *fakeOwner {
	for _, o := range d.owners {
		if o.session == session {
			return o
		}
	}
	d.b.t.Fatalf("transcript: no session %q", session)
	return nil
}
