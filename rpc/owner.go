package rpc

import "encoding/json"

// OwnerRegister is the parameter of owner/register. The connection becomes the
// owner's host. Token is made by the host: 128 random bits in hex.
type OwnerRegister struct {
	Token    string            `json:"token"`
	Agent    string            `json:"agent,omitempty"`
	Session  string            `json:"session,omitempty"` // empty: waits for owner/bind
	Scope    string            `json:"scope,omitempty"`   // "/" where empty
	Title    string            `json:"title,omitempty"`
	Cwd      string            `json:"cwd,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	Takeover bool              `json:"takeover,omitempty"`
	Leases   []string          `json:"leases,omitempty"` // that the host still holds
}

// OwnerRegistered is the result of owner/register.
type OwnerRegistered struct {
	Owner   string      `json:"owner"`   // the daemon's handle, o-12
	Pending int         `json:"pending"` // notices that wait
	ACP     ACPSettings `json:"acp"`
}

// ACPSettings are the [acp] settings in force, for the proxy.
type ACPSettings struct {
	ShowWake         string `json:"showWake"` // auto, user, agent, notice, off
	MaxDrains        int    `json:"maxDrains"`
	AgentGraceMs     int64  `json:"agentGraceMs"`
	WakePermissionMs int64  `json:"wakePermissionMs"`
}

// OwnerBind is the parameter of owner/bind, which names an unnamed owner.
type OwnerBind struct {
	Token    string `json:"token"`
	Session  string `json:"session"`
	Agent    string `json:"agent,omitempty"`
	Fresh    bool   `json:"fresh,omitempty"` // what an earlier owner of that key left is disposed first
	Takeover bool   `json:"takeover,omitempty"`
}

// OwnerBound is the result of owner/bind.
type OwnerBound struct {
	Owner   string `json:"owner"`
	Pending int    `json:"pending"`
}

// OwnerUpdate is the parameter of owner/update; absent fields stay.
type OwnerUpdate struct {
	As
	Status string            `json:"status,omitempty"` // "idle" or "busy"
	Title  *string           `json:"title,omitempty"`
	Cwd    *string           `json:"cwd,omitempty"`
	Env    map[string]string `json:"env,omitempty"`
	Note   *string           `json:"note,omitempty"` // what a host decided for its client, for status
}

// OwnerDispose is the parameter of owner/dispose.
type OwnerDispose struct {
	As
	Reason string `json:"reason,omitempty"`
}

// OwnerDisposed is the result of owner/dispose: the ids of its tasks that were
// live and have been cancelled.
type OwnerDisposed struct {
	Cancelled []string `json:"cancelled"`
}

// OwnerInfo is one row of owner/list.
type OwnerInfo struct {
	Owner      string `json:"owner"`
	Agent      string `json:"agent,omitempty"`
	Session    string `json:"session,omitempty"`
	Scope      string `json:"scope"`
	Mount      string `json:"mount,omitempty"` // scope of the mount that serves it
	Status     string `json:"status"`          // idle, busy, lost
	Title      string `json:"title,omitempty"`
	Cwd        string `json:"cwd,omitempty"`
	BudgetLeft int    `json:"budgetLeft"`
	Pending    int    `json:"pending"`
	Tasks      int    `json:"tasks"`
	Wakes      []Wake `json:"wakes"` // the newest few
}

// Wake tells of one wake: when, and which tasks' ends were its reason.
type Wake struct {
	At    int64    `json:"at"`
	Tasks []string `json:"tasks"`
}

// OwnerListResult is the result of owner/list.
type OwnerListResult struct {
	Owners []OwnerInfo `json:"owners"`
}

// Reasons of a claim (ARCHITECTURE, decision 6).
const (
	ClaimWake    = "wake"
	ClaimTurnEnd = "turn-end"
	ClaimUser    = "user"
)

// Refusals of a claim.
const (
	RefusedBudget = "budget"
	RefusedQuiet  = "quiet"
	RefusedEmpty  = "empty"
)

// InboxClaim is the parameter of inbox/claim. Take absent means true.
type InboxClaim struct {
	As
	Reason string `json:"reason"`
	Take   *bool  `json:"take,omitempty"`
}

// InboxClaimed is the result of inbox/claim.
type InboxClaimed struct {
	Notices []Notice `json:"notices"`
	Lease   string   `json:"lease,omitempty"`
	Refused string   `json:"refused,omitempty"`
}

// Notice is one waiting end: the exact text for the model (BEHAVIOUR T156,
// T157) and the summary for a person (T161).
type Notice struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Summary string `json:"summary"`
	Task    Task   `json:"task"`
}

// InboxAck is the parameter of inbox/ack and inbox/release.
type InboxAck struct {
	As
	Lease string `json:"lease"`
	Park  bool   `json:"park,omitempty"` // release only
}

// InboxWait is the parameter of inbox/list and inbox/wait.
type InboxWait struct {
	As
	TimeoutMs json.RawMessage `json:"timeoutMs,omitempty"`
}

// InboxNotices is the result of inbox/list and inbox/wait.
type InboxNotices struct {
	Notices []Notice `json:"notices"`
}

// Lanes of the bell.
const (
	LaneWake   = "wake"
	LaneInject = "inject"
)

// InboxPending is the bell, the notification inbox/pending.
type InboxPending struct {
	Owner string `json:"owner"`
	Count int    `json:"count"`
	Lane  string `json:"lane"`
}

// OwnerLost is the notification owner/lost.
type OwnerLost struct {
	Owner string `json:"owner"`
}

// OwnerResolve is the daemon's request owner/resolve to a host with several
// owners: whose tool call is this (ACP.md §2).
type OwnerResolve struct {
	Owner     string          `json:"owner"` // whose token the call came with
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Meta      json.RawMessage `json:"_meta,omitempty"`
}

// OwnerResolved is its answer.
type OwnerResolved struct {
	Owner string `json:"owner"`
}
