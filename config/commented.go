package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Commented is the file that `sidetask config init` writes: every key with its
// meaning and its default, commented out, so that it is valid as it is and
// means the defaults.
func Commented() []byte {
	var b strings.Builder
	b.WriteString(`# sidetask's configuration. A line that begins with "#" and a key has no effect:
# it shows the default. Take the "#" away and change it. A running daemon takes
# a saved file at once; if something is wrong with it, the settings that were in
# force stay (sidetask status, sidetask config check).
`)
	for _, s := range sections {
		b.WriteString("\n")
		comment(&b, "", s.doc)
		switch {
		case s.placed:
			fmt.Fprintf(&b, "[%s.\"/\"]\n", s.name)
		case s.array:
			fmt.Fprintf(&b, "#[[%s]]\n", s.name)
		default:
			fmt.Fprintf(&b, "[%s]\n", s.name)
		}
		for _, d := range s.keys {
			comment(&b, "", d.doc)
			comment(&b, "  ", upperFirst(d.allowed)+".")
			fmt.Fprintf(&b, "#%s = %s\n", d.name, literal(d.example()))
		}
		if s.placed {
			b.WriteString("\n# Another scope inherits from the nearest table above; write what differs.\n")
			fmt.Fprintf(&b, "#[%s.\"/review\"]\n#%s = %q\n", s.name, deliveryKey, Quiet)
		}
	}
	return []byte(b.String())
}

// example is the default, or what could be written where there is none.
func (d definition) example() any {
	if d.fallback == nil {
		return []string{"/usr/local/bin/check-command"}
	}
	return d.fallback
}

const commentWidth = 96

// comment writes a text as comment lines.
func comment(b *strings.Builder, indent, text string) {
	line := "#" + indent
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > commentWidth {
			b.WriteString(line + "\n")
			line = "#" + indent
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

// literal is a value as it is written in the file.
func literal(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case []string:
		quoted := make([]string, len(v))
		for i, s := range v {
			quoted[i] = strconv.Quote(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	return fmt.Sprint(value)
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Reference is the table of all keys in docs/config.md, as Markdown.
func Reference() []byte {
	var b strings.Builder
	for _, s := range sections {
		name := "`[" + s.name + "]`"
		switch {
		case s.placed:
			name = "`[" + s.name + ".\"/scope\"]`"
		case s.array:
			name = "`[[" + s.name + "]]`"
		}
		fmt.Fprintf(&b, "### %s\n\n%s\n\n| key | default | allowed | meaning |\n|---|---|---|---|\n", name, s.doc)
		for _, d := range s.keys {
			fallback := "must be written"
			if d.fallback != nil {
				fallback = "`" + literal(d.fallback) + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.name, fallback, d.allowed, d.doc)
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}
