package spool

// armed is how many inotify watches the kernel has of this watcher.
func (w *Watcher) armed() int {
	if w.notify == nil {
		return 0
	}
	w.notify.mu.Lock()
	defer w.notify.mu.Unlock()
	return len(w.notify.wds)
}
