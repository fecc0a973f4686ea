package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"sidetask/config"
	"sidetask/render"
)

// Bounds of the programs of [[policy]].
const (
	maxPrograms      = 16 // at once; more wait, within their time
	maxProgramOutput = 4 << 20
	maxProgramError  = maxReason
	// programGrace is how long the pipes of an ended program may stay open.
	programGrace = 500 * time.Millisecond
	// denyStatus is the exit status that means deny, with the reason on stderr.
	denyStatus = 2
)

// program is a policy that runs a program for each question: the request as
// JSON on its stdin, the answer as JSON on its stdout (CONFIG.md).
type program struct {
	run    []string
	places chan struct{}
}

func (t *Tools) program(p config.Policy) *policy {
	return &policy{
		Attachment: Attachment{Before: p.Stage == "pre", After: p.Stage == "post", Timeout: time.Duration(p.TimeoutMs) * time.Millisecond},
		Policy:     program{p.Run, t.policies.programs},
		name:       "the policy program " + p.Run[0],
	}
}

// Pre asks the program before a call.
func (p program) Pre(ctx context.Context, r PreRequest) (PreAnswer, error) {
	var answer PreAnswer
	reason, denies, err := p.ask(ctx, r, &answer)
	if denies {
		return PreAnswer{Decision: decisionDeny, Reason: reason}, nil
	}
	return answer, err
}

// Post asks the program after a call. Its deny is a block.
func (p program) Post(ctx context.Context, r PostRequest) (PostAnswer, error) {
	var answer PostAnswer
	reason, denies, err := p.ask(ctx, r, &answer)
	if denies {
		return PostAnswer{Decision: decisionBlock, Content: text(render.ErrorText(reason))}, nil
	}
	return answer, err
}

// ask runs the program. denies: it said so by its exit status.
func (p program) ask(ctx context.Context, request, answer any) (reason string, denies bool, err error) {
	select {
	case p.places <- struct{}{}:
		defer func() { <-p.places }()
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
	var out, errs limited
	out.max, errs.max = maxProgramOutput, maxProgramError
	cmd := exec.CommandContext(ctx, p.run[0], p.run[1:]...)
	cmd.Stdin = bytes.NewReader(append(encodeValue(request), '\n'))
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = programGrace
	ownGroup(cmd)
	err = cmd.Run()
	endGroup(cmd) // what it left running in the background
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", false, ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() == denyStatus:
		reason = strings.TrimSpace(strings.ToValidUTF8(string(errs.kept), "\uFFFD"))
		if reason == "" {
			reason = "denied by the policy program " + p.run[0]
		}
		return reason, true, nil
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // that is success, and a child with the pipes open
		return "", false, err
	case out.cut:
		return "", false, fmt.Errorf("it wrote more than %d bytes", maxProgramOutput)
	}
	if err := json.Unmarshal(out.kept, answer); err != nil {
		return "", false, fmt.Errorf("its output is no answer in JSON: %w", Plain(err))
	}
	return "", false, nil
}

// limited keeps the beginning of what is written to it. It embeds no buffer:
// that one's ReadFrom would be found by io.Copy and pass Write by.
type limited struct {
	kept []byte
	max  int
	cut  bool
}

var _ io.Writer = (*limited)(nil)

func (l *limited) Write(p []byte) (int, error) {
	room := min(len(p), l.max-len(l.kept))
	l.cut = l.cut || room < len(p)
	l.kept = append(l.kept, p[:room]...)
	return len(p), nil
}
