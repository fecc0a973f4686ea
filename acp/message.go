package acp

import (
	"fmt"

	"sidetask/acp/internal/wire"
)

// message writes a notification.
func message(method, params string) []byte {
	return []byte(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + "}\n")
}

// answerError answers a request of the editor with an error of ours.
func (p *proxy) answerError(id []byte, code int, text string) {
	p.toEditor(markAdded, errorAnswer(id, code, text))
}

// errorAnswer writes an error as the answer to a request.
func errorAnswer(id []byte, code int, text string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, code, wire.Quote(text))
}

// textBlock is a text content block.
func textBlock(text string) []byte {
	return append(append([]byte(`{"type":"text","text":`), wire.Quote(text)...), '}')
}
