package systemd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	sd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
)

// scopeTimeout bounds the making of a scope: the manager may hang.
const scopeTimeout = 10 * time.Second

// Open makes the group for one command and gives its folder, into which the
// command is to be born (SysProcAttr.UseCgroupFD). done is to be called when it was,
// or will not be. Without limits this is a group of ours and costs one mkdir;
// with limits it is a transient scope that the manager makes over D-Bus, and an error
// refuses the command: it says what cannot be had here.
//
// A nil Groups gives no folder, and refuses limits.
func (g *Groups) Open(ctx context.Context, name string, l Limits) (dir string, done func(), err error) {
	if !l.Any() {
		if g == nil {
			return "", func() {}, nil
		}
		// Always a new one: whoever lives in one of that name is another's.
		dir, err = os.MkdirTemp(g.root, groupPrefix+name+"-*")
		return dir, func() {}, err
	}
	if g == nil {
		return "", nil, errors.New("memoryMax, cpuMax and pidsMax need sidetask to run as a systemd user service: `sidetask install --systemd`, or remove them from [commands]")
	}
	if err := l.Possible(filepath.Dir(g.root)); err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, scopeTimeout)
	defer cancel()
	return g.scope(ctx, name, l)
}

// Possible says which controller is missing where scopes are made. The manager
// itself accepts a limit that it cannot enforce, and says nothing.
func (l Limits) Possible(slice string) error {
	text, err := os.ReadFile(filepath.Join(slice, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("limit a command: %w", err)
	}
	have := strings.Fields(string(text))
	var missing []string
	for _, need := range []struct {
		limit      int64
		controller string
		setting    string
	}{{l.Memory, "memory", "memoryMax"}, {l.CPU, "cpu", "cpuMax"}, {l.PIDs, "pids", "pidsMax"}} {
		if need.limit > 0 && !slices.Contains(have, need.controller) {
			missing = append(missing, fmt.Sprintf("%s (controller %s)", need.setting, need.controller))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s cannot be enforced here: this system does not delegate that to user services; remove it from [commands], or see Delegate= of user@.service", strings.Join(missing, ", "))
	}
	return nil
}

// scope asks the manager for a scope around a placeholder, since there is no
// scope without a process. The command is born beside the placeholder, which then
// ends; so the command never ran outside its limits.
func (g *Groups) scope(ctx context.Context, name string, l Limits) (dir string, done func(), err error) {
	holder, err := hold()
	if err != nil {
		return "", nil, fmt.Errorf("limit a command: %w", err)
	}
	defer func() {
		if err != nil {
			holder.release()
		}
	}()
	conn, err := sd.NewConnection(func() (*dbus.Conn, error) { return dialManager(ctx) })
	if err != nil {
		return "", nil, fmt.Errorf("limit a command: reach the service manager: %w", err)
	}
	defer conn.Close()
	// The name must be new even if a scope of an earlier state folder lives on.
	unit := fmt.Sprintf("sidetask-%s-%d.scope", name, holder.pid())
	ended := make(chan string, 1)
	if _, err = conn.StartTransientUnitContext(ctx, unit, "fail", l.properties(conn, holder.pid()), ended); err != nil {
		return "", nil, fmt.Errorf("limit a command: start %s: %w", unit, err)
	}
	select {
	case result := <-ended:
		if result != "done" {
			err = fmt.Errorf("limit a command: start %s: %s", unit, result)
			return "", nil, err
		}
	case <-ctx.Done():
		err = fmt.Errorf("limit a command: start %s: %w", unit, ctx.Err())
		return "", nil, err
	}
	if dir, err = holder.group(g.mount()); err != nil {
		return "", nil, fmt.Errorf("limit a command: %w", err)
	}
	return dir, holder.release, nil
}

// mount is where the groups of version 2 are: g.root without the group's name.
func (g *Groups) mount() string { return strings.TrimSuffix(g.root, g.path) }

// properties are the scope's. Names and types: org.freedesktop.systemd1(5).
func (l Limits) properties(conn *sd.Conn, pid int) []sd.Property {
	property := func(name string, value any) sd.Property {
		return sd.Property{Name: name, Value: dbus.MakeVariant(value)}
	}
	list := []sd.Property{
		sd.PropPids(uint32(pid)),
		sd.PropDescription("A command of sidetask, with limits"),
		property("CollectMode", "inactive-or-failed"),
		property("Delegate", true),
	}
	if l.Memory > 0 {
		list = append(list, property("MemoryMax", uint64(l.Memory)))
	}
	if l.CPU > 0 {
		list = append(list, property("CPUQuotaPerSecUSec", uint64(l.CPU)*uint64(time.Second/time.Microsecond)/100))
	}
	if l.PIDs > 0 {
		list = append(list, property("TasksMax", uint64(l.PIDs)))
	}
	if version(conn) >= 253 {
		// One process that ran out of memory is the command's business; before
		// 253 a scope had no other behaviour.
		list = append(list, property("OOMPolicy", "continue"))
	}
	return list
}

// version is the manager's, 0 when it does not say.
func version(conn *sd.Conn) int {
	text, err := conn.GetManagerProperty("Version")
	if err != nil {
		return 0
	}
	text = strings.Trim(text, `"v`)
	if i := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		text = text[:i]
	}
	n, _ := strconv.Atoi(text) // 0 = it does not say
	return n
}

// dialManager connects to the user's manager itself; a session bus may not be
// there, and is not needed.
func dialManager(ctx context.Context) (*dbus.Conn, error) {
	runtime := os.Getenv("XDG_RUNTIME_DIR")
	if runtime == "" {
		return nil, errors.New("XDG_RUNTIME_DIR is not set")
	}
	conn, err := dbus.Dial("unix:path="+filepath.Join(runtime, "systemd", "private"), dbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	if err := conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Getuid()))}); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
