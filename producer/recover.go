package producer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"sidetask/registry"
)

// Recover takes over what an earlier daemon left: the live tasks wait for
// their producers to resume them, what never began is dropped, folders of
// rows that are gone are removed.
func (o *Outside) Recover() error {
	for _, left := range o.registry.Unsettled(Name) {
		row := left.Task.Row
		if left.Starting {
			if err := o.registry.Drop(row); err != nil {
				return fmt.Errorf("drop a task that never began: %w", err)
			}
			if err := os.RemoveAll(o.folder(row)); err != nil {
				return err
			}
			continue
		}
		o.wait(row, left.Task.ID)
	}
	return o.sweep()
}

// wait keeps a task for its producer to come back.
func (o *Outside) wait(row registry.Row, id string) {
	w := &work{dir: o.folder(row), changed: make(chan struct{}), named: make(chan struct{})}
	m, err := loadMeta(w.dir)
	if err != nil {
		o.log.Error("the record of an outside task is gone", "task", id, "error", err)
		detail := "lost: its record cannot be read"
		o.registry.Settle(row, registry.Outcome{Status: registry.Failed, Detail: &detail})
		return
	}
	w.meta = m
	w.name(id)
	if o.keep(row, w) != nil {
		return
	}
	w.lose(nil, o.settings().Grace, func() { o.expire(row, w) })
}

// sweep removes folders that belong to no row.
func (o *Outside) sweep() error {
	known := o.registry.Rows(Name)
	entries, err := os.ReadDir(o.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		row, err := strconv.ParseInt(entry.Name(), 10, 64)
		if err != nil || known[registry.Row(row)] {
			continue
		}
		if err := os.RemoveAll(filepath.Join(o.dir, entry.Name())); err != nil {
			o.log.Warn("cannot remove what a task left", "folder", entry.Name(), "error", err)
		}
	}
	return nil
}

// Close lets go of all tasks without an end: the next daemon waits for their
// producers. Call it when all connections have ended.
func (o *Outside) Close() error {
	o.mu.Lock()
	o.closed = true
	works := o.works
	o.works = make(map[registry.Row]*work)
	o.mu.Unlock()
	o.wg.Wait()
	var errs []error
	for _, w := range works {
		errs = append(errs, w.finish())
	}
	return errors.Join(errs...)
}
