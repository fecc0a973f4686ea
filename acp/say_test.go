package acp

import (
	"strings"
	"testing"
	"testing/synctest"
)

// What is said on stderr promises background tasks only where a mount serves the
// preset, and names each session once.
func TestSaysWhatIsServed(t *testing.T) {
	for _, c := range []struct{ scope, mounts, want string }{
		{"/", `{"mounts":[{"scope":"/","enabled":true}]}`, "acp: background tasks for"},
		{"/review", `{"mounts":[{"scope":"/","enabled":true}]}`, "acp: background tasks for"},
		{"/review", `{"mounts":[{"scope":"/","enabled":true},{"scope":"/review","enabled":false}]}`, "acp: no mount serves this preset"},
		{"/", `{"mounts":[{"scope":"/review","enabled":true}]}`, "acp: no mount serves this preset"},
		{"/", `{"mounts":[]}`, "acp: no mount serves this preset"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBenchWith(t, func(o *Options) { o.Scope = c.scope })
			b.daemon.mounts = c.mounts
			b.input(`E> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
			synctest.Wait()
			b.input(`A> {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`)
			synctest.Wait()
			if got := b.er.take(); !strings.Contains(got, c.want) {
				t.Errorf("%s of %s: %q", c.scope, c.mounts, got)
			}
			b.input(`E> {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
			synctest.Wait()
			b.input(`A> {"jsonrpc":"2.0","id":2,"result":{"sessionId":"t"}}`)
			synctest.Wait()
			want := ""
			if strings.Contains(c.want, "tasks for") {
				want = "sidetask: acp: background tasks for session t, too\n"
			}
			if got := b.er.take(); got != want {
				t.Errorf("%s of %s: of a second session %q", c.scope, c.mounts, got)
			}
			b.end()
		})
	}
}
