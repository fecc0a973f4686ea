package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"sidetask/paths"
	"sidetask/process/wire"
	"sidetask/registry"
)

// Start checks the command, has it admitted, and starts it under a keeper. What
// can be known beforehand is an error and no task; what fails in the keeper is
// a task that ends `failed`, `spawn failed: …` (T192). A context that ends
// before the command is handed over starts nothing (T188).
func (p *Producer) Start(ctx context.Context, c registry.Caller, s Spec) (registry.Task, error) {
	j, env, err := p.plan(c, s)
	if err != nil {
		return registry.Task{}, err
	}
	return p.registry.Start(ctx, c, registry.Spec{
		Kind:        "bash",
		Label:       s.label(),
		OutputLimit: s.OutputLimit,
		Stream:      true,
		Shared:      s.Shared,
		Key:         s.Key,
		Producer:    Name,
	}, func(row registry.Row) error {
		p.identify(env, row)
		if j.Env, err = list(env, s.Command); err != nil {
			return err
		}
		return p.run(ctx, row, j)
	})
}

// plan makes the job as far as it is known before the row is.
func (p *Producer) plan(c registry.Caller, s Spec) (*wire.Job, map[string]string, error) {
	if err := s.check(); err != nil {
		return nil, nil, err
	}
	settings := p.settings()
	base, cwd := p.basis(c)
	if base == nil && s.Env["PATH"] == "" { // neither is an environment of anybody's
		base = bare()
	}
	env := environment(base, s.Env, s.terminal())
	if cwd == "" {
		cwd = home(env)
	}
	dir, err := s.directory(cwd)
	if err != nil {
		return nil, nil, err
	}
	env["PWD"] = dir
	if _, err := list(env, s.Command); err != nil {
		return nil, nil, err
	}
	shell, err := findShell(settings.Shell, env["PATH"])
	if err != nil {
		return nil, nil, err
	}
	return &wire.Job{
		Format:    wire.Format,
		Boot:      p.boot,
		Exits:     p.paths.Exits(),
		Path:      shell,
		Argv:      []string{filepath.Base(shell), "-c", s.Command},
		Cwd:       dir,
		Bytes:     settings.SpoolBytes,
		Head:      settings.KeepHeadBytes,
		TimeoutMs: s.timeout(settings),
		GraceMs:   settings.StopGraceMs,
		WaitingMs: p.waiting,
		Stdin:     s.Stdin,
		Separate:  s.Separate,
		Cols:      s.PTYCols,
		Rows:      s.PTYRows,
	}, env, nil
}

// run hands the job to a keeper and waits until it has forked (ARCHITECTURE,
// decision 3). The task's file is locked before and stays so in the keeper's
// hands: at no instant is there a command without a busy lock.
func (p *Producer) run(ctx context.Context, row registry.Row, j *wire.Job) (err error) {
	j.Row, j.Dir, j.Control = int64(row), p.dir(row), p.control(row)
	// A cleaner of temporary files may have taken the folder of the sockets, and a
	// person the one of the tasks.
	for _, dir := range []string{p.paths.Control(), p.paths.Tasks()} {
		if err := paths.Private(dir); err != nil {
			return err
		}
	}
	if err := os.Mkdir(j.Dir, 0o700); err != nil {
		return fmt.Errorf("make the task's folder: %w: see to it that %s can be written to; `sidetask doctor` looks", err, p.paths.Tasks())
	}
	defer func() {
		if err != nil {
			p.removeAll(row)
		}
	}()
	lock, err := lockNew(p.lockFile(row))
	if err != nil {
		return noRoom(fmt.Errorf("lock the task's file: %w", err))
	}
	defer lock.Close()
	k, err := p.spare.take()
	if err != nil {
		return noRoom(err)
	}
	defer k.conn.Close()
	if err := ctx.Err(); err != nil {
		p.discard(k)
		return err
	}
	group, born, err := p.openGroup(ctx, row)
	if err != nil {
		p.discard(k)
		return err
	}
	defer born()
	j.Group = group
	// Before the command can end: so that its end finds the task here.
	err = p.track(&kept{
		row: row, pidfd: k.pidfd, keeper: k.pid, input: j.Stdin || j.Cols > 0, group: group, graceMs: j.GraceMs,
		gone: make(chan struct{}),
	})
	if err != nil {
		p.discard(k)
		removeGroup(group)
		return err
	}
	if err := p.handOver(k, row, j, lock); err != nil {
		p.takeBack(row, k)
		removeGroup(group)
		return noRoom(fmt.Errorf("hand the command to its keeper: %w", err))
	}
	p.spare.warm()
	p.checkLimit(row, j.TimeoutMs, j.GraceMs)
	return nil
}

// handOver gives the job away. Once the keeper has taken it up (it signs first of
// all), there is a task, whatever becomes of the keeper: a command may have run.
// Its end is then told like every other.
func (p *Producer) handOver(k *spare, row registry.Row, j *wire.Job, lock *os.File) error {
	if err := k.send(j, lock); err != nil {
		return err
	}
	r, err := k.report()
	switch {
	case err != nil:
		if _, unsigned := p.signed(row); unsigned != nil {
			return err
		}
		p.log.Warn("a keeper took a command and did not report", "row", row, "error", err)
	case r.Error != "" && !r.Recorded:
		return errors.New(r.Error)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if t, ok := p.kept[row]; ok {
		t.pid = r.PID
	}
	return nil
}

// noRoom says what to do where the system has no room for one more process: a
// keeper that could not be forked, or died of it before it said a word.
func noRoom(err error) error {
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("no process could be started for the command (%w): end something, or raise the limit of processes (ulimit -u, pids of the control group) or memory, then retry", err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("no descriptor is left for the command (%w): raise the daemon's limit (ulimit -n), then retry", err)
	}
	return err
}

// errClosed is what a start after Close says.
var errClosed = errors.New("the command producer is closed")

// track begins to listen for the end of a task's keeper.
func (p *Producer) track(k *kept) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed
	}
	if err := p.pids.add(k.pidfd, k.row); err != nil {
		return fmt.Errorf("watch the keeper: %w", err)
	}
	p.kept[k.row] = k
	return nil
}

// untrack forgets a task; whoever did has its pidfd, which stays open.
func (p *Producer) untrack(row registry.Row) (*kept, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k, ok := p.kept[row]
	if ok {
		delete(p.kept, row)
		k.stopChecks()
		p.pids.remove(k.pidfd)
	}
	return k, ok
}

// takeBack ends a keeper that did not take its job. One whose end was told
// meanwhile is buried, and its descriptor may be another file's by now.
func (p *Producer) takeBack(row registry.Row, k *spare) {
	if _, ok := p.untrack(row); ok {
		p.discard(k)
	}
}

// discard ends a keeper that got no job, or did not take it. Its command, if it
// should have started one after all, dies with it.
func (p *Producer) discard(k *spare) {
	_ = k.conn.Close()
	killAndReap(k.pidfd)
	closeFD(k.pidfd)
}
