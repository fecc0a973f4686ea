package mcp

import (
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"sidetask/rpc"
)

// pipes are the two ends of a connection in memory.
func pipes() (ours, theirs net.Conn) { return net.Pipe() }

const listTools = `{"jsonrpc":"2.0","id":"list","method":"tools/list"}`

// Issue 5: without a daemon a tool answers with an error that says so, and works
// as soon as there is one.
func TestDaemonAbsentThenThere(t *testing.T) {
	socket, j := socketPath(t), &journal{}
	a := start(t, Options{Socket: socket, Token: "t"}, times{progress: deadMan, connect: 50 * time.Millisecond, leave: deadMan, ask: deadMan, alive: deadMan}, j)
	a.hello("x", "1")
	a.send(listTools)
	before := a.next()
	a.send(call("1", "task_list", "{}"))
	if _, got, isError := a.answer(); !isError || !strings.Contains(got, socket) || !strings.Contains(got, "try again") {
		t.Errorf("%q %v", got, isError)
	}
	d := listen(t, socket, j)
	d.next(t, rpc.MethodInitialize) // it comes back by itself
	d.answersOne(t, rpc.MethodToolsCall, text("here"))
	for got := ""; got != "here"; { // as often as this impatient server needs
		a.send(call("2", "task_list", "{}"))
		_, got, _ = a.answer()
	}
	a.send(listTools)
	if after := a.next(); after != before { // T170: a changed byte costs the prompt cache
		t.Errorf("tools/list changed with the daemon:\n%s\n%s", before, after)
	}
}

// A daemon that dies in the middle of a call.
func TestDaemonDiesAndReturns(t *testing.T) {
	socket, j := socketPath(t), &journal{}
	d := listen(t, socket, j)
	a := start(t, Options{Socket: socket, Token: "t"}, patient, j)
	a.hello("x", "1")
	a.send(call("1", "task_start", `{"command":"make"}`))
	d.next(t, rpc.MethodToolsCall)
	d.stop()
	if _, got, isError := a.answer(); !isError || !strings.Contains(got, "lost") || !strings.Contains(got, "task_list") {
		t.Errorf("%q %v", got, isError)
	}
	a.send(call("2", "task_list", "{}")) // waits for the next one
	d = listen(t, socket, j)
	d.next(t, rpc.MethodToolsCall).answer(t, text("back"))
	if _, got, _ := a.answer(); got != "back" {
		t.Errorf("%q", got)
	}
}

// API.md, Errors: -32007 tells to wait for the socket to come back; the call was
// not executed and is made again.
func TestDaemonShutsDown(t *testing.T) {
	socket, j := socketPath(t), &journal{}
	d := listen(t, socket, j)
	a := start(t, Options{Socket: socket, Token: "t"}, patient, j)
	a.hello("x", "1")
	a.send(call("1", "task_start", `{"command":"make"}`))
	d.next(t, rpc.MethodToolsCall).fail(t, rpc.CodeShuttingDown, "the daemon is shutting down")
	d.stop()
	d = listen(t, socket, j)
	d.next(t, rpc.MethodToolsCall).answer(t, text("started background task bash-1"))
	if _, got, _ := a.answer(); got != "started background task bash-1" {
		t.Errorf("%q", got)
	}
}

// A daemon that never leaves: the model is told.
func TestDaemonStaysShuttingDown(t *testing.T) {
	a, d, _ := world(t, "t", times{progress: deadMan, connect: deadMan, leave: 50 * time.Millisecond, ask: deadMan, alive: deadMan})
	a.hello("x", "1")
	a.send(call("1", "task_list", `{}`))
	d.next(t, rpc.MethodToolsCall).fail(t, rpc.CodeShuttingDown, "the daemon is shutting down")
	if _, got, isError := a.answer(); got != "Error: the sidetask daemon is shutting down; try again in a moment" || !isError {
		t.Errorf("%q", got)
	}
}

const notices = `{"notices":[{"id":"n1","text":"background task bash-1 (bash: make) finished [status: completed]. Read its output with task_output.","summary":"s","task":{"id":"bash-1","kind":"bash","label":"make","status":"completed","startedAt":1}}],"lease":"l-1"}`

// CLI.md, `sidetask mcp` without an identity: an owner of its own, whose notices
// ride on the results of its next calls, acknowledged when the agent has them,
// and which ends with the server.
func TestOwnOwner(t *testing.T) {
	a, d, j := world(t, "", patient)
	a.hello("some-client", "1")
	a.send(call("1", "task_list", "{}"))
	var hello rpc.Initialize
	_ = json.Unmarshal(d.next(t, rpc.MethodInitialize).Params, &hello)
	if hello.Token != "" {
		t.Error("bound to a token that the daemon cannot know yet")
	}
	var owner rpc.OwnerRegister
	register := d.next(t, rpc.MethodOwnerRegister)
	_ = json.Unmarshal(register.Params, &owner)
	if len(owner.Token) != 32 || owner.Agent != "some-client" || owner.Session == "" || owner.Cwd != "/here" || owner.Env["A"] != "b" {
		t.Errorf("registered %+v", owner)
	}
	register.answer(t, `{"owner":"o-1","pending":1,"acp":{}}`)
	h := d.next(t, rpc.MethodToolsCall)
	if !strings.Contains(string(h.Params), owner.Token) {
		t.Errorf("call without the token: %s", h.Params)
	}
	h.answer(t, text("bash-1 [bash] completed — make"))
	claim := d.next(t, rpc.MethodInboxClaim)
	if !strings.Contains(string(claim.Params), `"reason":"turn-end"`) {
		t.Errorf("claim %s", claim.Params)
	}
	claim.answer(t, notices)
	_, got, _ := a.answer()
	if !strings.HasPrefix(got, "bash-1 [bash] completed — make\n[") || !strings.Contains(got, "\nbackground task bash-1 (bash: make) finished") {
		t.Errorf("%q", got)
	}
	ack := d.next(t, rpc.MethodInboxAck)
	if !strings.Contains(string(ack.Params), `"lease":"l-1"`) {
		t.Errorf("ack %s", ack.Params)
	}
	ack.answer(t, `{}`)
	if !strings.HasSuffix(j.all(), "tools/call inbox/claim written tools/delivered inbox/ack") {
		t.Errorf("order: %s", j.all())
	}
	// In front of an output, which ends with its status line.
	a.send(call("3", "task_output", `{"task_id":"bash-2"}`))
	d.next(t, rpc.MethodToolsCall).answer(t, text("out\n[status: running]"))
	d.next(t, rpc.MethodInboxClaim).answer(t, notices)
	if _, got, _ := a.answer(); !strings.HasSuffix(got, "]\nout\n[status: running]") || !strings.Contains(got, "\nbackground task bash-1 ") {
		t.Errorf("%q", got)
	}
	d.next(t, rpc.MethodInboxAck).answer(t, `{}`)
	// No notices: the answer as it is.
	a.send(call("2", "task_list", "{}"))
	d.next(t, rpc.MethodToolsCall).answer(t, text("plain"))
	d.next(t, rpc.MethodInboxClaim).answer(t, `{"notices":[],"refused":"empty"}`)
	if _, got, _ := a.answer(); got != "plain" {
		t.Errorf("%q", got)
	}
	_ = a.in.Close()
	dispose := d.next(t, rpc.MethodOwnerDispose)
	if !strings.Contains(string(dispose.Params), owner.Token) {
		t.Errorf("dispose %s", dispose.Params)
	}
	dispose.answer(t, `{"cancelled":[]}`)
	if err := <-a.done; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// A call that is cancelled while its notices are claimed gives them back.
func TestOwnOwnerCancelled(t *testing.T) {
	a, d, _ := world(t, "", patient)
	a.hello("some-client", "1")
	a.send(call("1", "task_list", "{}"))
	d.next(t, rpc.MethodOwnerRegister).answer(t, `{"owner":"o-1","pending":1,"acp":{}}`)
	d.next(t, rpc.MethodToolsCall).answer(t, text("x"))
	claim := d.next(t, rpc.MethodInboxClaim)
	a.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	a.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	a.next() // read after the cancellation
	claim.answer(t, notices)
	release := d.next(t, rpc.MethodInboxRelease)
	if !strings.Contains(string(release.Params), `"lease":"l-1"`) {
		t.Errorf("release %s", release.Params)
	}
	release.answer(t, `{}`)
	_ = a.in.Close()
	d.next(t, rpc.MethodOwnerDispose).answer(t, `{"cancelled":[]}`)
	<-a.done
}

// A wait that the end of a daemon cut off is waited for again on the next one,
// as long as the agent still would; nobody starts that one for it.
func TestWaitGoesOnAfterARestart(t *testing.T) {
	socket, j := socketPath(t), &journal{}
	d := listen(t, socket, j)
	a := start(t, Options{Socket: socket, Token: "t"}, patient, j)
	a.hello("opencode", "1")
	a.send(call("1", "task_output", `{"task_id":"bash-1","wait":true}`))
	var first, second rpc.ToolsCall
	h := d.next(t, rpc.MethodToolsCall)
	_ = json.Unmarshal(h.Params, &first)
	h.fail(t, rpc.CodeShuttingDown, "the daemon is shutting down")
	d.stop()
	d = listen(t, socket, j)
	h = d.next(t, rpc.MethodToolsCall)
	_ = json.Unmarshal(h.Params, &second)
	h.answer(t, text("done"))
	if _, got, isError := a.answer(); got != "done" || isError {
		t.Errorf("%q", got)
	}
	if string(first.Arguments) != string(second.Arguments) || first.MaxWaitMs > 50_000 || second.MaxWaitMs <= 0 || second.MaxWaitMs >= first.MaxWaitMs {
		t.Errorf("asked %s for at most %d ms, then %s for %d", first.Arguments, first.MaxWaitMs, second.Arguments, second.MaxWaitMs)
	}
}

// A daemon that is stopped holds its connection and answers nothing: no call
// waits for ever. One that is only slow is waited for.
func TestDaemonIsSilent(t *testing.T) {
	tm := patient
	tm.ask = 10 * time.Millisecond
	a, d, _ := world(t, "t", tm)
	a.hello("x", "1")
	a.send(call("1", "task_list", "{}"))
	slow := d.next(t, rpc.MethodToolsCall)
	for range 5 {
		d.next(t, rpc.MethodToolsPresent).fail(t, -32601, "any answer is one")
	}
	slow.answer(t, text("at last"))
	if _, got, _ := a.answer(); got != "at last" {
		t.Errorf("%q", got)
	}
	tm.alive = 50 * time.Millisecond
	a, _, _ = world(t, "t", tm)
	a.hello("x", "1")
	for _, line := range []string{call("2", "task_list", "{}"), call("3", "task_output", `{"task_id":"bash-1","wait":true}`)} {
		a.send(line)
		if _, got, isError := a.answer(); !isError || !strings.Contains(got, "answers nothing") || !strings.Contains(got, "task_list") {
			t.Errorf("%q %v", got, isError)
		}
	}
}
