package acp

import (
	"encoding/json"
	"fmt"
	"regexp"

	"sidetask/registry"
	"sidetask/render"
	"sidetask/rpc"
	"sidetask/scope"
)

// act is what rpc/server does for a method.
func (h *rooms) act(l *line, method string, raw []byte) (any, error) {
	switch method {
	case rpc.MethodOwnerRegister:
		var p rpc.OwnerRegister
		_ = json.Unmarshal(raw, &p)
		handle, err := h.r.Register(registry.Registration{Token: p.Token, Agent: p.Agent, Session: p.Session, Scope: scope.Root, Takeover: p.Takeover, Leases: p.Leases}, l)
		set := DefaultSettings()
		set.MaxDrains = h.drains
		return rpc.OwnerRegistered{Owner: string(handle), Pending: len(h.r.Inbox(handle)), ACP: set}, err
	case rpc.MethodOwnerBind:
		var p rpc.OwnerBind
		_ = json.Unmarshal(raw, &p)
		handle, err := h.r.Bind(l.ctx, registry.Binding{Token: p.Token, Agent: p.Agent, Session: p.Session, Fresh: p.Fresh, Takeover: p.Takeover}, l)
		return rpc.OwnerBound{Owner: string(handle), Pending: len(h.r.Inbox(handle))}, err
	case rpc.MethodInboxClaim, rpc.MethodInboxAck, rpc.MethodInboxRelease, rpc.MethodOwnerAbort, rpc.MethodOwnerUpdate:
		var as rpc.As
		_ = json.Unmarshal(raw, &as)
		handle, err := h.r.ByToken(as.Token)
		if err != nil {
			return nil, err
		}
		return h.asOwner(handle, l, method, raw)
	}
	return rpc.Empty{}, nil
}

func (h *rooms) asOwner(handle registry.Handle, l *line, method string, raw []byte) (any, error) {
	var lease rpc.InboxAck
	_ = json.Unmarshal(raw, &lease)
	switch method {
	case rpc.MethodInboxClaim:
		var p rpc.InboxClaim
		_ = json.Unmarshal(raw, &p)
		got, err := h.w.Claim(handle, p.Reason, p.Take == nil || *p.Take, l)
		return h.given(p.Reason, got), err
	case rpc.MethodInboxAck:
		return rpc.Empty{}, h.r.Ack(handle, lease.Lease)
	case rpc.MethodInboxRelease:
		return rpc.Empty{}, h.r.Release(handle, lease.Lease, lease.Park)
	case rpc.MethodOwnerAbort:
		h.r.AbortWaits(handle)
	case rpc.MethodOwnerUpdate:
		var p rpc.OwnerUpdate
		_ = json.Unmarshal(raw, &p)
		if status := registry.OwnerStatus(p.Status); status != "" {
			return rpc.Empty{}, h.r.Update(handle, registry.OwnerChange{Status: &status})
		}
	}
	return rpc.Empty{}, nil
}

// granted is how many wakes were.
func (h *rooms) granted() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wakes
}

// given notes what a claim gave.
func (h *rooms) given(reason string, got registry.Claim) rpc.InboxClaimed {
	out := rpc.InboxClaimed{Lease: got.Lease, Refused: got.Refused}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := claimed{reason: reason}
	if reason == registry.ClaimWake && got.Lease != "" {
		h.wakes++
	}
	for _, t := range got.Tasks {
		c.tasks = append(c.tasks, t.ID)
		shown := render.Task{ID: t.ID, Kind: t.Kind, Label: t.Label, Status: string(t.Status), Detail: t.Detail}
		out.Notices = append(out.Notices, rpc.Notice{ID: t.ID, Text: render.Notice(shown, 0)})
		if got.Lease != "" && (h.acked[t.ID] || h.read[t.ID]) {
			h.wrong = fmt.Sprintf("a claim gives %s, which the agent has", t.ID)
		}
	}
	for _, id := range c.tasks {
		h.claims[id] = c
	}
	return out
}

var noticeRE = regexp.MustCompile(`background task (bash-\d+) \(`)
