//go:build !linux

package process

import (
	"errors"
	"os"

	"sidetask/process/wire"
	"sidetask/registry"
)

// errNeedsLinux is what everything here says elsewhere: keepers need subreapers
// and pidfds.
var errNeedsLinux = errors.New("commands need Linux")

func startKeeper(string) (*spare, error) { return nil, errNeedsLinux }

func enterable(string) error { return nil }

func lockNew(string) (*os.File, error) { return nil, errNeedsLinux }

func busy(string) (bool, error) { return false, errNeedsLinux }

func openKeeper(wire.Alive) (int, error) { return -1, errNeedsLinux }

func listener(string) (int, error) { return 0, errNeedsLinux }

func ended(int) bool { return true }

func reap(int) string { return "" }

func killAndReap(int) {}

func terminate(int) error { return errNeedsLinux }

func hangUp(int) error { return errNeedsLinux }

func resume(int) {}

func kill(int) {}

func pin(int) (int, error) { return -1, errNeedsLinux }

func closeFD(int) {}

func realtimeLimit(int) uint64 { return 0 }

func unmark() {}

type pids struct{}

func newPids(func(registry.Row)) (*pids, error) { return nil, errNeedsLinux }

func (*pids) add(int, registry.Row) error { return errNeedsLinux }

func (*pids) remove(int) {}

func (*pids) run() {}

func (*pids) close() error { return nil }
