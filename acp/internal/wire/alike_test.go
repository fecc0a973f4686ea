package wire

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever lines came before, a line is understood as it is by itself.
func TestScannerIsScan(t *testing.T) {
	long := strings.Repeat("x", longString)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{long, long + "more", long + `\"`, long + `\\`, long + `","id":1,"b":"`, long + `"`, long + `\`, "", "id", long + "\": \""})
		name := rapid.SampledFrom([]string{"sessionId", "update", "id", "sessionUpdate", "a", long, long + "more"})
		tail := rapid.SampledFrom([]string{``, ``, `,"id":2`, `,"sessionId":"t"`, `}`, ` `})
		var s Scanner
		for i := range 20 {
			line := []byte(`{"method":"m","params":{"sessionId":"` + text.Draw(t, "session") + `","` + name.Draw(t, "name") + `":{"sessionUpdate":"k","` +
				name.Draw(t, "inner") + `":"` + text.Draw(t, "text") + `"}` + tail.Draw(t, "tail") + `}}` + "\n")
			got, gotOK := s.Scan(line)
			want, wantOK := Scan(line)
			if got != want || gotOK != wantOK {
				t.Fatalf("line %d, %s: %+v, %v, want %+v, %v", i, line, got, gotOK, want, wantOK)
			}
		}
	})
}

// A line that is much like the one before is not looked at again.
func TestScannerRemembers(t *testing.T) {
	var s Scanner
	line := func(n int) []byte {
		return []byte(`{"params":{"update":{"text":"` + strings.Repeat("x", n) + `","sessionUpdate":"k"},"sessionId":"s"}}`)
	}
	if _, ok := s.Scan(line(longString)); !ok || s.head == nil {
		t.Fatalf("%v, and remembered is %q", ok, s.head)
	}
	s.envelope.ID = Span{1, 2} // to be known again
	got, _ := s.Scan(line(7))
	if got.ID != (Span{1, 2}) || string(got.Kind.Of(line(7))) != `"k"` || string(got.Session.Of(line(7))) != `"s"` {
		t.Errorf("got %+v", got)
	}
	_, _ = s.Scan([]byte(`{"a":[` + strings.Repeat("1,", maxAround) + `"` + strings.Repeat("x", longString) + `"]}`))
	if len(s.head) > 0 {
		t.Errorf("%d bytes are remembered", len(s.head))
	}
}
