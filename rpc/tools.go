package rpc

import "encoding/json"

// Names of the model's tools.
const (
	ToolStart  = "task_start"
	ToolOutput = "task_output"
	ToolList   = "task_list"
	ToolKill   = "task_kill"
)

// Content is one block of a tool result. Text blocks have Type "text"; a
// policy may give other blocks, whose bytes are kept in Raw.
type Content struct {
	Type string
	Text string
	Raw  json.RawMessage // the whole block, if it is no text block
}

// Text makes a text block.
func Text(s string) Content { return Content{Type: "text", Text: s} }

// MarshalJSON writes the block, a raw one as it came.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.Raw != nil {
		return c.Raw, nil
	}
	return json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{c.Type, c.Text})
}

// UnmarshalJSON reads a block; anything but a plain text block is kept raw.
func (c *Content) UnmarshalJSON(data []byte) error {
	var block map[string]json.RawMessage
	if err := json.Unmarshal(data, &block); err != nil {
		return err
	}
	var text struct{ Type, Text string }
	if err := json.Unmarshal(data, &text); err != nil || text.Type != "text" || len(block) != 2 {
		var kind struct{ Type string }
		_ = json.Unmarshal(data, &kind)
		*c = Content{Type: kind.Type, Raw: append(json.RawMessage(nil), data...)}
		return nil
	}
	*c = Content{Type: text.Type, Text: text.Text}
	return nil
}

// Tool is one tool as MCP lists it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// ToolsListResult is the result of tools/list: the same bytes always.
type ToolsListResult struct {
	Tools        []Tool `json:"tools"`
	Instructions string `json:"instructions"`
}

// ToolsCall is the parameter of tools/call.
type ToolsCall struct {
	As
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Meta      json.RawMessage `json:"_meta,omitempty"`
	// MaxWaitMs caps this call's wait beside the mount's cap, for a client that
	// gives a call up after a time of its own (ACP.md §3); absent is no cap.
	MaxWaitMs int64 `json:"maxWaitMs,omitempty"`
}

// ToolsCallResult is the result of tools/call. Value is the canonical value
// (BEHAVIOUR T115), absent in an error.
type ToolsCallResult struct {
	Content []Content       `json:"content"`
	Value   json.RawMessage `json:"value,omitempty"`
	IsError bool            `json:"isError"`
}

// ToolsDelivered is the notification tools/delivered: ID is the raw id of the
// tools/call whose answer has reached the agent.
type ToolsDelivered struct {
	ID RawID `json:"id"`
}

// Card is the result of tools/present: the ACP card of a call (BEHAVIOUR
// T171). Empty for bad arguments.
type Card struct {
	Card     string          `json:"card,omitempty"` // "generic"
	Title    string          `json:"title,omitempty"`
	Kind     string          `json:"kind,omitempty"` // "read" or "execute"
	RawInput json.RawMessage `json:"rawInput,omitempty"`
}

// MountSettings are the settings of a mount; absent ones are inherited.
type MountSettings struct {
	WaitTimeoutMs       *int64  `json:"waitTimeoutMs,omitempty"`
	MaxWaitTimeoutMs    *int64  `json:"maxWaitTimeoutMs,omitempty"`
	CompletionDelivery  *string `json:"completionDelivery,omitempty"`
	MaxConsecutiveWakes *int64  `json:"maxConsecutiveWakes,omitempty"`
}

// MountAttach is the parameter of mount/attach.
type MountAttach struct {
	Scope    string        `json:"scope"`
	Settings MountSettings `json:"settings,omitzero"`
}

// MountDetach is the parameter of mount/detach: the id that mount/attach gave, or
// the scope.
type MountDetach struct {
	Mount string `json:"mount,omitempty"`
	Scope string `json:"scope,omitempty"`
}

// MountAttached is the result of mount/attach.
type MountAttached struct {
	Mount string `json:"mount"`
}

// MountInfo is one row of mount/list.
type MountInfo struct {
	Mount               string `json:"mount"`
	Scope               string `json:"scope"`
	Origin              string `json:"origin"` // "default", "file:line", "connection"
	Enabled             bool   `json:"enabled"`
	WaitTimeoutMs       int64  `json:"waitTimeoutMs"`
	MaxWaitTimeoutMs    int64  `json:"maxWaitTimeoutMs"`
	CompletionDelivery  string `json:"completionDelivery"`
	MaxConsecutiveWakes int64  `json:"maxConsecutiveWakes"`
}

// MountListResult is the result of mount/list.
type MountListResult struct {
	Mounts []MountInfo `json:"mounts"`
}

// PolicyAttach is the parameter of policy/attach.
type PolicyAttach struct {
	Scope     string   `json:"scope"`
	Stages    []string `json:"stages"`          // "pre", "post"
	Tools     []string `json:"tools,omitempty"` // all where absent
	TimeoutMs int64    `json:"timeoutMs,omitempty"`
}

// PolicyAttached is the result of policy/attach.
type PolicyAttached struct {
	Policy string `json:"policy"`
}

// PolicyPre is the daemon's request policy/pre.
type PolicyPre struct {
	Owner     string          `json:"owner"`
	Scope     string          `json:"scope"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Task      *Task           `json:"task,omitempty"`
}

// PolicyPreResult is its answer.
type PolicyPreResult struct {
	Decision string          `json:"decision"` // allow, deny, value
	Reason   string          `json:"reason,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
}

// PolicyPost is the daemon's request policy/post.
type PolicyPost struct {
	PolicyPre
	Result ToolsCallResult `json:"result"`
}

// PolicyPostResult is its answer. Content or Value replace the result's.
type PolicyPostResult struct {
	Decision string          `json:"decision"` // accept, block
	Content  []Content       `json:"content,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
}
