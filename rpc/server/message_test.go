package server

import "testing"

// TestAnswersOfClients: an error has a message, and null is none, as some
// clients write it beside a result.
func TestAnswersOfClients(t *testing.T) {
	for data, want := range map[string]string{
		`"error":{"code":1,"message":"mine"}`: "mine",
		`"error":{}`:                          "an error without a message",
		`"error":{"code":1,"message":null}`:   "an error without a message",
		`"error":"no"`:                        "an error that is no error object",
		`"result":1,"error":null`:             "",
		`"result":null`:                       "",
	} {
		m, refused := parseMessage([]byte(`{"jsonrpc":"2.0","id":1,` + data + `}`))
		if refused != nil || !m.answer || (m.err == nil) != (want == "") || m.err != nil && m.err.Message != want {
			t.Errorf("%s: %+v, %v, %v", data, m, m.err, refused)
		}
	}
}
