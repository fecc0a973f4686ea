package server

import (
	"sidetask/registry"
	"sidetask/render"
	"sidetask/rpc"
	"sidetask/tools"
)

// snapshot is what a caller sees of a task: the operator more than an owner.
func (c *call) snapshot(t registry.Task, by registry.Caller) rpc.Task {
	return c.snapshots([]registry.Task{t}, by)[0]
}

func (c *call) snapshots(tasks []registry.Task, by registry.Caller) []rpc.Task {
	out := make([]rpc.Task, len(tasks))
	for i, t := range tasks {
		out[i] = public(t)
	}
	if _, owner := by.Owner(); owner {
		return out
	}
	for i, facts := range c.registry().FactsOf(tasks) {
		out[i].Operator = c.operatorView(tasks[i], facts)
		if out[i].Detail == nil && facts.Hint != "" && !tasks[i].Status.Terminal() {
			out[i].Detail = &facts.Hint
		}
	}
	return out
}

// public is the public snapshot (API.md).
func public(t registry.Task) rpc.Task {
	s := tools.SnapshotOf(t)
	return rpc.Task{
		ID: s.ID, Kind: s.Kind, Label: s.Label, Status: rpc.Status(s.Status), Detail: s.Detail,
		StartedAt: s.StartedAt, FinishedAt: s.FinishedAt,
	}
}

func (c *call) operatorView(t registry.Task, facts registry.Facts) *rpc.Operator {
	view := &rpc.Operator{
		Owner: string(t.Owner), Scope: string(t.Scope), Reported: t.Reported,
		PID: facts.PID, Bytes: facts.Bytes, Leftovers: facts.Leftovers,
		ExitCode: t.ExitCode, Signal: t.Signal, TimedOut: t.TimedOut, CPUMs: facts.CPUMs, RSSMax: facts.RSSMax,
	}
	if owner, ok := c.registry().Owner(t.Owner); ok {
		view.Agent, view.Session = owner.Agent, owner.Session
	}
	return view
}

// notices are what an owner's host gets for the tasks of a claim or a look.
func (s *Server) notices(tasks []registry.Task) []rpc.Notice {
	out := make([]rpc.Notice, len(tasks))
	for i, t := range tasks {
		shown := render.Task{ID: t.ID, Kind: t.Kind, Label: t.Label, Status: string(t.Status), Detail: t.Detail}
		out[i] = rpc.Notice{ID: t.ID, Text: render.Notice(shown, s.engine.Tools.Limit(t)), Summary: render.Summary(shown), Task: public(t)}
	}
	return out
}
