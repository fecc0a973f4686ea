package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sidetask/registry"
	"sidetask/render"
	"sidetask/scope"
)

// Policy is somebody who is asked about calls: a client, or a program.
type Policy interface {
	// Pre is asked before the execution. An error answer of the policy's own is a
	// [PolicyError]; any other error means that it could not be asked.
	Pre(ctx context.Context, r PreRequest) (PreAnswer, error)
	// Post is asked after it.
	Post(ctx context.Context, r PostRequest) (PostAnswer, error)
}

// PolicyError is the error that a policy itself answered with.
type PolicyError struct{ Message string }

// Error is the policy's message.
func (e *PolicyError) Error() string { return e.Message }

// PreRequest is policy/pre (API.md); the same JSON for programs.
type PreRequest struct {
	Owner     string          `json:"owner"`
	Scope     string          `json:"scope"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Task      *Snapshot       `json:"task,omitempty"`
}

// PreAnswer is its answer.
type PreAnswer struct {
	Decision string          `json:"decision"` // allow, deny, value
	Reason   string          `json:"reason,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
}

// PostRequest is policy/post.
type PostRequest struct {
	PreRequest
	Result PostResult `json:"result"`
}

// PostResult is the result that a policy/post is about.
type PostResult struct {
	Content []Block         `json:"content"`
	Value   json.RawMessage `json:"value,omitempty"`
	IsError bool            `json:"isError"`
}

// PostAnswer is its answer. Content or Value replace the result's; with
// "block" the content is the feedback.
type PostAnswer struct {
	Decision string          `json:"decision"` // accept, block
	Content  []Block         `json:"content,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
}

const (
	decisionAllow  = "allow"
	decisionDeny   = "deny"
	decisionValue  = "value"
	decisionAccept = "accept"
	decisionBlock  = "block"
)

// Attachment says where and about what a policy is asked.
type Attachment struct {
	Scope   scope.Path
	Before  bool          // stage "pre"
	After   bool          // stage "post"
	Tools   []string      // empty = all
	Timeout time.Duration // positive
	From    any           // its connection: calls of it are not asked about
}

// policy is one that may be asked.
type policy struct {
	Attachment
	Policy
	name string // for messages
}

// policies are those that connections attached.
type policies struct {
	programs chan struct{} // a place for each program that may run at once

	mu     sync.Mutex // guards all below
	table  scope.Table[*policy]
	asking map[asked]int // questions about the result of a read, by whom is asked
}

// asked is who is asked about a call that reads a task.
type asked struct {
	from any
	task string
}

func newPolicies() policies {
	return policies{programs: make(chan struct{}, maxPrograms), asking: make(map[asked]int)}
}

// during notes that a policy is being asked about a read that has been made and
// not been delivered.
func (ps *policies) during(p *policy, task *registry.Task) (over func()) {
	if p.From == nil || task == nil {
		return func() {}
	}
	key := asked{p.From, task.ID}
	ps.add(key, 1)
	return func() { ps.add(key, -1) }
}

func (ps *policies) add(key asked, n int) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.asking[key] += n; ps.asking[key] == 0 {
		delete(ps.asking, key)
	}
}

// asks reports whether that connection is being asked about a read of that
// task: a read of its own would wait for the one that waits for it.
func (ps *policies) asks(from any, task string) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return from != nil && ps.asking[asked{from, task}] > 0
}

// Attach adds a policy until detach, which is idempotent, is called. Calls
// that are already being asked about are not affected by that.
func (t *Tools) Attach(p Policy, at Attachment) (detach func()) {
	t.policies.mu.Lock()
	defer t.policies.mu.Unlock()
	remove := t.policies.table.Add(at.Scope, &policy{
		Attachment: at, Policy: p, name: fmt.Sprintf("the policy at %s", at.Scope),
	})
	return func() {
		t.policies.mu.Lock()
		defer t.policies.mu.Unlock()
		remove()
	}
}

// policiesOf are those that are asked about a call, the root's first and at
// each scope the file's before the attached (T87). Nobody is asked about
// what the operator does.
func (t *Tools) policiesOf(p *pass) []*policy {
	if _, ok := p.Caller.Owner(); !ok {
		return nil
	}
	var asked []*policy
	programs := t.live.Current().Policies
	t.policies.mu.Lock()
	defer t.policies.mu.Unlock()
	for _, at := range slices.Backward(p.scope.Chain()) {
		for _, program := range programs {
			if program.Scope == at && (len(program.Tools) == 0 || slices.Contains(program.Tools, p.Name)) {
				asked = append(asked, t.program(program))
			}
		}
		for _, attached := range t.policies.table.At(at) {
			own := attached.From != nil && attached.From == p.From
			if !own && (len(attached.Tools) == 0 || slices.Contains(attached.Tools, p.Name)) {
				asked = append(asked, attached)
			}
		}
	}
	return asked
}

// askPre asks in time. A policy that is broken denies, and says so.
func (p *policy) askPre(ctx context.Context, r PreRequest) (PreAnswer, error) {
	limited, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	answer, err := p.Pre(limited, r)
	if err != nil {
		return answer, p.explain(ctx, err)
	}
	switch answer.Decision {
	case decisionAllow:
	case decisionDeny:
		if answer.Reason = cutReason(answer.Reason); answer.Reason == "" {
			answer.Reason = "denied by " + p.name
		}
	case decisionValue:
		if len(answer.Value) == 0 {
			return answer, fmt.Errorf("%s gave the decision \"value\" without a value: the call is denied", p.name)
		}
	default:
		return answer, fmt.Errorf("%s gave a decision that is none of allow, deny, value: the call is denied", p.name)
	}
	return answer, nil
}

// askPost asks in time.
func (p *policy) askPost(ctx context.Context, r PostRequest) (PostAnswer, error) {
	limited, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	answer, err := p.Post(limited, r)
	if err != nil {
		return answer, p.explain(ctx, err)
	}
	if answer.Decision != decisionAccept && answer.Decision != decisionBlock {
		return answer, fmt.Errorf("%s gave a decision that is none of accept, block: the result is blocked", p.name)
	}
	if answer.Decision == decisionBlock && answer.Content == nil { // [] is what it wants shown
		answer.Content = text(render.ErrorText("the result was blocked by " + p.name))
	}
	return answer, nil
}

// maxReason bounds what a policy says of why it denies.
const maxReason = 4 << 10

func cutReason(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	return strings.ToValidUTF8(reason[:maxReason], "")
}

// explain says why a policy gave no answer.
func (p *policy) explain(ctx context.Context, err error) error {
	var own *PolicyError
	switch {
	case errors.As(err, &own):
		return &PolicyError{Message: cutReason(own.Message)}
	case ctx.Err() != nil:
		return registry.ErrWaitAborted // the caller's doing, not the policy's
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer within %d ms: the call is denied", p.name, p.Timeout.Milliseconds())
	}
	return fmt.Errorf("%s cannot be asked (%w): the call is denied", p.name, err)
}
