package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"sidetask/rpc"
)

// direct makes calls on the connection at hand.
type direct struct{ d *fakeDaemon }

func (c direct) Call(ctx context.Context, method string, params, result any) error {
	return c.d.answer(ctx, method, params, result)
}

// Call waits for a connection, as a keeper does.
func (d *fakeDaemon) Call(ctx context.Context, method string, params, result any) error {
	for {
		d.mu.Lock()
		up, changed, known := d.up, d.changed, d.known
		d.mu.Unlock()
		if up {
			<-known
			return d.answer(ctx, method, params, result)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *fakeDaemon) answer(ctx context.Context, method string, params, result any) error {
	raw, _ := json.Marshal(params)
	if method == rpc.MethodMountList { // for the line on stderr: no part of the conversation
		return json.Unmarshal([]byte(d.mounts), result)
	}
	d.note(method + " " + string(raw))
	d.mu.Lock()
	hang, release, gone := d.hang, d.release, d.gone
	d.mu.Unlock()
	if hang {
		select {
		case <-release:
		case <-gone:
			return errLost
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	got, err := d.act(method, raw)
	if err != nil {
		return err
	}
	raw, _ = json.Marshal(got)
	return json.Unmarshal(raw, result)
}

func (d *fakeDaemon) act(method string, raw []byte) (any, error) {
	switch method {
	case rpc.MethodOwnerRegister:
		var p rpc.OwnerRegister
		_ = json.Unmarshal(raw, &p)
		return d.register(p)
	case rpc.MethodOwnerBind:
		var p rpc.OwnerBind
		_ = json.Unmarshal(raw, &p)
		if d.refuse != nil {
			return nil, d.refuse
		}
		o := d.owners[p.Token]
		for _, known := range d.owners {
			if known.session == p.Session && !p.Fresh {
				o = known
				d.owners[p.Token] = o
			}
		}
		o.session = p.Session
		return rpc.OwnerBound{Owner: o.handle, Pending: len(o.waiting)}, nil
	case rpc.MethodConfigGet:
		raw, _ := json.Marshal(d.acp)
		table := map[string]json.RawMessage{}
		_ = json.Unmarshal(raw, &table)
		got := rpc.ConfigGetResult{Settings: []rpc.Setting{{Key: "daemon.idleExitMs", Value: []byte("1")}}}
		for key, value := range table {
			got.Settings = append(got.Settings, rpc.Setting{Key: "acp." + key, Value: value})
		}
		return got, nil
	case rpc.MethodInboxClaim:
		var p rpc.InboxClaim
		_ = json.Unmarshal(raw, &p)
		return d.claim(p), nil
	case rpc.MethodInboxAck, rpc.MethodInboxRelease:
		var p rpc.InboxAck
		_ = json.Unmarshal(raw, &p)
		o := d.owners[p.Token]
		if method == rpc.MethodInboxRelease {
			o.waiting = append(o.waiting, o.leased[p.Lease]...)
			if !p.Park && len(o.leased[p.Lease]) > 0 {
				d.tell(rpc.NotifyInboxPending, rpc.InboxPending{Owner: o.handle, Count: len(o.waiting)})
			}
		}
		delete(o.leased, p.Lease)
	}
	return struct{}{}, nil
}

func (d *fakeDaemon) register(p rpc.OwnerRegister) (any, error) {
	if d.refuse != nil {
		return nil, d.refuse
	}
	o := d.owners[p.Token]
	if o == nil {
		d.count++
		o = &fakeOwner{handle: fmt.Sprintf("o-%d", d.count), leased: map[string][]string{}}
		d.owners[p.Token] = o
		d.tokens = append(d.tokens, p.Token)
	}
	if p.Session != "" {
		o.session = p.Session
	}
	for l, texts := range o.leased { // suspended while the host was away
		if !slices.Contains(p.Leases, l) {
			o.waiting = append(o.waiting, texts...)
			delete(o.leased, l)
		}
	}
	set := DefaultSettings()
	if d.acp != nil {
		set = *d.acp
	}
	return rpc.OwnerRegistered{Owner: o.handle, Pending: len(o.waiting), ACP: set}, nil
}

func (d *fakeDaemon) claim(p rpc.InboxClaim) rpc.InboxClaimed {
	o := d.owners[p.Token]
	if p.Take != nil && !*p.Take || len(o.waiting) == 0 {
		return rpc.InboxClaimed{Refused: rpc.RefusedEmpty}
	}
	if p.Reason == rpc.ClaimWake && d.budget == 0 {
		return rpc.InboxClaimed{Refused: rpc.RefusedBudget}
	}
	if p.Reason == rpc.ClaimWake {
		d.budget--
	}
	d.leases++
	got := rpc.InboxClaimed{Lease: fmt.Sprintf("l-%d", d.leases)}
	for i, text := range o.waiting {
		got.Notices = append(got.Notices, rpc.Notice{ID: fmt.Sprintf("n-%d", i), Text: text})
	}
	o.leased[got.Lease], o.waiting = o.waiting, nil
	return got
}
