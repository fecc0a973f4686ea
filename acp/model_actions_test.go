package acp

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// actions are what may happen next.
func (s *scene) actions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){}
	for _, a := range []struct {
		weight int
		name   string
		do     func(*rapid.T, *chat)
	}{
		{3, "prompt", func(t *rapid.T, c *chat) {
			s.prompt(c, rapid.SampledFrom([]string{"hello", "hello", "/compact"}).Draw(t, "text"))
		}},
		{1, "other", func(_ *rapid.T, c *chat) { c.request("session/set_mode", `"sessionId":"s","modeId":"m"`) }},
		{1, "cancel", func(_ *rapid.T, c *chat) {
			c.edit(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`)
		}},
		{1, "cancel request", func(t *rapid.T, c *chat) {
			c.edit(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`, draw(t, c.prompts)))
		}},
		{6, "answer", func(t *rapid.T, c *chat) {
			c.answer(draw(t, c.open), rapid.SampledFrom([]string{"end_turn", "end_turn", "end_turn", "cancelled", "refusal", "error"}).Draw(t, "result"))
		}},
		{2, "speak", func(t *rapid.T, c *chat) { c.speak(rapid.Bool().Draw(t, "speech")) }},
		{4, "state", func(t *rapid.T, c *chat) {
			need(t, s.v2)
			c.state(!c.running)
		}},
		{1, "idle", func(_ *rapid.T, c *chat) {
			c.update(`"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"idle"}}}`)
		}},
		{1, "ask", func(_ *rapid.T, c *chat) {
			c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ask%d","method":"session/request_permission","params":{"sessionId":"s","options":[],"toolCall":{"toolCallId":"t"}}}`, s.steps))
		}},
		{1, "permit", func(t *rapid.T, c *chat) { need(t, len(c.asked) > 0); s.permit(c) }},
		{4, "start", func(t *rapid.T, _ *chat) { need(t, s.rooms.r != nil && s.rooms.owner() != ""); s.rooms.start() }},
		{4, "end", func(t *rapid.T, _ *chat) {
			need(t, s.rooms.r != nil)
			s.rooms.end(draw(t, s.tasks(false)))
			s.look()
		}},
		{1, "read", func(t *rapid.T, _ *chat) {
			need(t, s.rooms.r != nil && s.rooms.owner() != "")
			s.rooms.readEnd(draw(t, s.tasks(true)))
			s.look()
		}},
		{5, "time", func(t *rapid.T, _ *chat) {
			time.Sleep(rapid.SampledFrom([]time.Duration{10 * time.Millisecond, 150 * time.Millisecond, 300 * time.Millisecond, 1100 * time.Millisecond, 2500 * time.Millisecond, 31 * time.Second, 65 * time.Second}).Draw(t, "time"))
			s.look()
		}},
		{3, "slow", func(t *rapid.T, c *chat) {
			how := rapid.SampledFrom([]hanging{prompt, before, afterward}).Draw(t, "how")
			c.log("  slow", fmt.Sprint(how))
			s.slow = how
			for _, c := range s.chats {
				c.seat.slow(how)
			}
			s.look()
		}},
		{2, "daemon", func(t *rapid.T, _ *chat) { s.daemon(rapid.Bool().Draw(t, "crash")) }},
		{1, "line", func(_ *rapid.T, _ *chat) { s.lineLost(s.newest()) }},
		{1, "chat", func(t *rapid.T, c *chat) {
			how := rapid.SampledFrom([]string{"stays", "killed", "closed", "dies", "another"}).Draw(t, "how")
			switch {
			case how == "stays":
			case how != "another":
				c.end(how)
			case s.alive() < 2 && !s.newest().away && s.newest().seat.bound:
				// Of two that have never had the session, nobody could say which is to.
				s.newChat()
			}
		}},
	} {
		for i := range a.weight {
			all[fmt.Sprint(a.name, " ", i)] = func(t *rapid.T) {
				c := s.chat(t)
				c.log("step", a.name)
				a.do(t, c)
				s.steps++
			}
		}
	}
	return all
}

func need(t *rapid.T, that bool) {
	if !that {
		t.Skip("cannot be")
	}
}

func draw[T any](t *rapid.T, from []T) T {
	need(t, len(from) > 0)
	return from[rapid.IntRange(0, len(from)-1).Draw(t, "which")]
}

// chat is one that lives; a new one where there is none.
func (s *scene) chat(t *rapid.T) *chat {
	var living []*chat
	for _, c := range s.chats {
		if c.alive {
			living = append(living, c)
		}
	}
	if len(living) == 0 {
		return s.newChat()
	}
	return draw(t, living)
}

func (s *scene) alive() (n int) {
	for _, c := range s.chats {
		if c.alive {
			n++
		}
	}
	return n
}

// tasks are those that live, or have ended.
func (s *scene) tasks(ended bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.rooms.tasks)), func(id string) bool { return s.rooms.ended[id] != ended })
}

func (s *scene) prompt(c *chat, text string) {
	s.wakes = 0
	c.prompts = append(c.prompts, fmt.Sprint(c.lastID+1))
	c.request(methodPrompt, fmt.Sprintf(`"sessionId":"s","prompt":[{"type":"text","text":%q}]`, text))
}

func (s *scene) permit(c *chat) {
	id := c.asked[0]
	c.asked = c.asked[1:]
	c.edit(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"cancelled"}}}`, id))
}

// daemon has it end, or come back.
func (s *scene) daemon(crash bool) {
	if s.rooms.r == nil {
		s.rooms.open()
		for _, c := range s.chats {
			if c.alive && !c.away {
				c.seat.open()
			}
		}
	} else {
		s.rooms.close(crash)
		for _, c := range s.chats {
			if c.alive {
				c.seat.cut(true)
			}
		}
	}
	s.look()
}

// lineLost has one connection end, or come back.
func (s *scene) lineLost(c *chat) {
	if c.away = !c.away; c.away {
		c.seat.cut(true)
	} else if s.rooms.r != nil {
		c.seat.open()
	}
	s.look()
}

func (s *scene) newest() *chat { return s.chats[len(s.chats)-1] }

// daemonBack has everybody connected, and quick.
func (s *scene) daemonBack() {
	s.slow = prompt
	for _, c := range s.chats {
		c.seat.slow(prompt)
		if c.alive && c.away {
			s.lineLost(c)
		}
	}
	if s.rooms.r == nil {
		s.daemon(false)
	}
	s.look()
}
