package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/coreos/go-systemd/v22/journal"
)

// Service is what this process was given by its service manager. The nil
// Service is a process without one. Its methods may be called from any
// goroutine.
type Service struct {
	notify     string        // address of the manager's datagram socket, "" = nobody to tell
	watchdog   time.Duration // 0 = no watchdog
	supervised bool
	journal    bool
	listeners  map[string][]net.Listener
	taken      []string // what was removed from the environment, for Exec
}

// Take reads what the service manager gave to this process and removes it from
// the environment, so that nothing started from here can take it for its own:
// neither a task's command, nor a keeper. Call it once, first thing in main
// and before any file is opened, since inherited descriptors are known by
// number. Other descriptors that were inherited stay open and become close-on-exec.
//
// An error tells of something malformed; the Service is usable all the same.
func Take() (*Service, error) {
	s := &Service{taken: given(os.Environ())}
	pid, known := os.LookupEnv("SYSTEMD_EXEC_PID")
	s.supervised = known && pid == strconv.Itoa(os.Getpid())
	// A terminal or an editor may itself be a service, and what it starts
	// inherits its variables: those are not ours to answer.
	if !known || s.supervised {
		s.notify = os.Getenv("NOTIFY_SOCKET")
	}
	var errs []error
	var err error
	if s.journal, err = journal.StderrIsJournalStream(); err != nil {
		errs = append(errs, err)
	}
	if s.watchdog, err = daemon.SdWatchdogEnabled(true); err != nil {
		errs = append(errs, err)
	}
	if s.notify == "" {
		s.watchdog = 0
	}
	s.listeners, err = inherited()
	errs = append(errs, err, shield())
	for _, entry := range s.taken {
		name, _, _ := strings.Cut(entry, "=")
		errs = append(errs, os.Unsetenv(name))
	}
	if err := errors.Join(errs...); err != nil {
		return s, fmt.Errorf("read what the service manager gave: %w", err)
	}
	return s, nil
}

// inherited opens the listeners handed over by the manager, or by this program
// itself in [Service.Exec]. What is no listener is closed.
func inherited() (map[string][]net.Listener, error) {
	named := map[string][]net.Listener{}
	files := activation.Files(true)
	kept, err := keptFiles(os.Getenv(keptVariable))
	var errs []error
	errs = append(errs, err)
	for _, file := range append(files, kept...) {
		listener, err := net.FileListener(file)
		if err != nil {
			errs = append(errs, fmt.Errorf("inherited descriptor %q: %w", file.Name(), err))
		} else {
			named[file.Name()] = append(named[file.Name()], listener)
		}
		errs = append(errs, file.Close())
	}
	return named, errors.Join(errs...)
}

// shield makes every descriptor that came from whoever started this process
// close on exec. A lock or a socket of theirs in a long-running command is one
// that never closes (FIELD, Daemon life).
func shield() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil { // no Linux, or no /proc
		entries, err = os.ReadDir("/dev/fd")
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

// Supervised says whether the service manager started this very process as a
// service. An inherited INVOCATION_ID does not count.
func (s *Service) Supervised() bool { return s != nil && s.supervised }

// Listeners gives the inherited listening sockets of that name (the socket
// unit's FileDescriptorName=), in the order of the unit. They belong to the
// caller; closing one does not unlink its path, which belongs to the manager.
func (s *Service) Listeners(name string) []net.Listener {
	if s == nil {
		return nil
	}
	return s.listeners[name]
}

// Journal says whether standard error goes straight to the journal, which then
// wants fields and levels and no time stamps.
func (s *Service) Journal() bool { return s != nil && s.journal }

// given filters what belongs to the service process alone.
func given(environ []string) []string {
	var out []string
	for _, entry := range environ {
		if name, _, _ := strings.Cut(entry, "="); own(name) {
			out = append(out, entry)
		}
	}
	return out
}

// scrub returns the environment without the variables that a service manager
// gives to one process alone (FIELD, ENGINEERING systemd).
func scrub(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return own(name)
	})
}

// own tells the variables of systemd.exec(5), "Environment Variables Set or
// Propagated by the Service Manager", that say something about one process. It is
// for the daemon's own environment: in an owner's, TRIGGER_X may be the person's,
// and BEHAVIOUR T190 says what goes of that.
func own(name string) bool {
	switch name {
	case "NOTIFY_SOCKET", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID", "MANAGERPIDFDID",
		"CREDENTIALS_DIRECTORY", "FDSTORE", "DEBUG_INVOCATION", "MAINPID", keptVariable:
		return true
	}
	for _, prefix := range []string{"LISTEN_", "WATCHDOG_", "MEMORY_PRESSURE_", "TRIGGER_", "MONITOR_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
