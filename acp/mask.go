package acp

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"sidetask/acp/internal/wire"
)

// maskDepth is how deep a message is looked into; what lies deeper is not shown.
const maskDepth = 64

// Methods whose parameters are secret; the second is that of version 2.
const (
	methodAuthenticate = "authenticate"
	methodLogin        = "auth/login"
)

// masked gives a message without the secrets that it may carry: the parameters
// of authenticate and auth/login, the values of env and headers, arguments of MCP servers, what
// stands behind the host of an address, and members that are called a secret. ok
// is false for anything but a message, of which nothing may be shown.
func masked(line []byte) (shown []byte, ok bool) {
	if _, ok := wire.Scan(line); !ok {
		return nil, false
	}
	m := &mask{line: line}
	m.value(wire.Span{From: bytes.IndexByte(line, '{'), To: len(line)}, 0, false)
	return wire.Splice(line, m.edits...), true
}

// mask collects the edits of one line.
type mask struct {
	line  []byte
	edits []wire.Edit
}

func (m *mask) hide(at wire.Span) { m.put(at, "***") }

func (m *mask) put(at wire.Span, text string) {
	m.edits = append(m.edits, wire.Edit{At: at, With: wire.Quote(text)})
}

func (m *mask) isObject(at wire.Span) bool {
	return wire.Members(m.line, at, func(string, wire.Span) {})
}

// value masks below a value. server: it is about MCP servers.
func (m *mask) value(at wire.Span, depth int, server bool) {
	switch c := m.line[at.From]; {
	case c != '{' && c != '[':
	case depth > maskDepth, c == '{' && !m.isObject(at):
		m.hide(at)
	case c == '{':
		method := wire.Text(m.line, at, "method")
		authenticates := method == methodAuthenticate || method == methodLogin
		wire.Members(m.line, at, func(name string, value wire.Span) {
			if name == "params" && authenticates {
				m.hide(value)
				return
			}
			m.member(strings.ToLower(name), value, depth+1, server)
		})
	default:
		all, ok := wire.Elements(m.line, at)
		if !ok {
			m.hide(at)
		}
		for _, v := range all {
			m.value(v, depth+1, server)
		}
	}
}

func (m *mask) member(name string, value wire.Span, depth int, server bool) {
	switch name {
	case "env", "headers":
		m.pairs(value)
	case "url", "baseurl":
		m.address(value)
	case "args":
		if server {
			m.hide(value)
			return
		}
		m.value(value, depth, server)
	default:
		if isSecret(name) {
			m.hide(value)
			return
		}
		m.value(value, depth, server || name == "mcpservers")
	}
}

// isSecret reports whether a member is called a secret: accessToken, x-api-key,
// OPENAI_API_KEY. name is in lower case.
func isSecret(name string) bool {
	name = strings.NewReplacer("_", "", "-", "").Replace(name)
	return slices.ContainsFunc(secretNames, func(end string) bool { return strings.HasSuffix(name, end) })
}

// secretNames are what names of secrets end with.
var secretNames = []string{
	"apikey", "accesskey", "secretkey", "privatekey", "token", "secret", "password", "passwd", "passphrase",
	"authorization", "bearer", "cookie", "credential", "credentials",
}

// pairs masks the values of a list of names and values, or of an object.
func (m *mask) pairs(at wire.Span) {
	if m.isObject(at) {
		wire.Members(m.line, at, func(_ string, value wire.Span) { m.hide(value) })
		return
	}
	all, ok := wire.Elements(m.line, at)
	if !ok {
		m.hide(at)
		return
	}
	for _, pair := range all {
		if !m.isObject(pair) {
			m.hide(pair)
			continue
		}
		wire.Members(m.line, pair, func(name string, value wire.Span) {
			if name != "name" {
				m.hide(value)
			}
		})
	}
}

// address masks all of an address but its scheme and host.
func (m *mask) address(at wire.Span) {
	u, err := url.Parse(wire.String(at.Of(m.line)))
	if err != nil || u.Host == "" {
		m.hide(at)
		return
	}
	shown := u.Scheme + "://" + u.Host
	if u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		shown += "/***"
	}
	m.put(at, shown)
}
