package acp

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"sidetask/rpc"
)

// slowConfig is a daemon that answers each config/get when the test says so.
type slowConfig struct {
	Daemon
	asked chan chan string // gets a channel for the value of acp.showWake
}

func (d *slowConfig) Call(_ context.Context, _ string, _, result any) error {
	value := make(chan string)
	d.asked <- value
	*result.(*rpc.ConfigGetResult) = rpc.ConfigGetResult{Settings: []rpc.Setting{{Key: "acp.showWake", Value: json.RawMessage(<-value)}}}
	return nil
}

// Of two changes of the configuration the later one counts, whichever is heard of last.
func TestSettingsAreTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProxy(Options{})
		d := &slowConfig{asked: make(chan chan string)}
		p.daemon, p.background.ctx = d, t.Context()
		p.reread()
		first := <-d.asked
		p.reread()
		second := <-d.asked
		second <- `"off"`
		(<-p.inbox)()
		first <- `"user"`
		(<-p.inbox)()
		p.background.work.Wait()
		if p.settings.ShowWake != showOff {
			t.Errorf("showWake is %s, want that of the last change", p.settings.ShowWake)
		}
	})
}
