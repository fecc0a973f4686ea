package registry

import (
	"cmp"
	"crypto/sha256"
	"path/filepath"
	"strings"
	"unicode"
)

// Bounds of what clients give: what is kept of each must be bounded, and what is
// looked through with the lock held.
const (
	minToken  = 16      // bytes
	maxToken  = 256     // bytes
	maxTokens = 64      // of one owner; the oldest go
	maxText   = 4096    // bytes of an agent, session, title, folder or note
	maxEnv    = 2 << 20 // bytes of an environment; no command could be started with more
	maxLeases = 1024    // named in one registration
	maxOwners = 10_000
	maxKey    = 256       // bytes of an idempotency key
	maxLabel  = 128 << 10 // bytes: those of any command that can be run (T186)
	maxDetail = 4096      // bytes; a longer one is cut
)

// CheckToken says what is wrong with a token, whoever's it may be.
func CheckToken(token string) error {
	if len(token) < minToken || len(token) > maxToken || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return Errorf(KindInvalid, "invalid token: expected %d to %d bytes without white space (a host makes it of 128 random bits, in hex)", minToken, maxToken)
	}
	return nil
}

func hashToken(token string) ([32]byte, error) {
	if err := CheckToken(token); err != nil {
		return [32]byte{}, err
	}
	return sha256.Sum256([]byte(token)), nil
}

func (reg *Registration) check() error {
	if len(reg.Leases) > maxLeases {
		return Errorf(KindInvalid, "invalid leases: %d, at most %d", len(reg.Leases), maxLeases)
	}
	return cmp.Or(
		checkText("agent", &reg.Agent), checkText("session", &reg.Session),
		checkText("title", &reg.Title), checkCwd(&reg.Cwd), checkEnv(reg.Env),
	)
}

func (b *Binding) check() error {
	if b.Session == "" {
		return Errorf(KindInvalid, "invalid session: expected a non-empty string")
	}
	return cmp.Or(checkText("agent", &b.Agent), checkText("session", &b.Session))
}

func (c *OwnerChange) check() error {
	if c.Status != nil && *c.Status != Idle && *c.Status != Busy {
		return Errorf(KindInvalid, `invalid status: expected "idle" or "busy"`)
	}
	return cmp.Or(checkText("title", c.Title), checkCwd(c.Cwd), checkText("note", c.Note), checkEnv(c.Env))
}

func checkText(name string, text *string) error {
	if text == nil || len(*text) <= maxText {
		return nil
	}
	return Errorf(KindInvalid, "invalid %s: %d bytes, at most %d", name, len(*text), maxText)
}

// checkCwd refuses a folder that depends on where the daemon happens to be.
func checkCwd(dir *string) error {
	switch {
	case dir == nil || *dir == "":
		return nil
	case !filepath.IsAbs(*dir):
		return Errorf(KindInvalid, "invalid cwd: %q is not an absolute path", *dir)
	case strings.ContainsRune(*dir, 0):
		return Errorf(KindInvalid, "invalid cwd: it holds a NUL byte")
	}
	return checkText("cwd", dir)
}

// CheckEnv says why no command could be started with variables (T192), whoever
// gives them: then it is an error where they are given, and not each start a task
// that fails.
func CheckEnv(env map[string]string) error {
	for name, value := range env {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return Errorf(KindInvalid, "invalid env: %q is no name of a variable", name)
		case strings.ContainsRune(value, 0):
			return Errorf(KindInvalid, "invalid env: the value of %s holds a NUL byte", name)
		}
	}
	return nil
}

func checkEnv(env map[string]string) error {
	if total := envBytes(env); total > maxEnv {
		return Errorf(KindInvalid, "invalid env: %d bytes, at most %d; leave out what commands do not need", total, maxEnv)
	}
	return CheckEnv(env)
}

func checkLabel(label string) error {
	switch {
	case label == "":
		return Errorf(KindInvalid, "invalid task label: expected a non-empty string")
	case len(label) > maxLabel:
		return Errorf(KindInvalid, "invalid task label: %d bytes, at most %d", len(label), maxLabel)
	}
	return nil
}

// plainDetail bounds what a producer says of an end, and takes out what would
// command a person's terminal or reorder its text: the end counts all the same.
// Line breaks stay, for a model reads them (T120).
func plainDetail(detail *string) *string {
	if detail == nil {
		return nil
	}
	text := *detail
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "") + "…"
	}
	text = strings.Map(func(r rune) rune {
		if r != '\n' && unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, text)
	return &text
}
