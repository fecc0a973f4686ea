package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// statFields gives the fields after the name of /proc/<pid>/stat. The name is in
// parentheses and may hold anything.
func statFields(pid int) ([]string, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return nil, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return fields, nil
}

// startTime is when a process started, in ticks since boot: field 22.
func startTime(pid int) (uint64, error) {
	fields, err := statFields(pid)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// ticksMs is one clock tick of /proc: USER_HZ is 100 on every Linux.
const ticksMs = 10

// cpuMs is the time that a process and those of its children that ended have
// used: fields 14 to 17.
func cpuMs(pid int) (int64, bool) {
	fields, err := statFields(pid)
	if err != nil {
		return 0, false
	}
	var ticks int64
	for _, field := range fields[11:15] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, false
		}
		ticks += n
	}
	return ticks * ticksMs, true
}

// bootID names this boot of the machine: processes of another one are gone.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// signalName is SIGTERM and its like; a real-time signal has a number only.
func signalName(signal int) string {
	if name := unix.SignalName(syscall.Signal(signal)); name != "" {
		return name
	}
	return "SIG" + strconv.Itoa(signal)
}
