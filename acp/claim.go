package acp

import (
	"sidetask/acp/internal/turn"
	"sidetask/rpc"
)

// claim asks the daemon for a session's notices. Without a daemon the answer is
// none, at once.
func (p *proxy) claim(s *session, a turn.Claim) {
	spoke := a.Reason == turn.ForUser
	if !s.bound {
		s.spoke = s.spoke || spoke
		p.step(s, turn.Claimed{ID: a.ID})
		return
	}
	params := rpc.InboxClaim{As: rpc.As{Token: s.token}, Reason: a.Reason}
	if !a.Take {
		params.Take = new(bool)
	}
	var got rpc.InboxClaimed
	p.call(s, &call{method: rpc.MethodInboxClaim, params: params, result: &got, then: func(err error) {
		s.spoke = s.spoke || spoke && !answered(err)
		done := turn.Claimed{ID: a.ID}
		if err == nil {
			done.Lease = got.Lease
			for _, n := range got.Notices {
				done.Notices = append(done.Notices, n.Text)
			}
		}
		p.step(s, done)
	}})
}

// userSpoke tells the daemon that the user spoke while it was away, which
// restores the budget of wakes.
func (p *proxy) userSpoke(s *session) {
	if !s.spoke {
		return
	}
	s.spoke = false
	params := rpc.InboxClaim{As: rpc.As{Token: s.token}, Reason: turn.ForUser, Take: new(bool)}
	p.call(s, &call{method: rpc.MethodInboxClaim, params: params, result: &rpc.InboxClaimed{}, then: func(err error) {
		s.spoke = s.spoke || !answered(err)
	}})
}

// settlement is the ack or the release of a lease.
type settlement struct {
	method string
	params rpc.InboxAck
}

// settle acknowledges or releases a lease. What a lost daemon did not hear is
// said again to the next one.
func (p *proxy) settle(s *session, done settlement) {
	s.unsettled[done.params.Lease] = done
	if s.bound {
		p.settleNow(s, done)
	}
}

func (p *proxy) settleNow(s *session, done settlement) {
	done.params.Token = s.token // which may be another than when it was noted
	p.call(s, &call{method: done.method, params: done.params, result: &rpc.Empty{}, then: func(err error) {
		if answered(err) {
			delete(s.unsettled, done.params.Lease)
		}
	}})
}
