package config

import (
	"context"
	"log/slog"
	"time"

	"sidetask/scope"
)

// Origins says where each setting comes from, by the key that [Setting] has:
// "default", "file:line", "inherited from /x" or "connection".
type Origins map[string]string

// Setting is one resolved setting. Value is an int64, bool, string or
// []string.
type Setting struct {
	Key    string // limits.maxConnections, mounts."/review".waitTimeoutMs, policy[0].run
	Value  any
	Origin string
}

// State is what there is to say of the configuration itself.
type State struct {
	Path    string
	Present bool      // false: no file, the defaults are in force
	Watch   string    // "inotify", "polling (reason)", "off" before Run
	Errors  []string  // why the file as it is now is not in force; never nil
	Changed time.Time // when the settings in force were loaded
}

// Overrides are the settings that a connection gives with the mount that it
// attaches; nil = inherited.
type Overrides struct {
	WaitTimeoutMs       *int64
	MaxWaitTimeoutMs    *int64
	CompletionDelivery  *string
	MaxConsecutiveWakes *int64
}

// ParseOverrides reads the settings of mount/attach from JSON, as strictly as
// a table of the file. Empty and null are no overrides.
func ParseOverrides(raw []byte) (Overrides, error) { return Overrides{}, nil }

// Load reads, checks and resolves the file. An absent one is the defaults. The
// error of a file that is not as it should be is [Errors]: all of them.
func Load(path string) (*Settings, Origins, error) { return nil, nil, nil }

// List is every resolved setting with its origin, in the order of the documentation.
func List(s *Settings, o Origins) []Setting { return nil }

// Commented is the file that `sidetask config init` writes: every key with its
// default, commented out.
func Commented() []byte { return nil }

// Live is the configuration in force. Safe for concurrent use.
type Live struct{}

// Open loads the file (see [Load]). Nothing is watched before [Live.Run].
func Open(path string, log *slog.Logger) (*Live, error) { return nil, nil }

// Run watches the file and reloads it until ctx ends; nil then.
func (l *Live) Run(ctx context.Context) error { return nil }

// Current is the settings in force: immutable.
func (l *Live) Current() *Settings { return nil }

// Mount is the mount that serves a scope: the nearest table at or above it.
// False where that table is disabled or there is none.
func (l *Live) Mount(at scope.Path) (Mount, bool) { return Mount{}, false }

// Mounts are all tables, of file and connections, by scope; disabled ones too.
func (l *Live) Mounts() []Mount { return nil }

// Attach places a mount of a connection. It is refused where an enabled one
// stands and where its default exceeds its cap. lost is called at most once,
// with the reason, when a later file takes the mount away; never after detach
// has returned, nor by it. detach is idempotent.
func (l *Live) Attach(at scope.Path, o Overrides, lost func(reason string)) (id string, detach func(), err error) {
	return "", nil, nil
}

// Subscribe registers for changes of the settings and returns those in force, without a
// gap between. verify may refuse a change (the reload fails with its error and
// nothing changes); commit hears of one that is in force. Either may be nil.
func (l *Live) Subscribe(verify func(old, next *Settings) error, commit func(old, next *Settings)) (current *Settings, cancel func()) {
	return nil, nil
}

// OnMounts calls fn after each change of the mounts: by a reload, an attach or a detach.
func (l *Live) OnMounts(fn func()) (cancel func()) { return nil }

// OnState calls fn after each change of [State]: a file refused, mended, changed, the way of watching.
func (l *Live) OnState(fn func(State)) (cancel func()) { return nil }

// Reload loads the file now and waits for the outcome.
func (l *Live) Reload(ctx context.Context) (changed bool, err error) { return false, nil }

// State says where the file is, how it is watched and what is wrong with it.
func (l *Live) State() State { return State{} }

// Settings lists all settings in force, with those of attached mounts.
func (l *Live) Settings() []Setting { return nil }
