package systemd

import (
	"bytes"
	"embed"
	"fmt"
	"strings"
)

const (
	// SocketUnit and ServiceUnit are the names of the two unit files.
	SocketUnit  = "sidetask.socket"
	ServiceUnit = "sidetask.service"
	// ListenerName is what the socket unit calls its descriptor
	// (FileDescriptorName=), for [Service.Listeners].
	ListenerName = "rpc"
)

//go:embed units/*
var units embed.FS

// Unit is the text of a unit file, [SocketUnit] or [ServiceUnit], for the
// program at binary: an absolute path, or one that begins with a specifier of
// systemd.unit(5) that stands for one, such as %h.
func Unit(name, binary string) ([]byte, error) {
	text, err := units.ReadFile("units/" + name)
	if err != nil {
		return nil, fmt.Errorf("no unit file %q: %w", name, err)
	}
	exec, err := execPath(binary)
	if err != nil {
		return nil, err
	}
	return []byte(strings.ReplaceAll(string(text), "@BINARY@", exec)), nil
}

// execPath writes the program of an Exec line (systemd.service(5), "Command
// Lines"): quoted where it has to be, with what is special made plain.
func execPath(path string) (string, error) {
	rest, home := strings.CutPrefix(path, "%h/")
	if !home && !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("%q cannot be the program of a unit file: give an absolute path", path)
	}
	if i := strings.IndexFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 {
		return "", fmt.Errorf("%q cannot be the program of a unit file: it has a control character", path)
	}
	plain := strings.NewReplacer("%", "%%", `\`, `\\`, `"`, `\"`).Replace(rest)
	if home {
		plain = "%h/" + plain
	}
	if strings.ContainsAny(plain, " '\"\\;") {
		plain = `"` + plain + `"`
	}
	return plain, nil
}

// Program is the binary that a unit file made by [Unit] runs, as it was given
// there; "" for a unit that runs nothing, or another's.
func Program(unit []byte) string {
	for line := range bytes.Lines(unit) {
		exec, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "ExecStart=")
		if !ok {
			continue
		}
		exec, ok = strings.CutSuffix(exec, " daemon")
		if !ok {
			return ""
		}
		if quoted, ok := strings.CutPrefix(exec, `"`); ok {
			exec = strings.TrimSuffix(quoted, `"`)
		}
		return strings.NewReplacer("%%", "%", `\\`, `\`, `\"`, `"`).Replace(exec)
	}
	return ""
}
