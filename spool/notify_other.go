//go:build !linux

package spool

import "errors"

// notifier is not to be had here: watched folders are polled.
type notifier struct{}

func newNotifier() (*notifier, error) { return nil, errors.ErrUnsupported }

func (*notifier) add(string) error { return errors.ErrUnsupported }

func (*notifier) remove(string) {}

func (*notifier) run(_, _ func(dir string), _ func()) {}

func (*notifier) close() error { return nil }
