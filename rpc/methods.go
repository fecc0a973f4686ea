package rpc

// Version is the protocol version that initialize speaks.
const Version = 1

// Limits of the wire (docs/api.md, Framing).
const (
	// DefaultMaxMessageBytes bounds one message unless limits.maxMessageBytes says otherwise.
	DefaultMaxMessageBytes = 16 << 20
	// MaxOpenCalls is how many waiting calls one connection may have open; the next is refused (LimitReached).
	MaxOpenCalls = 64
	// MaxUnwrittenBytes of answers (or one message) may wait for a slow client before no new request starts.
	MaxUnwrittenBytes = 1 << 20
	// MaxTailBytes bounds the data of one task/tail answer.
	MaxTailBytes = 1 << 20
	// MaxListLimit bounds the tasks of one task/list answer.
	MaxListLimit = 1000
)

// Methods that a client calls.
const (
	MethodInitialize = "initialize"

	MethodOwnerRegister = "owner/register"
	MethodOwnerBind     = "owner/bind"
	MethodOwnerAbort    = "owner/abort"
	MethodOwnerUpdate   = "owner/update"
	MethodOwnerDispose  = "owner/dispose"
	MethodOwnerList     = "owner/list"

	MethodInboxClaim   = "inbox/claim"
	MethodInboxAck     = "inbox/ack"
	MethodInboxRelease = "inbox/release"
	MethodInboxList    = "inbox/list"
	MethodInboxWait    = "inbox/wait"

	MethodTaskStart     = "task/start"
	MethodTaskRegister  = "task/register"
	MethodTaskAppend    = "task/append"
	MethodTaskSettle    = "task/settle"
	MethodTaskResume    = "task/resume"
	MethodTaskOutput    = "task/output"
	MethodTaskList      = "task/list"
	MethodTaskGet       = "task/get"
	MethodTaskKill      = "task/kill"
	MethodTaskWait      = "task/wait"
	MethodTaskTail      = "task/tail"
	MethodTaskWrite     = "task/write"
	MethodTaskSubscribe = "task/subscribe"
	MethodTaskPrune     = "task/prune"

	MethodToolsList    = "tools/list"
	MethodToolsPresent = "tools/present"
	MethodToolsCall    = "tools/call"

	MethodMountAttach = "mount/attach"
	MethodMountDetach = "mount/detach"
	MethodMountList   = "mount/list"

	MethodPolicyAttach = "policy/attach"

	MethodConfigGet       = "config/get"
	MethodConfigReload    = "config/reload"
	MethodConfigSubscribe = "config/subscribe"

	MethodDaemonStatus  = "daemon/status"
	MethodDaemonStop    = "daemon/stop"
	MethodDaemonRestart = "daemon/restart"
)

// Notifications that a client sends.
const (
	NotifyCancelRequest  = "$/cancel_request"
	NotifyToolsDelivered = "tools/delivered"
)

// Notifications and requests that the daemon sends.
const (
	NotifyInboxPending  = "inbox/pending"
	NotifyOwnerLost     = "owner/lost"
	NotifyTaskChanged   = "task/changed"
	NotifyTaskRemoved   = "task/removed"
	NotifyConfigChanged = "config/changed"

	MethodTaskCancel   = "task/cancel"
	MethodOwnerResolve = "owner/resolve"
	MethodPolicyPre    = "policy/pre"
	MethodPolicyPost   = "policy/post"
)

// Initialize is the parameter of initialize. A token binds the whole
// connection to that owner, for good.
type Initialize struct {
	ProtocolVersion int                `json:"protocolVersion"`
	Client          Peer               `json:"client"`
	Token           string             `json:"token,omitempty"`
	Capabilities    ClientCapabilities `json:"capabilities,omitzero"`
}

// ClientCapabilities is what a client says of itself in initialize.
type ClientCapabilities struct {
	// Delivered: the client sends tools/delivered when the answer of a
	// tools/call has reached the agent; reports become final only then.
	Delivered bool `json:"delivered,omitempty"`
}

// Initialized is the result of initialize.
type Initialized struct {
	ProtocolVersion int                `json:"protocolVersion"`
	Server          Peer               `json:"server"`
	Capabilities    DaemonCapabilities `json:"capabilities"`
}

// DaemonCapabilities is what the daemon says of itself in initialize.
type DaemonCapabilities struct {
	Methods []string `json:"methods"`
}

// Peer names a program and its version.
type Peer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// CancelRequest is the parameter of $/cancel_request. RequestID is the raw id
// of the call whose wait is to end.
type CancelRequest struct {
	RequestID RawID `json:"requestId"`
}

// Empty is the result {} of calls that have nothing to say.
type Empty struct{}
