package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"sidetask/process/wire"
)

// checkTime bounds the trial run of a keeper.
const checkTime = 5 * time.Second

// CheckKeeper runs the keeper at path for the number of its formats, so that a
// daemon which could start no command takes nobody's place.
func CheckKeeper(ctx context.Context, path string) error {
	if err := FindKeeper(path); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, wire.FormatFlag).Output()
	if err == nil && strings.TrimSpace(string(out)) == strconv.Itoa(wire.Format) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("it speaks format %q, wanted is %d", strings.TrimSpace(string(out[:min(len(out), 20)])), wire.Format)
	}
	return fmt.Errorf("%s is no keeper of this version (%w): %s", path, err, installBoth)
}

// FindKeeper looks whether there is a keeper at path.
func FindKeeper(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("sidetask-keeper is not beside sidetask (%w): %s", err, installBoth)
	}
	return nil
}

const installBoth = "install both with `go install ./cmd/...`"
