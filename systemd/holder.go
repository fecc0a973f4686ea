package systemd

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// holder is a process that does nothing until it is released: cat with nothing
// to read. It ends with this process, too.
type holder struct {
	cmd *exec.Cmd
	in  io.Closer
}

func hold() (*holder, error) {
	cmd := exec.Command("cat")
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &holder{cmd: cmd, in: in}, nil
}

func (h *holder) pid() int { return h.cmd.Process.Pid }

// group is the folder of the group that the placeholder lives in.
func (h *holder) group(mount string) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", h.pid()))
	if err != nil {
		return "", err
	}
	path, err := unified(string(text))
	if err != nil {
		return "", err
	}
	if filepath.Ext(path) != ".scope" {
		return "", fmt.Errorf("the manager left the command in %s", path)
	}
	return filepath.Join(mount, path), nil
}

// release ends the placeholder and waits for that.
func (h *holder) release() {
	_ = h.in.Close() // it sees the end of its input
	_ = h.cmd.Wait() // its status says nothing
}
