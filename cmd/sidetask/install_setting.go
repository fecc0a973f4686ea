package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// setMember gives the text with the member at path set to value (as JSON), and
// leaves every other byte as it is: comments, order, indentation, line ends. Objects that
// are missing on the way are made. A text without an object, such as an
// empty file, becomes one.
func setMember(text []byte, path []string, value any) ([]byte, error) {
	d := &jsonc{text: text}
	if err := d.space(); err != nil {
		return nil, err
	}
	if d.at == len(text) {
		if n := len(text); n > 0 && text[n-1] != '\n' {
			text = slices.Concat(text, []byte("\n")) // it may be a comment that only a line end ends
		}
		text = slices.Concat(text, []byte("{}\n"))
		d.text = text
	}
	parent, err := d.whole()
	if err != nil {
		return nil, err
	}
	e := edit{text: text, unit: indentation(text, parent), line: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		e.line = "\r\n"
	}
	for depth, key := range path {
		e.indent = strings.Repeat(e.unit, depth+1)
		found, ok := parent.find(key)
		if !ok {
			for _, inner := range slices.Backward(path[depth+1:]) {
				value = map[string]any{inner: value}
			}
			return e.insert(parent, key, value)
		}
		if depth == len(path)-1 {
			return e.replace(found, value)
		}
		if text[found.value] != '{' {
			return nil, d.fault(found.value, "%q is not an object", key)
		}
		if parent, err = (&jsonc{text: text, at: found.value}).object(depth + 1); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// edit is a change of a text: where members of the level in question stand.
type edit struct {
	text               []byte
	unit, indent, line string
}

// insert adds a member as the last one of an object.
func (e edit) insert(o object, key string, value any) ([]byte, error) {
	name, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	body, err := e.format(value)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	done := o.open + 1
	if n := len(o.members); n > 0 {
		done = o.members[n-1].end
		out.Write(e.text[:done])
		if !o.comma {
			out.WriteByte(',')
		}
	} else {
		out.Write(e.text[:done])
	}
	// What stands behind the last member, comments too, stays behind it.
	out.Write(bytes.TrimRight(e.text[done:o.close], " \t\r\n"))
	out.WriteString(e.line + e.indent + string(name) + ": " + body)
	if o.comma {
		out.WriteByte(',')
	}
	out.WriteString(e.line + strings.TrimSuffix(e.indent, e.unit))
	out.Write(e.text[o.close:])
	return out.Bytes(), nil
}

// replace gives a member another value; one that means the same stays.
func (e edit) replace(m member, value any) ([]byte, error) {
	body, err := e.format(value)
	if err != nil {
		return nil, err
	}
	var was, is any
	if json.Unmarshal(e.text[m.value:m.end], &was) == nil && json.Unmarshal([]byte(body), &is) == nil && equal(was, is) {
		return e.text, nil
	}
	return slices.Concat(e.text[:m.value], []byte(body), e.text[m.end:]), nil
}

// equal compares two decoded values: their canonical JSON is the same.
func equal(a, b any) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && bytes.Equal(x, y)
}

// format writes a value as the file would.
func (e edit) format(value any) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent(e.indent, e.unit)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.ReplaceAll(strings.TrimRight(out.String(), "\n"), "\n", e.line), nil
}

// indentation is what stands before the root's first member; two spaces if that
// says nothing.
func indentation(text []byte, root object) string {
	between := text[root.open+1 : root.close]
	for line := range bytes.Lines(between) {
		content := bytes.TrimLeft(line, " \t")
		if lead := len(line) - len(content); lead > 0 && len(bytes.TrimSpace(content)) > 0 {
			return string(line[:lead])
		}
	}
	return "  "
}

// hasEntry says whether a Zed settings file has an agent of ours.
func hasEntry(text []byte) bool {
	root, err := (&jsonc{text: text}).whole()
	if err != nil {
		return false
	}
	servers, ok := root.find("agent_servers")
	return ok && bytes.Contains(text[servers.value:servers.end], []byte("sidetask"))
}

// namedServer is an agent of Zed's settings.
type namedServer struct {
	title string
	server
}

// ownServers are the agents of a Zed settings file that run through sidetask, as far
// as they can be read.
func ownServers(text []byte) (own []namedServer) {
	root, err := (&jsonc{text: text}).whole()
	if err != nil {
		return nil
	}
	servers, ok := root.find("agent_servers")
	if !ok || text[servers.value] != '{' {
		return nil
	}
	all, err := (&jsonc{text: text, at: servers.value}).object(1)
	if err != nil {
		return nil
	}
	for _, m := range all.members {
		s := namedServer{title: m.key}
		if json.Unmarshal(text[m.value:m.end], &s.server) == nil && filepath.Base(s.Command) == "sidetask" {
			own = append(own, s)
		}
	}
	return own
}

// programs are what the entry has run: sidetask, and the agent behind it.
func (s namedServer) programs() []string {
	if i := slices.Index(s.Args, "--"); i >= 0 && i+1 < len(s.Args) {
		return []string{s.Command, s.Args[i+1]}
	}
	return []string{s.Command}
}
