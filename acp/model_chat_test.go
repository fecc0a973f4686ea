package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// tap keeps the lines that are written to it, with their time.
type tap struct {
	mu    sync.Mutex // guards all below
	rest  []byte
	lines []tapped
}

type tapped struct {
	at   time.Time
	text string
}

func (t *tap) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rest = append(t.rest, b...)
	for {
		line, rest, whole := bytes.Cut(t.rest, []byte{'\n'})
		if !whole {
			return len(b), nil
		}
		t.lines = append(t.lines, tapped{time.Now(), string(line)})
		t.rest = bytes.Clone(rest)
	}
}

func (t *tap) Close() error { return nil }

func (t *tap) take() []tapped {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.lines
	t.lines = nil
	return lines
}

// chat is one proxy, as it is, with its own editor and agent.
type chat struct {
	s     *scene
	seat  *seat
	away  bool // its connection to the daemon is lost and does not come back yet
	alive bool
	stray bool // its leases are no more its own

	editor, agent *io.PipeWriter
	toEd, toAg    *tap
	died, exit    chan int

	requests map[string]int // of the editor: answers to each
	prompts  []string       // the ids of those that are prompts
	asked    []string       // by the agent: permissions that wait for the editor
	lastID   int

	open      []*given // prompts at the agent
	running   bool     // version 2
	updated   time.Time
	cancelled time.Time
	turnOver  time.Time
	accepted  time.Time // version 2: the newest answer while a turn is to begin
	drains    int
}

func (s *scene) newChat() *chat {
	c := &chat{
		s: s, alive: true, seat: &seat{rooms: s.rooms, changed: make(chan struct{}), hang: s.slow},
		toEd: &tap{}, toAg: &tap{}, died: make(chan int, 1), exit: make(chan int, 1), requests: map[string]int{},
	}
	edRead, edWrite := io.Pipe()
	agRead, agWrite := io.Pipe()
	c.editor, c.agent = edWrite, agWrite
	o := Options{In: edRead, Out: c.toEd, Err: io.Discard, Agent: []string{"agent"}, Executable: "/x", Socket: "/s", Connect: c.seat.connect}
	agent := &child{stdin: c.toAg, stdout: agRead, stderr: &lastLine{to: io.Discard}, wait: func() (int, string) { return <-c.died, "killed" }}
	go func() { c.exit <- runWith(context.Background(), o, agent) }()
	for _, old := range s.chats {
		old.stray = true
	}
	s.chats = append(s.chats, c)
	c.request("initialize", `"protocolVersion":2`)
	c.request(s.opens, `"sessionId":"s","mcpServers":[]`)
	s.opens = "session/resume"
	time.Sleep(bindPatience + settleIn)
	s.look()
	return c
}

func (c *chat) log(who, what string) {
	c.s.log(fmt.Sprintf("%d %s", slices.Index(c.s.chats, c)+1, who), what)
}

// request has the editor send a request.
func (c *chat) request(method, params string) string {
	c.lastID++
	id := fmt.Sprint(c.lastID)
	c.requests[id] = 0
	c.edit(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, id, method, params))
	return id
}

func (c *chat) edit(line string) {
	c.log("editor", line)
	_, _ = io.WriteString(c.editor, line+"\n")
	c.s.look()
}

func (c *chat) say(line string) {
	c.log("agent", line)
	_, _ = io.WriteString(c.agent, line+"\n")
	c.s.look()
}

func (c *chat) update(update string) {
	c.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{` + update + `}}}`)
}

// gets is what the agent does with a message.
func (c *chat) gets(l tapped) {
	c.log("  agent gets", l.text)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Prompt []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(l.text), &m); err != nil {
		c.s.fatalf("the agent gets %q: %v", l.text, err)
	}
	result := "{}"
	switch {
	case m.Method == methodPrompt:
		var text strings.Builder
		for _, b := range m.Params.Prompt {
			text.WriteString(b.Text + "\n")
		}
		g := &given{chat: c, id: string(m.ID), own: strings.HasPrefix(string(m.ID), `"sidetask-`), quiet: l.at.Sub(c.updated) >= 2*time.Second}
		for _, id := range noticeRE.FindAllStringSubmatch(text.String(), -1) {
			g.tasks = append(g.tasks, id[1])
		}
		c.s.given(g, l.at)
		c.open = append(c.open, g)
		return
	case m.Method == methodCancel:
		c.cancelled = l.at
		for _, g := range c.open {
			g.cancelled = true
		}
		return
	case m.Method == methodInitialize:
		result = `{"protocolVersion":1}`
		if c.s.v2 {
			result = `{"protocolVersion":2}`
		}
	case m.Method == methodNew:
		result = `{"sessionId":"s"}`
	case m.ID == nil || m.Method == "":
		return
	}
	if c.alive {
		c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
	}
}

// shows is what the editor does with a message.
func (c *chat) shows(l tapped) {
	c.log("  editor gets", l.text)
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.Unmarshal([]byte(l.text), &m); err != nil {
		c.s.fatalf("the editor gets %q: %v", l.text, err)
	}
	switch {
	case m.Method == methodPermission:
		c.asked = append(c.asked, string(m.ID))
	case m.Method == "":
		n, known := c.requests[string(m.ID)]
		if !known || n > 0 {
			c.s.fatalf("request %s of the editor is answered once too often", m.ID)
		}
		c.requests[string(m.ID)]++
	}
}

// answer has the agent end a prompt.
func (c *chat) answer(g *given, result string) {
	c.open = slices.DeleteFunc(c.open, func(o *given) bool { return o == g })
	g.answered, g.failed = true, result == "error"
	c.turnOver = time.Now()
	body := fmt.Sprintf(`"result":{"stopReason":%q}`, result)
	switch {
	case g.failed:
		body = `"error":{"code":-32603,"message":"no"}`
	case c.s.v2:
		body = `"result":{"messageId":"m"}`
	}
	if !g.failed || !c.accepted.IsZero() {
		c.accepted = time.Now()
	}
	c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, g.id, body))
}

func (c *chat) state(running bool) {
	c.running = running
	if c.accepted = (time.Time{}); !running {
		c.turnOver = time.Now()
	}
	c.update(`"sessionUpdate":"state_update","state":"` + map[bool]string{true: "running", false: "idle"}[running] + `","stopReason":"end_turn"`)
}

// speak has the agent show that it is at work.
func (c *chat) speak(speech bool) {
	kind := "plan"
	if speech {
		kind = "agent_message_chunk"
		for _, g := range c.open {
			g.spoke = true
		}
	}
	c.updated = time.Now()
	c.update(`"sessionUpdate":"` + kind + `","content":{"type":"text","text":"x"},"entries":[]`)
}

// end ends a chat. What is left open is answered where an editor is left.
func (c *chat) end(how string) {
	c.log("ends", how)
	switch how {
	case "killed":
		c.seat.cut(false)
		_ = c.editor.Close()
	case "closed":
		_ = c.editor.Close()
		synctest.Wait()
		c.s.look()
	}
	c.died <- 0
	_ = c.agent.Close()
	<-c.exit
	c.seat.cut(false)
	synctest.Wait()
	c.s.look()
	c.alive, c.open = false, nil
	_ = c.editor.Close()
	if how == "dies" {
		c.allAnswered()
	}
}

func (c *chat) allAnswered() {
	for id, n := range c.requests {
		if n != 1 {
			c.s.fatalf("request %s of the editor is never answered", id)
		}
	}
}
