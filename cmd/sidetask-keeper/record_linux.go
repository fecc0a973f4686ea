package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"sidetask/process/wire"

	"golang.org/x/sys/unix"
)

// recordBytes is room for every record: taken early, so that an end can be
// recorded on a full disk.
const recordBytes = 4096

// record is the exit record to come.
type record struct {
	temporary string
	final     string
	file      *os.File // the temporary one; nil before reserve
}

// newRecord names the files. The temporary one lies in the task's folder, so that
// only complete records are ever seen in the folder of all.
func newRecord(j *wire.Job) *record {
	return &record{
		temporary: filepath.Join(j.Dir, "exit.tmp"),
		final:     filepath.Join(j.Exits, strconv.FormatInt(j.Row, 10)),
	}
}

// reserve makes the temporary file.
func (r *record) reserve() error {
	file, err := os.OpenFile(r.temporary, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("make exit record: %w", err)
	}
	// Where room cannot be reserved, writing to it shows whether there is any.
	if unix.Fallocate(int(file.Fd()), 0, 0, recordBytes) != nil {
		if _, err := file.WriteAt(make([]byte, recordBytes), 0); err != nil {
			_ = file.Close()
			return fmt.Errorf("make exit record: %w", err)
		}
	}
	r.file = file
	return nil
}

// write puts the record where the daemon looks, whole or not at all. It may be
// tried again.
func (r *record) write(e wire.Exit) error {
	// A spawn error holds a path at most; no record grows past its room.
	e.SpawnError = e.SpawnError[:min(len(e.SpawnError), recordBytes/8)]
	text := wire.Encode(&e)
	err := r.put(text)
	if errors.Is(err, fs.ErrNotExist) && r.remake() == nil {
		err = r.put(text)
	}
	if err != nil {
		return err
	}
	// The daemon has been told by the rename, so the record is written; this is for
	// a power cut.
	_ = r.file.Sync()
	_ = r.file.Close()
	r.file = nil
	return nil
}

func (r *record) put(text []byte) error {
	if r.file == nil {
		if err := r.reserve(); err != nil {
			return err
		}
	}
	if _, err := r.file.WriteAt(text, 0); err != nil {
		return err
	}
	if err := r.file.Truncate(int64(len(text))); err != nil {
		return err
	}
	return os.Rename(r.temporary, r.final)
}

// remake makes folder and temporary file again, where somebody deleted them.
func (r *record) remake() error {
	if err := os.MkdirAll(filepath.Dir(r.final), 0o700); err != nil {
		return err
	}
	if r.file != nil {
		_ = r.file.Close() // the deleted one
	}
	r.file, r.temporary = nil, r.final+".tmp"
	return r.reserve()
}

// introduce says who this keeper is.
func introduce() wire.Alive {
	return wire.Alive{Format: wire.Format, Keeper: os.Getpid(), Start: startTime(os.Getpid())}
}

// sign adds a line to the locked file: who keeps the task. Without any the next
// daemon does not find this keeper.
func (k *keeper) sign() error {
	k.me.Boot = k.job.Boot
	k.me.Command, k.me.Input = k.command, k.input != nil
	k.me.Group, k.me.GraceMs, k.me.TimeoutMs = k.job.Group, k.job.GraceMs, k.job.TimeoutMs
	k.me.Pipes = k.pipes()
	line := wire.Encode(&k.me)
	n, err := unix.Write(k.lock, line)
	if err == nil && n < len(line) {
		err = unix.ENOSPC
	}
	if err != nil {
		return fmt.Errorf("write down who keeps the task: %w", err)
	}
	return nil
}

// pipes names the pipes through which the command's output comes: whoever has one
// open that is as young as the command is of its tree.
func (k *keeper) pipes() []string {
	var names []string
	for _, s := range k.streams {
		if s.terminal || s.fd < 0 {
			continue // a terminal's number is used again
		}
		if link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", s.fd)); err == nil {
			names = append(names, link)
		}
	}
	return names
}
