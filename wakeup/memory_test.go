package wakeup

import (
	"errors"
	"maps"
	"slices"

	"sidetask/registry"
)

// memory is a registry.Store that outlives the registry: the machine's many
// steps would otherwise be the database's.
type memory struct {
	tasks  map[registry.Row]registry.Record
	owners map[registry.Handle]registry.OwnerRecord
	state  registry.State
	refuse bool // commits fail, as on a full disk
}

var errFull = errors.New("no space left")

func newMemory() *memory {
	return &memory{
		tasks:  map[registry.Row]registry.Record{},
		owners: map[registry.Handle]registry.OwnerRecord{},
		state:  registry.State{Counters: map[string]int64{}},
	}
}

func (m *memory) Load() (*registry.State, error) {
	s := m.state
	s.Counters = maps.Clone(s.Counters)
	s.Log = slices.Clone(s.Log)
	s.Tasks = slices.Collect(maps.Values(m.tasks))
	s.Owners = slices.Collect(maps.Values(m.owners))
	return &s, nil
}

func (m *memory) Commit(c registry.Change) error {
	if m.refuse {
		return errFull
	}
	for _, row := range c.DropTasks {
		delete(m.tasks, row)
	}
	for _, t := range c.Tasks {
		m.tasks[t.Row] = t
	}
	for _, at := range c.Cursors {
		t := m.tasks[at.Row]
		t.Cursor, t.OpCursor = at.Cursor, at.OpCursor
		m.tasks[at.Row] = t
	}
	for _, h := range c.DropOwners {
		delete(m.owners, h)
	}
	for _, o := range c.Owners {
		m.owners[o.Handle] = o
	}
	for _, e := range c.Log {
		m.state.Seq = e.Seq
		m.state.Log = append(m.state.Log, e)
	}
	maps.Copy(m.state.Counters, c.Counters)
	m.state.NextRow = max(m.state.NextRow, c.NextRow)
	m.state.NextOwner = max(m.state.NextOwner, c.NextOwner)
	return nil
}

func (m *memory) Close() error { return nil }
