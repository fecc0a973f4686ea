//go:build !linux

package spool

func (w *Watcher) armed() int { return 0 }
