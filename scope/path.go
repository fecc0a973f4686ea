package scope

import (
	"fmt"
	"strings"
)

// Path is a valid scope path. The zero value is not valid; the root is [Root].
type Path string

// Root is the scope at or below which everything lies.
const Root Path = "/"

// Bounds of a path from outside.
const (
	maxPathBytes = 256
	maxSegments  = 16
)

// Parse checks a scope path: it begins with "/", has no empty, "." or ".."
// segment, no control or space character, and no "/" at its end but for the
// root alone.
func Parse(s string) (Path, error) {
	if s == "/" {
		return Root, nil
	}
	if !strings.HasPrefix(s, "/") {
		return "", fmt.Errorf("invalid scope %q: must begin with \"/\"", s)
	}
	if len(s) > maxPathBytes {
		return "", fmt.Errorf("invalid scope %q...: %d bytes, at most %d", s[:32], len(s), maxPathBytes)
	}
	segments := strings.Split(s[1:], "/")
	if len(segments) > maxSegments {
		return "", fmt.Errorf("invalid scope %q: %d segments, at most %d", s, len(segments), maxSegments)
	}
	for _, segment := range segments {
		switch {
		case segment == "":
			return "", fmt.Errorf("invalid scope %q: empty segment", s)
		case segment == "." || segment == "..":
			return "", fmt.Errorf("invalid scope %q: segment %q", s, segment)
		case strings.ContainsFunc(segment, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0xfffd }):
			return "", fmt.Errorf("invalid scope %q: space or control character", s)
		}
	}
	return Path(s), nil
}

// Parent is the path one step up; the root is its own parent.
func (p Path) Parent() Path {
	i := strings.LastIndexByte(string(p), '/')
	if i <= 0 {
		return Root
	}
	return p[:i]
}

// Chain is the path and all above it, nearest first, the root last.
func (p Path) Chain() []Path {
	chain := []Path{p}
	for p != Root {
		p = p.Parent()
		chain = append(chain, p)
	}
	return chain
}

// Contains reports whether q is p or lies below it.
func (p Path) Contains(q Path) bool {
	return p == Root || p == q || strings.HasPrefix(string(q), string(p)+"/")
}
