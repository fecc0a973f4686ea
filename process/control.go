package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"time"

	"sidetask/paths"
	"sidetask/process/wire"
	"sidetask/registry"
)

// askTimeout bounds a question to a keeper that answers at once.
const askTimeout = time.Second

// ask puts one request to the task's keeper, adopted or not. It may take as long
// as ctx lets it.
func (p *Producer) ask(ctx context.Context, row registry.Row, r wire.Request) (wire.Answer, error) {
	var a wire.Answer
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", p.control(row))
	if err != nil {
		return a, fmt.Errorf("reach the keeper: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	if _, err := conn.Write(wire.Encode(&r)); err != nil {
		return a, asked(ctx, err)
	}
	line, err := bufio.NewReader(io.LimitReader(conn, wire.MaxAnswer)).ReadBytes('\n')
	if err != nil {
		return a, asked(ctx, err)
	}
	if err := wire.Decode(line, &a); err != nil {
		return a, fmt.Errorf("the keeper's answer: %w", err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// asked tells a caller that went away from a keeper that did.
func asked(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("ask the keeper: %w", err)
}

// demand is ask for what no signal can say. A keeper whose socket a cleaner of
// temporary files took away makes another first.
func (p *Producer) demand(ctx context.Context, row registry.Row, r wire.Request) (wire.Answer, error) {
	a, err := p.ask(ctx, row, r)
	if !errors.Is(err, fs.ErrNotExist) {
		return a, err
	}
	if err := p.listenAgain(ctx, row); err != nil {
		return a, err
	}
	return p.ask(ctx, row, r)
}

// listenAgain returns once a keeper's socket is there again.
func (p *Producer) listenAgain(ctx context.Context, row registry.Row) error {
	if err := paths.Private(p.paths.Control()); err != nil {
		return err
	}
	watch := p.watcher.Watch(p.paths.Control())
	defer watch.Close()
	if err := p.signalKeeper(row, hangUp); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for {
		if _, err := os.Lstat(p.control(row)); err == nil {
			return nil
		}
		if watch.Wait(bounded) == nil {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the command cannot be given input any more: its keeper's socket %s was deleted, and it makes no other; it can be killed", p.control(row))
	}
}

// Cancel asks the keeper to end the command's whole tree: TERM now, KILL after
// the grace. It returns at once, and asking again changes nothing (T198). As long
// as the grace is the one that the keeper knows, a signal says it all: it costs a
// hundredth of a talk on the socket, which counts when thousands are killed.
func (p *Producer) Cancel(ctx context.Context, row registry.Row, _ *string) error {
	p.checkSurvivors(row)
	if k, ok := p.find(row); ok && k.graceMs == p.settings().StopGraceMs {
		return p.signalKeeper(row, terminate)
	}
	_, err := p.stopTree(ctx, row)
	return err
}

// EndLeftovers ends what the ended command left running.
func (p *Producer) EndLeftovers(row registry.Row) (int, error) {
	p.checkSurvivors(row)
	return p.stopTree(context.Background(), row)
}

// stopTree asks on the socket, with the grace of now, and says how many processes
// there were. A keeper whose socket was swept away is asked by signal.
func (p *Producer) stopTree(ctx context.Context, row registry.Row) (int, error) {
	k, ok := p.find(row)
	if !ok {
		return 0, nil // nothing of it is left
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	grace := p.settings().StopGraceMs
	a, err := p.ask(ctx, row, wire.Request{Op: wire.OpStop, GraceMs: &grace})
	if err == nil {
		return a.Processes, nil
	}
	if signalErr := p.signalKeeper(row, terminate); signalErr != nil {
		return 0, errors.Join(err, signalErr)
	}
	return max(k.leftovers, 1), nil
}

// signalKeeper asks a keeper by signal: to stop its command, or to listen again. One
// that has ended has nothing left to do.
func (p *Producer) signalKeeper(row registry.Row, ask func(pidfd int) error) error {
	// With the lock: the descriptor is closed and may be another file's as soon as
	// the task is not kept any more.
	p.mu.Lock()
	defer p.mu.Unlock()
	k, ok := p.kept[row]
	if !ok || ended(k.pidfd) {
		return nil
	}
	if err := ask(k.pidfd); err != nil {
		return fmt.Errorf("signal the keeper: %w", err)
	}
	return nil
}

// Write gives input to a command that was started with stdin or a terminal, and
// waits until it is taken: at most maxInput at once, so that a keeper's memory
// stays bounded.
func (p *Producer) Write(ctx context.Context, row registry.Row, req registry.WriteRequest) (int, error) {
	k, ok := p.find(row)
	if !ok || k.ended {
		return 0, invalid("the command has ended: it takes no more input")
	}
	if !k.input {
		return 0, invalid("the command takes no input: start it with stdin or pty (sidetask run --stdin or --pty)")
	}
	if req.Cols > 0 && req.Rows > 0 {
		if err := wire.CheckSize(req.Cols, req.Rows); err != nil {
			return 0, invalid("invalid resize: %v", err)
		}
		if _, err := p.demand(ctx, row, wire.Request{Op: wire.OpResize, Cols: req.Cols, Rows: req.Rows}); err != nil {
			return 0, err
		}
	}
	written := 0
	for data := req.Data; len(data) > 0; {
		piece := data[:min(len(data), maxInput)]
		data = data[len(piece):]
		a, err := p.demand(ctx, row, wire.Request{Op: wire.OpWrite, Data: piece})
		written += a.Written
		if err != nil {
			return written, err
		}
	}
	if req.EOF {
		if _, err := p.demand(ctx, row, wire.Request{Op: wire.OpEOF}); err != nil {
			return written, err
		}
	}
	return written, nil
}

// maxInput is how many bytes go to a keeper in one request.
const maxInput = 64 << 10
