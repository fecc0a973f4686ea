package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// ownCommand is what is started where the user names no command.
const ownCommand = "sleep 3; echo built ok; exit 0"

var (
	quoted = regexp.MustCompile("`([^`]+)`")
	// ended is a notice of sidetask, on a line of its own.
	ended = regexp.MustCompile(`(?m)^background task (\S+) .*$`)
)

// turn is what a model would do with a prompt: notices stand in a block of
// their own, alone or in front of what the user says.
func (s *session) turn(ctx context.Context, prompt []acp.ContentBlock) error {
	var words []string
	for _, block := range prompt {
		if block.Text == nil {
			continue
		}
		notices := ended.FindAllStringSubmatch(block.Text.Text, -1)
		if notices == nil {
			words = append(words, block.Text.Text)
		} else if err := s.report(ctx, notices); err != nil {
			return err
		}
	}
	if words == nil {
		return nil
	}
	return s.start(ctx, strings.Join(words, "\n"))
}

// start begins the work that a user asked for, and does not wait for it.
func (s *session) start(ctx context.Context, text string) error {
	command := ownCommand
	if found := quoted.FindStringSubmatch(text); found != nil {
		command = found[1]
	}
	if err := s.say(ctx, "I'll start that in the background."); err != nil {
		return err
	}
	result, err := s.call(ctx, "task_start", map[string]any{"command": command})
	if err != nil {
		return s.say(ctx, "That did not work: "+err.Error())
	}
	return s.say(ctx, fmt.Sprintf("The tool said %q. There is nothing to wait for: I end my turn and shall be told.", result))
}

// report reads what tasks have left that ended meanwhile. notices are matches
// of [ended].
func (s *session) report(ctx context.Context, notices [][]string) error {
	for _, notice := range notices {
		line, id := notice[0], notice[1]
		if err := s.say(ctx, "I am told: "+line); err != nil {
			return err
		}
		output, err := s.call(ctx, "task_output", map[string]any{"task_id": id})
		if err != nil {
			return s.say(ctx, "That did not work: "+err.Error())
		}
		lines := strings.Split(output, "\n")
		if err := s.say(ctx, fmt.Sprintf("%s is done: %s", id, lines[len(lines)-1])); err != nil {
			return err
		}
	}
	return nil
}

// say is the agent's own text.
func (s *session) say(ctx context.Context, text string) error {
	return s.show(ctx, acp.UpdateAgentMessageText(text))
}

func (s *session) show(ctx context.Context, update acp.SessionUpdate) error {
	return s.editor.SessionUpdate(ctx, acp.SessionNotification{SessionId: s.id, Update: update})
}
