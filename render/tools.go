package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Names of the model's tools.
const (
	toolStart  = "task_start"
	toolOutput = "task_output"
	toolList   = "task_list"
	toolKill   = "task_kill"
)

// Tool is one tool as the model sees it.
type Tool struct {
	Name        string
	Description string
	InputSchema json.RawMessage // JSON schema, the same bytes always
	ReadOnly    bool            // changes nothing outside sidetask
}

// property is one argument of a tool.
type property struct {
	name        string
	kind        string // JSON type
	required    bool
	only        string // the one value it may have, or empty
	description string
}

// tool is a [Tool] before its schema is written.
type tool struct {
	name, description string
	readOnly          bool
	properties        []property
}

const taskID = "Id from the tool that started it."

// tools are all tools (BEHAVIOUR T111–T114 with the table's row on them). Their
// texts stand at the head of each request of a model: a changed byte costs its
// prompt cache, each byte costs every request. No configured number is named.
var tools = []tool{
	{
		name:        toolStart,
		description: "Run a shell command in the background. Returns its task id at once; the command outlives your turn, and you are told when it finishes.",
		properties: []property{
			{name: "command", kind: "string", required: true, description: "Shell command."},
			{name: "label", kind: "string", description: "Name in lists; default: the command."},
			{name: "cwd", kind: "string", description: "Working directory; default: the session's."},
			{name: "timeout_ms", kind: "number", description: "Kill it after this long; default as configured."},
		},
	},
	{
		name:        toolOutput,
		readOnly:    true,
		description: "Read a background task: of a stream task only what is new since the last read, of a final-output task its result once it has ended. Every answer ends with [status: ...]. Blocks only if wait is true, up to the configured cap.",
		properties: []property{
			{name: "task_id", kind: "string", required: true, description: taskID},
			{name: "wait", kind: "boolean", description: "Block until it ends or time is up (then [status: running]; the task lives on)."},
			{name: "timeout_ms", kind: "number", description: "Longest wait, only with wait; default and cap as configured."},
			{name: "until", kind: "string", description: "RE2 pattern; with wait, return as soon as new output matches."},
			{name: "from", kind: "string", only: "start", description: "Read again from the beginning."},
		},
	},
	{
		name:        toolList,
		readOnly:    true,
		description: "List your background tasks, running and finished, with id, kind and status.",
	},
	{
		name:        toolKill,
		description: "Ask a background task to stop. Returns at once; it settles as killed when its work has really stopped.",
		properties: []property{
			{name: "task_id", kind: "string", required: true, description: taskID},
			{name: "reason", kind: "string", description: "Short; logged and passed on."},
		},
	},
}

// instructions is the guidance (BEHAVIOUR T170).
const instructions = "Background tasks: start long work with task_start and keep track of every id you start. " +
	"You are told in this session when a task finishes, so do not poll or sleep on one. " +
	"Go on with independent work, do not repeat what a running task is doing, or end your turn. " +
	"Before your final answer collect every task that is still relevant with task_output (wait: true only when truly blocked), " +
	"and task_kill those that no longer matter."

// ownInstructions is the guidance where nobody can give the model a turn.
const ownInstructions = "Background tasks: start long work with task_start and keep track of every id you start. " +
	"That a task has finished you are told in the result of your next call of one of these tools; nothing wakes you. " +
	"Do not poll or sleep on one: go on with independent work, do not repeat what a running task is doing, " +
	"and when nothing else is left, wait for it (task_output with wait: true). " +
	"Before your final answer collect every task that is still relevant, and task_kill those that no longer matter; " +
	"all are killed when this session ends."

// Tools are the model's tools, in their fixed order. The result is the caller's.
func Tools() []Tool {
	all := make([]Tool, 0, len(tools))
	for _, t := range tools {
		all = append(all, Tool{Name: t.name, Description: t.description, InputSchema: t.schema(), ReadOnly: t.readOnly})
	}
	return all
}

// Instructions is the guidance that an agent puts before its model (BEHAVIOUR
// T170): the same bytes always.
func Instructions() string { return instructions }

// OwnInstructions is the guidance for an agent without a proxy (CLI.md, `sidetask
// mcp`): the same bytes always, too.
func OwnInstructions() string { return ownInstructions }

// find gives the tool of that name.
func find(name string) (tool, bool) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == name })
	if i < 0 {
		return tool{}, false
	}
	return tools[i], true
}

// schema writes the JSON schema of the arguments, keys in a fixed order and with
// no additionalProperties (BEHAVIOUR T111).
func (t tool) schema() json.RawMessage {
	var out bytes.Buffer
	var required [][]byte
	out.WriteString(`{"type":"object","properties":{`)
	for i, p := range t.properties {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `%s:{"type":%s`, quote(p.name), quote(p.kind))
		if p.only != "" {
			fmt.Fprintf(&out, `,"enum":[%s]`, quote(p.only))
		}
		fmt.Fprintf(&out, `,"description":%s}`, quote(p.description))
		if p.required {
			required = append(required, quote(p.name))
		}
	}
	out.WriteByte('}')
	if len(required) > 0 {
		fmt.Fprintf(&out, `,"required":[%s]`, bytes.Join(required, []byte(",")))
	}
	out.WriteByte('}')
	return out.Bytes()
}

// quote writes s as a JSON string, with no more escapes than JSON needs.
func quote(s string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
