package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// manager is the person's service manager, reached by its own programs: what
// they say on an error is what a person can look up.
type manager struct {
	units string // the folder of the person's unit files
}

// findManager says where unit files go.
func findManager() (manager, error) {
	base := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return manager{}, err
		}
		base = filepath.Join(home, ".config")
	}
	return manager{units: filepath.Join(base, "systemd", "user")}, nil
}

// ctl runs systemctl for the user's manager and gives what it prints.
func (m manager) ctl(ctx context.Context, args ...string) (string, error) {
	return output(ctx, "systemctl", append([]string{"--user", "--no-pager"}, args...)...)
}

// check says whether there is a manager to be reached.
func (m manager) check(ctx context.Context) error {
	if _, err := exec.LookPath("systemctl"); err != nil {
		return fail("leave --systemd away: without it the first command starts the daemon by itself", "there is no systemd on this system (no systemctl)")
	}
	if _, err := m.ctl(ctx, "show", "--property=Version"); err != nil {
		next := "log in as this user (su and sudo make no session), or leave --systemd away: without it the first command starts the daemon by itself"
		return fail(next, "your service manager cannot be reached: %w", err)
	}
	return nil
}

// property is one of a unit's, "" when it cannot be had.
func (m manager) property(ctx context.Context, unit, name string) string {
	value, err := m.ctl(ctx, "show", "--property="+name, "--value", unit)
	if err != nil {
		return "" // a question nobody answers
	}
	return value
}

// path is the PATH that services get.
func (m manager) path(ctx context.Context) string {
	text, err := m.ctl(ctx, "show-environment")
	if err != nil {
		return "" // a question nobody answers
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "PATH="); ok {
			return strings.Trim(value, `"$'`)
		}
	}
	return ""
}

// linger says whether the manager, and what runs below it, outlives the last
// logout. known is false where logind does not say.
func (m manager) linger(ctx context.Context) (yes, known bool) {
	value, err := output(ctx, "loginctl", "--no-pager", "show-user", strconv.Itoa(os.Getuid()), "--property=Linger", "--value")
	if err != nil {
		return false, false
	}
	return value == "yes", value == "yes" || value == "no"
}

// output runs a program. An error has its words.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	text := strings.TrimSpace(stdout.String())
	if err == nil {
		return text, nil
	}
	if ctx.Err() != nil {
		return text, ctx.Err()
	}
	words := strings.Join(strings.Fields(stderr.String()), " ")
	if words == "" {
		words = err.Error()
	}
	return text, fmt.Errorf("%s %s: %s", name, strings.Join(args, " "), words)
}
