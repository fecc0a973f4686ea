package server

import (
	"bytes"
	"encoding/json"

	"sidetask/rpc"
)

// message is one JSON-RPC object from a client: a request, a notification
// (a request without id), or an answer.
type message struct {
	id     json.RawMessage // as it was sent; nil where there is none
	method string
	params json.RawMessage // nil where there are none

	answer bool
	result json.RawMessage
	err    *rpc.Error
}

// parseMessage checks the envelope. With an error the message has the id to
// answer to, "null" where it cannot be told.
func parseMessage(data []byte) (message, *rpc.Error) {
	null := message{id: json.RawMessage("null")}
	switch data[0] {
	case '{':
	case '[':
		return null, rpc.Errorf(rpc.CodeInvalidRequest, "invalid request: batches are not supported; send the objects one after another")
	default:
		return null, rpc.Errorf(rpc.CodeInvalidRequest, "invalid request: not an object")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return null, rpc.Errorf(rpc.CodeInvalidRequest, "invalid request: %v", err)
	}
	m := message{id: fields["id"], params: fields["params"], result: fields["result"]}
	if m.id != nil && !validID(m.id) {
		return null, rpc.Errorf(rpc.CodeInvalidRequest, "invalid request: an id is a string, a number or null")
	}
	refused := m
	if refused.id == nil {
		refused.id = null.id
	}
	if string(fields["jsonrpc"]) != `"2.0"` {
		return refused, rpc.Errorf(rpc.CodeInvalidRequest, `invalid request: "jsonrpc" must be "2.0"`)
	}
	method, named := fields["method"]
	failed := optional(fields["error"]) != nil
	m.answer = !named && (failed || m.result != nil) && m.id != nil
	if m.answer {
		if failed {
			m.err = errorIn(fields["error"])
		}
		return m, nil
	}
	if !named || json.Unmarshal(method, &m.method) != nil || m.method == "" || string(method) == "null" {
		return refused, rpc.Errorf(rpc.CodeInvalidRequest, `invalid request: "method" must be a string`)
	}
	if bytes.Equal(m.params, []byte("null")) {
		m.params = nil
	}
	return m, nil
}

// errorIn reads the error object of an answer. Its message may end up in
// front of a model, so there is one.
func errorIn(data []byte) *rpc.Error {
	var given struct {
		Code    int     `json:"code"`
		Message *string `json:"message"`
	}
	switch {
	case json.Unmarshal(data, &given) != nil:
		return rpc.Errorf(rpc.CodeInternal, "an error that is no error object")
	case given.Message == nil:
		return rpc.Errorf(rpc.CodeInternal, "an error without a message")
	}
	return &rpc.Error{Code: given.Code, Message: *given.Message}
}

func validID(id json.RawMessage) bool {
	switch id[0] {
	case '{', '[', 't', 'f':
		return false
	}
	return true
}

// response is an answer to a client.
type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpc.Error      `json:"error,omitempty"`
}

// request is a request or notification (ID nil) to a client.
type request struct {
	JSONRPC string  `json:"jsonrpc"`
	ID      *uint64 `json:"id,omitempty"`
	Method  string  `json:"method"`
	Params  any     `json:"params"`
}

// encode writes a message as one line, its ids and texts as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v) // ends it with a newline
	return b.Bytes(), err
}
