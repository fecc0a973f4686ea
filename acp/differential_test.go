package acp

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Methods and updates, unknown ones too, that the proxy has no business with, for
// traffic that makes no sense. TestDifferentialKinds has the published schemas.
var (
	clientMethods = []string{
		"authenticate", "logout", "session/list", "session/set_mode", "session/set_model", "session/set_config_option",
		"session/prompt_queue", "providers/list", "document/didOpen", "nes/suggest", "_ext/thing", "sessionx/new", "session/New", "x", "",
	}
	agentMethods = []string{
		"fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill",
		"terminal/release", "elicitation/create", "mcp/connect", "_ext/ask", "session/updates", "session/prompt", "",
	}
	updateKinds = []string{
		"agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update", "plan", "plan_update",
		"available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "usage_update", "state_update",
		"user_message", "agent_message", "notice", "_lab_unknown", "",
	}
)

// value draws a JSON text with everything in it that a parser may spoil.
func value(t *rapid.T, depth int) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", "", " ", "\t ", "  "}).Draw(t, "space") }
	name := func() string {
		return rapid.SampledFrom([]string{`"a"`, `"sessionId"`, `"id"`, `"method"`, `"\u0061"`, `"_meta"`, `"title"`, `""`, `"\\\""`}).Draw(t, "name")
	}
	kinds := 8
	if depth <= 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case 1:
		return rapid.SampledFrom([]string{"0", "-0", "1.0", "1E-7", "1e400", "9007199254740993", "12345678901234567890"}).Draw(t, "number")
	case 2, 3, 4, 5:
		return rapid.SampledFrom([]string{
			`""`, `"text"`, "\"a\u2028b\u2029\"", `"\u2028"`, `"\ud800"`, `"\/"`, `"<b>&'"`, `"{\"id\":1}"`, `"}]\\"`, "\"\u007f\U0001f600\"", `"/compact"`,
		}).Draw(t, "string")
	case 6:
		var all []string
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			all = append(all, space()+value(t, depth-1)+space())
		}
		return "[" + strings.Join(all, ",") + "]"
	default:
		var all []string
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			all = append(all, space()+name()+space()+":"+space()+value(t, depth-1)+space())
		}
		return "{" + strings.Join(all, ",") + "}"
	}
}

// object puts members into an object in any order, with odd space and others between.
func object(t *rapid.T, members ...string) string {
	if rapid.Bool().Draw(t, "more") {
		members = append(members, `"x_more":`+value(t, 2))
	}
	members = rapid.Permutation(members).Draw(t, "order")
	return "{ " + strings.Join(members, " ,") + "}"
}

func id(t *rapid.T) string {
	return rapid.SampledFrom([]string{"0", "-7", "1", `"1"`, `"0"`, `""`, "9007199254740993", "12345678901234567890", `"\u00e9"`, `"a b"`}).Draw(t, "id")
}

// traffic draws a line of one side. It never answers what the proxy holds answers for.
func traffic(t *rapid.T, methods []string, updates bool) string {
	two := `"jsonrpc":"2.0"`
	session := `"sessionId":` + rapid.SampledFrom([]string{`"s"`, `"none"`, `null`}).Draw(t, "session")
	switch rapid.IntRange(0, 4).Draw(t, "message") {
	case 0:
		return object(t, two, `"id":`+id(t), `"result":`+value(t, 3))
	case 1:
		return object(t, two, `"id":`+id(t), `"error":{"code":-32077,"message":"m","data":`+value(t, 2)+`}`)
	case 2:
		return object(t, two, `"id":`+id(t), fmt.Sprintf(`"method":%q`, rapid.SampledFrom(methods).Draw(t, "method")), `"params":`+object(t, session, `"p":`+value(t, 2)))
	case 3:
		if updates {
			kind := fmt.Sprintf(`"sessionUpdate":%q`, rapid.SampledFrom(updateKinds).Draw(t, "update"))
			update := object(t, kind, `"toolCallId":`+value(t, 0), `"title":`+value(t, 1), `"content":`+value(t, 2), `"state":`+value(t, 0))
			return object(t, two, `"method":"session/update"`, `"params":`+object(t, session, `"update":`+update))
		}
		fallthrough
	default:
		return object(t, two, fmt.Sprintf(`"method":%q`, rapid.SampledFrom(methods).Draw(t, "method")), `"params":`+value(t, 3))
	}
}

// lineReader gives the lines of a pipe.
type lineReader struct{ *bufio.Reader }

func (r lineReader) next(t *rapid.T) string {
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("the proxy's end: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

// TestDifferential: but for the named edits, what passes through the proxy is
// what would pass without it: the same bytes, in the same order, both ways.
func TestDifferential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &fakeDaemon{b: &bench{}, up: true, mounts: `{}`}
		p := newPipes(Options{Executable: "/x", Socket: "/s", Connect: d.connect})
		fromAgent, fromEditor := lineReader{bufio.NewReader(p.toAgent)}, lineReader{bufio.NewReader(p.toEditor)}
		send := func(w io.Writer, line string) { _, _ = io.WriteString(w, line+"\n") }

		send(p.editor, `{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"mcpServers":[]}}`)
		fromAgent.next(t)
		send(p.agent, `{"jsonrpc":"2.0","id":"new","result":{"sessionId":"s"}}`)
		fromEditor.next(t)

		down := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return traffic(t, clientMethods, false) }), 0, 12).Draw(t, "down")
		up := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return traffic(t, agentMethods, true) }), 0, 12).Draw(t, "up")
		down, up = append(down, `{"method":"end"}`), append(up, `{"method":"end"}`)
		go func() { send(p.editor, strings.Join(down, "\n")) }()
		go func() { send(p.agent, strings.Join(up, "\n")) }()
		for _, dir := range []struct {
			name string
			r    lineReader
			want []string
		}{{"to the agent", fromAgent, down}, {"to the editor", fromEditor, up}} {
			for i, want := range dir.want {
				if got := dir.r.next(t); got != want {
					t.Fatalf("%s, line %d:\n got %s\nwant %s", dir.name, i, got, want)
				}
			}
		}
		p.end()
	})
}
