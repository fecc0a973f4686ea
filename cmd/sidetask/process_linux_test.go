package main

import (
	"os"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where no process can be watched, as before Linux 5.3 or where it is forbidden, it
// is not waited for; and what came with 5.10 is not needed.
func TestOpenProcessOfOldLinux(t *testing.T) {
	for name, kernel := range map[string]struct {
		anyFlags bool // false: only a call with flags is refused
		errno    unix.Errno
		watched  bool
	}{
		"5.2":       {true, unix.ENOSYS, false},
		"5.4":       {false, unix.EINVAL, true},
		"forbidden": {true, unix.EPERM, false},
	} {
		t.Run(name, func(t *testing.T) {
			type outcome struct {
				process process
				filter  unix.Errno
				err     error
			}
			opened := make(chan outcome)
			go func() {
				runtime.LockOSThread() // and never unlocked: the thread, with its filter, ends with us
				var o outcome
				if o.filter = refusePidfd(kernel.anyFlags, kernel.errno); o.filter == 0 {
					o.process, o.err = openProcess(os.Getpid())
				}
				opened <- o
			}()
			o := <-opened
			if o.filter != 0 {
				t.Skipf("no system call can be forbidden here: %v", o.filter)
			}
			defer o.process.close()
			if watched := o.process.file != nil; o.err != nil || watched != kernel.watched {
				t.Errorf("watched: %t, %v; want %t", watched, o.err, kernel.watched)
			}
		})
	}
}

// refusePidfd makes pidfd_open fail for this thread: with any flags, or with some only.
func refusePidfd(anyFlags bool, errno unix.Errno) unix.Errno {
	const number, flags = 0, 24 // offsets in struct seccomp_data: nr, and the lower half of args[1]
	if isBigEndian {
		return unix.ENOTSUP
	}
	allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	refuse := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	equal := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	filter := []unix.SockFilter{load(number), equal(unix.SYS_PIDFD_OPEN, 1, 0), allow}
	if !anyFlags {
		filter = append(filter, load(flags), equal(0, 0, 1), allow)
	}
	filter = append(filter, refuse)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return unix.EPERM
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, failed := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)))
	return failed
}

// isBigEndian: the filter looks at halves of words as most machines have them.
var isBigEndian = [2]byte(unsafe.Slice((*byte)(unsafe.Pointer(new(uint16(1)))), 2)) == [2]byte{0, 1}
