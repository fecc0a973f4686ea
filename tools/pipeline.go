package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sidetask/registry"
	"sidetask/render"
	"sidetask/scope"
)

// pass is one call on its way through the pipeline. One goroutine has it.
type pass struct {
	Call
	tools *Tools
	ctx   context.Context
	owner registry.Owner // zero for the operator
	scope scope.Path
	task  *registry.Task // what the call is about, looked up first (T145, T146)
	given arguments      // what Arguments says, for everybody in the pipeline

	receipts []*registry.Receipt
}

// state is the result as it stands between two stages.
type state struct {
	rendering
	content []Block
	isError bool
	err     error
	replace bool // content is not the default rendering of the value (T152)
	given   bool // the value is a policy's
}

// run goes through the stages (T147).
func (p *pass) run() Result {
	if _, ok := knownTools[p.Name]; !ok {
		return p.final(failed(unknownTool(p.Name)))
	}
	p.given, p.Arguments = canonical(p.Name, p.Arguments)
	p.lookup()
	if p.ctx.Err() != nil {
		return p.final(failed(registry.Errorf(registry.KindAborted, "tool call aborted before dispatch")))
	}
	asked := p.tools.policiesOf(p)
	if len(asked) > 0 {
		if err := p.waits(); err != nil {
			return p.final(failed(err))
		}
	}
	s, skipPost := p.pre(asked)
	if s == nil {
		s = p.body()
	}
	if !skipPost {
		s = p.post(asked, s)
	}
	return p.final(s)
}

var knownTools = map[string]func(*pass) (rendering, error){
	Start: (*pass).start, Output: (*pass).output, List: (*pass).list, Kill: (*pass).kill,
}

// waits tells the caller that this may take long.
func (p *pass) waits() error {
	if p.Waits == nil {
		return nil
	}
	return p.Waits()
}

// lookup finds the task that the call names, if the caller may see it, before
// any policy can be asked: so that a denial is bounded, too (T146).
func (p *pass) lookup() {
	if p.Name != Output && p.Name != Kill {
		return
	}
	id := p.given.text("task_id")
	if id == "" {
		return
	}
	if task, err := p.tools.registry.Get(p.Caller, id); err == nil {
		p.task = &task
	}
}

// failed is the state after an error (T126).
func failed(err error) *state {
	return &state{content: text(render.ErrorText(err.Error())), isError: true, err: err, replace: true}
}

func text(s string) []Block { return []Block{{Type: "text", Text: s}} }

// body checks the arguments, executes, and renders.
func (p *pass) body() *state {
	if p.Start == nil {
		if err := render.CheckArguments(p.Name, p.Arguments); err != nil {
			return failed(invalid("%s", err.Error()))
		}
	}
	r, err := knownTools[p.Name](p)
	if err != nil {
		return failed(err)
	}
	return p.rendered(r)
}

// rendered is the state after a value, shown as the tool shows it.
func (p *pass) rendered(r rendering) *state {
	return &state{rendering: r, content: text(p.defaultText(r))}
}

// defaultText is the default rendering of a value, within the cap.
func (p *pass) defaultText(r rendering) string {
	if r.output == nil {
		return r.text
	}
	shown := *r.output
	if p.task != nil {
		shown.Limit, shown.Default = p.tools.limitOf(*p.task)
	}
	return render.Output(shown)
}

// valued is the state after a value that a policy gave.
func (p *pass) valued(raw json.RawMessage) *state {
	r, err := renderValue(p.Name, raw)
	if err != nil {
		return failed(fmt.Errorf("%w: its value is none of %s: %w", ErrDenied, p.Name, err))
	}
	s := p.rendered(r)
	s.given = true
	return s
}

// pre asks the policies before the execution. A nil state means go on.
// skipPost: a policy failed with an error of its own (T149).
func (p *pass) pre(asked []*policy) (s *state, skipPost bool) {
	for _, policy := range asked {
		if !policy.Before {
			continue
		}
		answer, err := policy.askPre(p.ctx, p.request())
		var own *PolicyError
		switch {
		case errors.Is(err, registry.ErrWaitAborted):
			return failed(err), true
		case errors.As(err, &own):
			return failed(denied{own.Message}), true
		case err != nil:
			return failed(denied{err.Error()}), false
		case answer.Decision == decisionDeny:
			return failed(denied{answer.Reason}), false
		case answer.Decision == decisionValue:
			return p.valued(answer.Value), false
		}
	}
	return nil, false
}

// post asks the policies after the execution, each about what the one before
// it left (T151).
func (p *pass) post(asked []*policy, s *state) *state {
	for _, policy := range asked {
		if !policy.After {
			continue
		}
		request := PostRequest{PreRequest: p.request(), Result: PostResult{Content: s.content, Value: s.value, IsError: s.isError}}
		if request.Result.Content == nil {
			request.Result.Content = []Block{}
		}
		over := p.tools.policies.during(policy, p.task)
		answer, err := policy.askPost(p.ctx, request)
		over()
		switch {
		case errors.Is(err, registry.ErrWaitAborted):
			return failed(err)
		case err != nil:
			return failed(denied{err.Error()})
		case answer.Decision == decisionBlock:
			s = &state{content: answer.Content, isError: true, err: ErrDenied, replace: true}
		case s.isError && answer.Value != nil: // a value does not make a denial good
		case answer.Value != nil:
			s = p.valued(answer.Value)
		case answer.Content != nil:
			s = p.replaced(s, answer.Content)
		}
	}
	return s
}

// replaced puts a policy's content in place of the result's. The very text
// that stood there is no replacement (T152).
func (p *pass) replaced(s *state, content []Block) *state {
	next := *s
	same := len(content) == 1 && content[0].Raw == nil && len(s.content) == 1 && content[0].Text == s.content[0].Text
	if !same {
		next.content, next.replace = content, true
	}
	return &next
}

// denied is what a policy said: its message, known as [ErrDenied].
type denied struct{ message string }

func (d denied) Error() string   { return d.message }
func (d denied) Is(e error) bool { return e == ErrDenied }

// request tells a policy about the call.
func (p *pass) request() PreRequest {
	r := PreRequest{Owner: string(p.owner.Handle), Scope: string(p.scope), Name: p.Name, Arguments: p.Arguments}
	if p.task != nil {
		s := SnapshotOf(*p.task)
		r.Task = &s
	}
	return r
}

// final bounds the result: exactly once for every call, whatever became of it (T143, T148).
func (p *pass) final(s *state) Result {
	if p.task == nil {
		p.lookup()
	}
	var limit int64
	if p.task != nil && (p.Name == Output || p.Name == Kill) {
		limit, _ = p.tools.limitOf(*p.task)
	}
	bounded := s.replace || s.output == nil // else the rendering is within the cap already
	if bounded && len(s.content) == 1 && s.content[0].Raw == nil {
		s.content = text(render.Bound(s.content[0].Text, limit))
	}
	if s.content == nil {
		s.content = []Block{}
	}
	result := Result{Content: s.content, IsError: s.isError, Err: s.err, Receipts: p.receipts, Task: p.task, Replaced: s.given}
	if !s.isError {
		result.Value = boundedValue(s.rendering, limit)
	}
	return result
}

// boundedValue is the canonical value; the text of a task_output is bounded
// like the content (the table's row on T138): its end is kept.
func boundedValue(r rendering, limit int64) json.RawMessage {
	if r.output == nil || limit <= 0 || int64(len(r.output.Text)) <= limit {
		return r.value
	}
	end, err := render.NewRetainer(0, int(limit))
	if err != nil {
		return r.value
	}
	end.Push(r.output.Text)
	kept, _ := end.Text()
	return encodeValue(struct {
		Text string          `json:"text"`
		Task json.RawMessage `json:"task"`
	}{kept, member(r.value, "task")})
}
