package systemd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// keptVariable names the descriptors that a program hands to itself over
// [Service.Exec], as "name:number" separated by commas. LISTEN_FDS cannot do it: it
// wants them from 3 on, where a Go program has its own.
const keptVariable = "SIDETASK_KEPT_FDS"

// Exec replaces this process by binary, under the same pid: the manager goes
// on with the service, children stay children, and the new program's [Take] finds
// what this one was given and the listeners in keep. args and environ are as in
// execve(2), args[0] included; keep has listening sockets, as
// [net.UnixListener.File] gives them, by name. Call it last, with everything
// else closed: it returns only an error, and then nothing has changed.
func (s *Service) Exec(binary string, args, environ []string, keep map[string]*os.File) error {
	environ = scrub(environ)
	if s != nil {
		for _, entry := range s.taken {
			// Consumed at the start; what of it is still open is in keep.
			if !strings.HasPrefix(entry, "LISTEN_") && !strings.HasPrefix(entry, keptVariable+"=") {
				environ = append(environ, entry)
			}
		}
	}
	var kept []string
	for name, file := range keep {
		if strings.ContainsAny(name, ":,") {
			return fmt.Errorf("hand over listener %q: the name has a colon or a comma", name)
		}
		kept = append(kept, name+":"+strconv.Itoa(int(file.Fd())))
	}
	if len(kept) > 0 {
		slices.Sort(kept)
		environ = append(environ, keptVariable+"="+strings.Join(kept, ","))
	}
	// No child may be forked while the descriptors are inheritable.
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	for _, file := range keep {
		if err := inheritable(file, true); err != nil {
			return fmt.Errorf("hand over a listener: %w", err)
		}
	}
	err := syscall.Exec(binary, args, environ)
	for _, file := range keep {
		err = errors.Join(err, inheritable(file, false))
	}
	return fmt.Errorf("replace this process by %s: %w", binary, err)
}

// inheritable sets or clears close-on-exec.
func inheritable(file *os.File, yes bool) error {
	var flag uintptr
	if !yes {
		flag = syscall.FD_CLOEXEC
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, file.Fd(), syscall.F_SETFD, flag); errno != 0 {
		return errno
	}
	return nil
}

// keptFiles opens the descriptors named by [keptVariable].
func keptFiles(value string) ([]*os.File, error) {
	if value == "" {
		return nil, nil
	}
	var files []*os.File
	for _, entry := range strings.Split(value, ",") {
		name, number, _ := strings.Cut(entry, ":")
		fd, err := strconv.Atoi(number)
		if err != nil || fd < 3 {
			return files, fmt.Errorf("%s=%s: %q is no descriptor", keptVariable, value, entry)
		}
		syscall.CloseOnExec(fd)
		files = append(files, os.NewFile(uintptr(fd), name))
	}
	return files, nil
}
