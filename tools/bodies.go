package tools

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sidetask/registry"
	"sidetask/render"
)

// maxPattern bounds the text of an `until`.
const maxPattern = 1000

// start is the body of task_start (T186 to T189).
func (p *pass) start() (rendering, error) {
	command := p.Start
	if command == nil {
		made, err := p.commandOf()
		if err != nil {
			return rendering{}, err
		}
		command = &made
	}
	if strings.TrimSpace(command.Command) == "" {
		return rendering{}, invalid("invalid command: expected a non-empty string")
	}
	task, err := p.tools.commands.Start(p.ctx, p.Caller, *command)
	if err != nil {
		return rendering{}, err
	}
	p.task = &task
	return rendering{value: encodeValue(startValue{"background", task.ID}), text: render.Started(task.ID)}, nil
}

// commandOf reads the arguments of a task_start, which are checked.
func (p *pass) commandOf() (Command, error) {
	command := Command{Command: p.given.text("command"), Label: p.given.text("label"), Cwd: p.given.text("cwd")}
	if timeout := p.given["timeout_ms"]; timeout != nil {
		ms, err := TimeoutMs("timeout_ms", timeout)
		if err != nil {
			return Command{}, err
		}
		command.TimeoutMs = &ms
	}
	return command, nil
}

// TimeoutMs reads a run time limit in milliseconds (T189). A fraction counts
// as the next whole one.
func TimeoutMs(name string, raw json.RawMessage) (int64, error) {
	ms, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || ms <= 0 || ms > 1<<53-1 {
		return 0, invalid("invalid %s: expected a positive number, got %s", name, raw)
	}
	return int64(math.Ceil(ms)), nil
}

// output is the body of task_output: perhaps a wait, then always one read (T122).
func (p *pass) output() (rendering, error) {
	id := p.given.text("task_id")
	if id == "" {
		return rendering{}, emptyID()
	}
	if p.tools.policies.asks(p.From, id) {
		return rendering{}, invalid("task %s is being read by the call that this policy is asked about; task/tail takes nothing and can be used", id)
	}
	var waited *registry.Receipt
	if p.given.flag("wait") {
		until, err := pattern(p.given.text("until"))
		if err != nil {
			return rendering{}, err
		}
		if waited, err = p.wait(id, p.given["timeout_ms"], until); err != nil {
			return rendering{}, err
		}
	}
	keep := func(t registry.Task) int64 { return render.Keep(p.tools.Limit(t)) }
	reading, task, read, err := p.tools.registry.Read(p.ctx, p.Caller, id, keep, p.given.text("from") == "start")
	if err != nil {
		waited.Failed() // nobody learns of what the wait saw
		return rendering{}, err
	}
	task = p.tools.Hinted(task)
	p.task = &task
	p.receipts = append(p.receipts, waited, read)
	return rendering{
		value:  encodeValue(outputValue{reading.Text, SnapshotOf(task)}),
		output: &render.OutputText{Task: shown(task), Text: reading.Text, LeftOut: reading.LeftOut},
	}, nil
}

func pattern(until string) (*regexp.Regexp, error) {
	if until == "" {
		return nil, nil
	}
	if len(until) > maxPattern {
		return nil, invalid("invalid until: %d bytes, at most %d", len(until), maxPattern)
	}
	compiled, err := regexp.Compile(until)
	if err != nil {
		return nil, invalid("invalid until: %v", err)
	}
	return compiled, nil
}

// wait waits as long as the arguments say, at most the mount's cap; a wait
// that could only fail is not counted among those that take long.
func (p *pass) wait(id string, timeout json.RawMessage, until *regexp.Regexp) (*registry.Receipt, error) {
	mount := p.tools.mountOf(p.scope)
	ms := float64(mount.WaitTimeoutMs)
	if timeout != nil {
		ms, _ = strconv.ParseFloat(string(timeout), 64) // out of range is ±Inf
	}
	if _, owned := p.Caller.Owner(); owned {
		ms = min(ms, float64(mount.MaxWaitTimeoutMs))
	} else {
		ms = min(ms, math.MaxInt32)
	}
	if p.MaxWait > 0 {
		ms = min(ms, float64(p.MaxWait.Milliseconds()))
	}
	if err := p.tools.registry.CheckWait(p.Caller, id, ms); err != nil {
		return nil, err
	}
	if err := p.waits(); err != nil {
		return nil, err
	}
	if until != nil {
		_, receipt, err := p.tools.registry.WaitMatch(p.ctx, p.Caller, id, ms, until)
		return receipt, err
	}
	_, receipt, err := p.tools.registry.Wait(p.ctx, p.Caller, id, ms)
	return receipt, err
}

// list is the body of task_list (T124).
func (p *pass) list() (rendering, error) {
	tasks := p.tools.registry.List(p.Caller, true)
	all := make([]render.Task, len(tasks))
	byID := make(map[string]registry.Task, len(tasks))
	for i, t := range tasks {
		all[i], byID[t.ID] = shown(t), t
	}
	chosen, older := render.Select(all)
	snapshots := make([]Snapshot, len(chosen))
	for i, t := range chosen {
		snapshots[i] = SnapshotOf(byID[t.ID])
	}
	return rendering{value: encodeValue(slices.Clip(snapshots)), text: render.List(chosen, older)}, nil
}

// kill is the body of task_kill (T125).
func (p *pass) kill() (rendering, error) {
	id := p.given.text("task_id")
	if id == "" {
		return rendering{}, emptyID()
	}
	var reason *string
	if _, ok := p.given["reason"]; ok {
		text := p.given.text("reason")
		reason = &text
	}
	if err := p.waits(); err != nil { // its producer is asked
		return rendering{}, err
	}
	already, task, err := p.tools.registry.Kill(p.ctx, p.Caller, id, reason)
	if err != nil {
		return rendering{}, err
	}
	p.task = &task
	outcome := outcomeRequested
	if already {
		outcome = outcomeFinished
	}
	return rendering{
		value: encodeValue(killValue{outcome, SnapshotOf(task)}),
		text:  render.KillText(shown(task), already),
	}, nil
}

func emptyID() error { return invalid(`invalid task_id: expected a non-empty string, got ""`) }
