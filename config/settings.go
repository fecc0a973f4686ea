package config

import "sidetask/scope"

// Settings are all resolved settings of one valid file: immutable once made.
type Settings struct {
	Limits    Limits
	Commands  Commands
	Owners    Owners
	Retention Retention
	Daemon    Daemon
	ACP       ACP
	Log       Log
	Policies  []Policy
	// Mounts are the tables of the file (and the built-in "/"), resolved: what
	// a table does not say is inherited. Disabled ones are here too.
	Mounts map[scope.Path]Mount
}

// Mount is the task tools with their settings, placed at a scope.
type Mount struct {
	ID                  string // of one that a connection attached; "" in the file
	Scope               scope.Path
	Enabled             bool
	WaitTimeoutMs       int64
	MaxWaitTimeoutMs    int64
	CompletionDelivery  string // Wakeup or Quiet
	MaxConsecutiveWakes int64
	Origin              string // "default", "file:line", "connection"
}

// The values of completionDelivery.
const (
	Wakeup = "wakeup"
	Quiet  = "quiet"
)

// Limits is the table [limits].
type Limits struct {
	MaxConcurrentTasksPerOwner int64
	MaxMessageBytes            int64
	MaxConnections             int64
}

// Commands is the table [commands].
type Commands struct {
	Shell            string
	OutputLimitBytes int64 // 0 = none
	SpoolBytes       int64
	KeepHeadBytes    int64
	StopGraceMs      int64
	CleanOutput      bool
	TimeoutMs        int64  // 0 = none
	MemoryMax        string // "" = none
	CPUMax           string
	PidsMax          int64 // 0 = none
}

// Owners is the table [owners].
type Owners struct {
	GraceMs         int64
	ProducerGraceMs int64
}

// Retention is the table [retention].
type Retention struct {
	Days  int64
	Tasks int64
	Bytes int64
}

// Daemon is the table [daemon].
type Daemon struct {
	OnStop     string // cancel, keep, auto
	IdleExitMs int64  // 0 = never
}

// ACP is the table [acp].
type ACP struct {
	ShowWake         string // auto, user, agent, notice, off
	MaxDrains        int64
	AgentGraceMs     int64
	WakePermissionMs int64
}

// Log is the table [log].
type Log struct {
	Level  string // debug, info, warn, error
	Format string // auto, tint, json
}

// Policy is one [[policy]].
type Policy struct {
	Scope     scope.Path
	Tools     []string // empty = all
	Stage     string   // pre, post
	Run       []string
	TimeoutMs int64
}
