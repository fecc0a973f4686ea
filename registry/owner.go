package registry

import (
	"sidetask/scope"
)

// Registration says who an owner is (API.md, owner/register).
type Registration struct {
	Token    string
	Agent    string
	Session  string // "" = waits for its name ([Registry.Bind])
	Scope    scope.Path
	Title    string
	Cwd      string
	Env      map[string]string // kept by reference: do not change it afterwards
	Takeover bool
	Leases   []string // that the host still holds; others come back
}

// Binding names an unnamed owner (API.md, owner/bind).
type Binding struct {
	Token    string
	Agent    string // "" = as registered
	Session  string
	Fresh    bool
	Takeover bool
}

// OwnerChange changes what is shown of an owner; nil fields stay.
type OwnerChange struct {
	Status *OwnerStatus
	Title  *string
	Cwd    *string
	Env    map[string]string
	Note   *string // what a host decided for its client
}

// OwnerStatus is what the host said last; for display and the bell's lane.
type OwnerStatus string

// The statuses of an owner.
const (
	Idle OwnerStatus = "idle"
	Busy OwnerStatus = "busy"
	Lost OwnerStatus = "lost" // without a host
)

// Owner is a snapshot of an owner. Env is shared: do not change it.
type Owner struct {
	Handle  Handle
	Agent   string
	Session string
	Scope   scope.Path
	Title   string
	Cwd     string
	Note    string
	Env     map[string]string
	Host    Host // nil without one
	Status  OwnerStatus
	LostAt  int64 // ms since the epoch; 0 with a host
	Spent   int64
	Wakes   []Wake
	Tasks   int // all that have an id
	Live    int // running and stopping
	Waiting int // notices due that ring
	Parked  int // notices due that do not
}

// Wake tells of one wake: when, and which tasks' ends were its reason.
type Wake struct {
	At    int64 // ms since the epoch
	Tasks []string
}
