package server

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"sidetask/registry"
	"sidetask/rpc"
	"sidetask/tools"
)

// callTool makes a call as an owner under the tool's name, so that the
// policies are asked; for the operator none is. An error of the tool is the
// call's error.
func (c *call) callTool(by registry.Caller, name string, args any, start *tools.Command) (tools.Result, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return tools.Result{}, err
	}
	result := c.conn.server.engine.Tools.Call(c.ctx, tools.Call{
		Caller: by, Name: name, Arguments: raw, From: c.conn, Waits: c.waits, Start: start,
	})
	c.took(name, result)
	if !result.IsError {
		return result, nil
	}
	if errors.Is(result.Err, tools.ErrDenied) {
		return result, rpc.Errorf(rpc.CodeUnauthorized, "%s", textOf(result.Content))
	}
	return result, result.Err
}

// took takes over what a tool has done: its reports, and a start that must not
// be made again, whatever a policy said of it afterwards.
func (c *call) took(name string, result tools.Result) {
	for _, receipt := range result.Receipts {
		c.report(receipt)
	}
	c.began = c.began || name == tools.Start && result.Task != nil
}

// textOf joins the texts of a result, without the prefix of an error.
func textOf(content []tools.Block) string {
	var texts []string
	for _, block := range content {
		if block.Raw == nil {
			texts = append(texts, block.Text)
		}
	}
	if len(texts) == 0 {
		return tools.ErrDenied.Error()
	}
	return strings.TrimPrefix(strings.Join(texts, "\n"), "Error: ")
}

func contents(blocks []tools.Block) []rpc.Content {
	out := make([]rpc.Content, len(blocks))
	for i, b := range blocks {
		out[i] = rpc.Content(b)
	}
	return out
}

// resultTask is the task of a result as the caller sees it; where a policy
// gave the value it is the value's.
func (c *call) resultTask(result tools.Result, by registry.Caller) rpc.Task {
	var value struct{ Task rpc.Task }
	if result.Replaced || result.Task == nil {
		_ = json.Unmarshal(result.Value, &value) // checked against the schema
		return value.Task
	}
	return c.snapshot(*result.Task, by)
}

func taskStart(c *call, p rpc.TaskStart) (any, error) {
	command := tools.Command{
		Command: p.Command, Label: p.Label, Cwd: p.Cwd, Env: p.Env, OutputLimit: optional(p.OutputLimitBytes),
		Stdin: p.Stdin, Separate: p.Stderr == "separate", Shared: p.Shared, Key: p.Key,
	}
	if p.Stderr != "" && !command.Separate {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: "stderr" must be "separate"`)
	}
	if optional(p.TimeoutMs) != nil {
		ms, err := tools.TimeoutMs("timeoutMs", p.TimeoutMs)
		if err != nil {
			return nil, err
		}
		command.TimeoutMs = &ms
	}
	if p.PTY != nil {
		if !hasSize(*p.PTY) {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: "pty" needs cols and rows of at least 1`)
		}
		command.PTYCols, command.PTYRows = p.PTY.Cols, p.PTY.Rows
	}
	by, err := c.awaitCaller(p.As)
	if err != nil {
		return nil, err
	}
	c.conn.watch(p.As)
	p.As = rpc.As{} // not for policies
	args := struct {
		rpc.TaskStart
		TimeoutMs   json.RawMessage `json:"timeoutMs,omitempty"` // under the tool's own name
		ToolTimeout json.RawMessage `json:"timeout_ms,omitempty"`
	}{TaskStart: p, ToolTimeout: p.TimeoutMs}
	result, err := c.callTool(by, tools.Start, args, &command)
	if err != nil {
		return nil, err
	}
	if result.Task == nil { // a policy gave the value: the id of some task
		var value struct{ TaskID string }
		_ = json.Unmarshal(result.Value, &value)
		task, err := c.registry().Get(by, value.TaskID)
		if err != nil {
			return nil, err
		}
		result.Task = &task
	}
	return rpc.TaskResult{Task: c.snapshot(*result.Task, by)}, nil
}

// hasSize tells a terminal's size from none; its bounds are the producer's.
func hasSize(s rpc.Size) bool { return s.Cols >= 1 && s.Rows >= 1 }

func taskOutput(c *call, p rpc.TaskOutput) (any, error) {
	by, id, err := c.task(p.TaskRef)
	if err != nil {
		return nil, err
	}
	args := map[string]any{"task_id": id, "wait": p.Wait}
	if optional(p.TimeoutMs) != nil {
		args["timeout_ms"] = p.TimeoutMs
	}
	if p.Until != "" {
		args["until"] = p.Until
	}
	if p.From != "" {
		args["from"] = p.From
	}
	result, err := c.callTool(by, tools.Output, args, nil)
	if err != nil {
		return nil, err
	}
	var value struct{ Text string }
	_ = json.Unmarshal(result.Value, &value) // ours, or checked against the schema
	return rpc.TaskOutputResult{Text: value.Text, Task: c.resultTask(result, by), Content: contents(result.Content)}, nil
}

func taskList(c *call, p rpc.TaskList) (any, error) {
	by, err := c.caller(p.As)
	if err != nil {
		return nil, err
	}
	if p.Limit < 0 || p.Limit > rpc.MaxListLimit {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: "limit" must be at most %d, and not negative`, rpc.MaxListLimit)
	}
	if _, owner := by.Owner(); owner {
		result, err := c.callTool(by, tools.List, struct{}{}, nil)
		if err != nil {
			return nil, err
		}
		if result.Replaced {
			var tasks []rpc.Task
			_ = json.Unmarshal(result.Value, &tasks) // checked against the schema
			return rpc.TaskListResult{Tasks: tasks}, nil
		}
	}
	tasks := c.registry().List(by, p.All)
	if p.After != "" {
		tasks = after(tasks, p.After)
	}
	limit := p.Limit
	if limit == 0 {
		limit = rpc.MaxListLimit
	}
	next := ""
	if len(tasks) > limit {
		tasks = tasks[:limit]
		last := tasks[limit-1]
		next = last.ID + "@" + strconv.FormatInt(int64(last.Row), 10)
	}
	return rpc.TaskListResult{Tasks: c.snapshots(tasks, by), Next: next}, nil
}

// after gives the tasks behind a mark that an earlier answer gave as next. The
// marked task may have gone since: rows grow in the order of registration, but
// for starts that overlapped.
func after(tasks []registry.Task, mark string) []registry.Task {
	id, rest, _ := strings.Cut(mark, "@")
	for i, t := range tasks {
		if t.ID == id {
			return tasks[i+1:]
		}
	}
	row, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil
	}
	for i, t := range tasks {
		if int64(t.Row) > row {
			return tasks[i:]
		}
	}
	return nil
}

func taskGet(c *call, p rpc.TaskRef) (any, error) {
	c.conn.watch(p.As)
	by, id, err := c.task(p)
	if err != nil {
		return nil, err
	}
	task, err := c.registry().Get(by, id)
	if err != nil {
		return nil, err
	}
	if _, owner := by.Owner(); owner { // the operator's snapshot has the hint with all else
		task = c.conn.server.engine.Tools.Hinted(task)
	}
	return rpc.TaskResult{Task: c.snapshot(task, by)}, nil
}

func taskKill(c *call, p rpc.TaskKill) (any, error) {
	by, id, err := c.task(p.TaskRef)
	if err != nil {
		return nil, err
	}
	args := map[string]any{"task_id": id}
	if p.Reason != nil {
		args["reason"] = *p.Reason
	}
	result, err := c.callTool(by, tools.Kill, args, nil)
	if err != nil {
		return nil, err
	}
	var value struct{ Outcome string }
	_ = json.Unmarshal(result.Value, &value) // ours, or checked against the schema
	return rpc.TaskKillResult{Outcome: value.Outcome, Task: c.resultTask(result, by), Content: contents(result.Content)}, nil
}

func taskPrune(c *call, p rpc.TaskPrune) (any, error) {
	if p.OlderMs < 0 {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: "olderMs" must not be negative`)
	}
	retention := c.conn.server.engine.Live.Current().Retention
	age := time.Duration(min(p.OlderMs, maxAgeMs)) * time.Millisecond
	removed, freed, err := c.registry().Prune(registry.Retention{
		Age:  max(age, 1), // 0 would bound nothing
		Lost: time.Duration(retention.Days) * 24 * time.Hour,
	})
	if err != nil {
		return nil, err
	}
	return rpc.TaskPruned{Removed: removed, Bytes: freed}, nil
}

// maxAgeMs is as long as a time.Duration lasts.
const maxAgeMs = int64(1<<63-1) / int64(time.Millisecond)
