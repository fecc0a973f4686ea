package tools

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"sidetask/config"
	"sidetask/registry"
	"sidetask/render"
	"sidetask/scope"
)

// Names of the tools; the same as on the wire.
const (
	Start  = "task_start"
	Output = "task_output"
	List   = "task_list"
	Kill   = "task_kill"
)

// CommandProducer is the name under which the command producer was added to
// the registry: its tasks have the default cap commands.outputLimitBytes.
const CommandProducer = "command"

// Commands starts command tasks.
type Commands interface {
	Start(ctx context.Context, c registry.Caller, command Command) (registry.Task, error)
}

// Command is what to start.
type Command struct {
	Command     string
	Label       string            // the command, where empty (T186)
	Cwd         string            // relative to the owner's; the owner's, where empty
	Env         map[string]string // laid over the owner's
	OutputLimit any               // nil = none; else a JSON value as it was given
	TimeoutMs   *int64            // nil = commands.timeoutMs
	PTYCols     int               // a terminal of that size, where positive
	PTYRows     int
	Stdin       bool
	Separate    bool // stderr apart from stdout
	Shared      bool // unowned
	Key         string
}

// Options are what the tools need, all of it.
type Options struct {
	Registry *registry.Registry
	Live     *config.Live
	Commands Commands
}

// Tools runs calls. It is safe for concurrent use.
type Tools struct {
	registry *registry.Registry
	live     *config.Live
	commands Commands
	policies policies
}

// New makes the tools. Policies of the configuration are read at each call.
func New(o Options) *Tools {
	return &Tools{registry: o.Registry, live: o.Live, commands: o.Commands, policies: newPolicies()}
}

// Call is one call of a tool.
type Call struct {
	Caller    registry.Caller
	Name      string
	Arguments json.RawMessage // as the model gave them; nil = {}
	// From is the connection that the call came from: its own policies are not
	// asked. Compared by identity; may be nil.
	From any
	// Waits is called once before the call does anything that may take long. Its
	// error ends the call. May be nil.
	Waits func() error
	// MaxWait is the longest wait that the agent itself would sit through; 0 =
	// any (ACP.md §3).
	MaxWait time.Duration
	// Start is what task_start is to start, where the caller has more to say than
	// a model can; Arguments are then for the policies only.
	Start *Command
}

// Block is one block of a result: a text (Type "text"), or anything else as
// it came from a policy (Raw).
type Block struct {
	Type string
	Text string
	Raw  json.RawMessage
}

// MarshalJSON writes the block, a raw one as it came.
func (b Block) MarshalJSON() ([]byte, error) {
	if b.Raw != nil {
		return b.Raw, nil
	}
	return json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{b.Type, b.Text})
}

// UnmarshalJSON reads a block; anything but a plain text block is kept raw.
func (b *Block) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return errors.New("a content block must be an object")
	}
	var kind, text string
	if json.Unmarshal(fields["type"], &kind) != nil {
		return errors.New(`a content block needs a "type"`)
	}
	if len(fields) == 2 && kind == "text" && json.Unmarshal(fields["text"], &text) == nil {
		*b = Block{Type: kind, Text: text}
		return nil
	}
	*b = Block{Type: kind, Raw: append(json.RawMessage(nil), data...)}
	return nil
}

// Result is what a call gives.
type Result struct {
	Content []Block
	Value   json.RawMessage // the canonical value (T115), its text bounded like the content; nil in an error
	IsError bool
	// Err is why it is an error, for callers that have codes; nil where IsError is not set.
	Err error
	// Receipts become final when the caller has got the result, an error too: a
	// block of a policy does not undo what the body did (T153). Who gets them must
	// settle each.
	Receipts []*registry.Receipt
	// Task is the task that the call was about, as it is after it; nil where there was none.
	Task *registry.Task
	// Replaced: the value is a policy's.
	Replaced bool
}

// ErrDenied is the error of a call that a policy denied or blocked.
var ErrDenied = errors.New("denied by a policy")

// Call runs a tool. It always gives a result: what goes wrong is one, too.
func (t *Tools) Call(ctx context.Context, call Call) Result {
	p := &pass{tools: t, ctx: ctx, Call: call, scope: scope.Root}
	if h, ok := call.Caller.Owner(); ok {
		if owner, ok := t.registry.Owner(h); ok {
			p.owner, p.scope = owner, owner.Scope
		}
	}
	return p.run()
}

func invalid(format string, args ...any) error {
	return registry.Errorf(registry.KindInvalid, format, args...)
}

// shown is what render needs of a task.
func shown(t registry.Task) render.Task {
	return render.Task{ID: t.ID, Kind: t.Kind, Label: t.Label, Status: string(t.Status), Detail: t.Detail}
}

// Hinted is a snapshot with what its producer knows in passing ("waiting for
// input") as the detail of a live task that has none.
func (t *Tools) Hinted(task registry.Task) registry.Task {
	if task.Status.Terminal() || task.Detail != nil {
		return task
	}
	if hint := t.registry.Facts(task).Hint; hint != "" {
		task.Detail = &hint
	}
	return task
}

// limitOf is the byte cap of a task's model-facing texts. byDefault: nobody
// asked for it, it is the commands' default.
func (t *Tools) limitOf(task registry.Task) (limit int64, byDefault bool) {
	if task.OutputLimit > 0 {
		return task.OutputLimit, false
	}
	if task.Producer == CommandProducer {
		return t.live.Current().Commands.OutputLimitBytes, true
	}
	return 0, false
}

// Limit is the byte cap of a task's model-facing texts, also of its notice; 0
// is none (BEHAVIOUR T137, T138).
func (t *Tools) Limit(task registry.Task) int64 {
	limit, _ := t.limitOf(task)
	return limit
}

// mountOf is the mount that serves a scope; where none does, the defaults for
// those who still read and kill what they have.
func (t *Tools) mountOf(at scope.Path) config.Mount {
	if mount, ok := t.live.Mount(at); ok {
		return mount
	}
	return config.Mount{WaitTimeoutMs: 30_000, MaxWaitTimeoutMs: 600_000}
}

func unknownTool(name string) error {
	if len(name) > 100 {
		name = name[:100]
	}
	return invalid("unknown tool %q", name)
}
