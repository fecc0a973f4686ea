package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// screen writes the conversation, each piece with the seconds since it began.
type screen struct {
	began time.Time

	mu  sync.Mutex // held while a piece is written
	out io.Writer
}

func newScreen(out io.Writer) *screen { return &screen{began: time.Now(), out: out} }

func (s *screen) user(text string)  { s.piece("user  ", text) }
func (s *screen) agent(text string) { s.piece("agent ", text) }
func (s *screen) line(text string)  { s.piece("──────", text) }

// card shows a tool call that has ended.
func (s *screen) card(c card, status string) {
	if c.allowed {
		status = "allowed by the user, " + status
	}
	s.piece("card  ", fmt.Sprintf("%s (%s, %s)\n%s", c.title, c.kind, status, c.text))
}

func (s *screen) piece(who, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	head := fmt.Sprintf("%5.1fs  %s ", time.Since(s.began).Seconds(), who)
	indent := "\n" + strings.Repeat(" ", len("  0.0s  ")) + "     │ "
	_, _ = fmt.Fprintln(s.out, head+strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", indent))
}
