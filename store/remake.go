package store

import (
	"errors"
	"fmt"
	"os"

	"sidetask/registry"
)

// Remake closes a store that is gone and makes its file anew, with all that a
// registry holds, whole or not at all; after an error it may be called again.
// Another that stands in its place is not touched: it is somebody's, and an error.
func (s *Store) Remake(all registry.Change) (*Store, error) {
	if _, err := os.Lstat(s.path); err == nil && !s.InPlace() {
		return nil, fmt.Errorf("another task database stands at %s: move it away", s.path)
	}
	// Before another is made: at its end SQLite deletes files by their names. Nothing
	// is in it that is not in all, so its error, or that it was closed before, is none.
	_ = s.release()
	fresh := s.path + ".new"
	if err := remove(fresh, fresh+"-wal", fresh+"-shm"); err != nil { // of an attempt that was cut off
		return nil, err
	}
	made, err := Open(fresh)
	if err != nil {
		return nil, err
	}
	// What is left beside the old file would be read as changes of the new one.
	err = errors.Join(made.Commit(all), made.Close())
	if err == nil {
		err = remove(s.path+"-wal", s.path+"-shm")
	}
	if err == nil {
		err = os.Rename(fresh, s.path)
	}
	if err != nil {
		_ = remove(fresh, fresh+"-wal", fresh+"-shm")
		return nil, err
	}
	_ = s.pin.Close()
	return Open(s.path)
}

func remove(files ...string) error {
	for _, file := range files {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// InPlace reports whether the file that was opened still stands in its place,
// whatever is in it now.
func (s *Store) InPlace() bool {
	there, err := os.Lstat(s.path)
	return err == nil && s.opened[0] != nil && os.SameFile(there, s.opened[0])
}

// Gone reports whether the file, or the log of its newest changes beside it, is not
// what was opened any more, or was emptied: what is committed now is in no folder,
// and lost with this process.
func (s *Store) Gone() bool {
	for i, path := range s.files() {
		if s.opened[i] == nil {
			continue
		}
		file, err := os.Stat(path)
		if err != nil || !os.SameFile(file, s.opened[i]) || file.Size() < s.opened[i].Size() {
			return true
		}
		s.opened[i] = file // neither gets smaller as long as it is open
	}
	return !s.headed()
}

// headed says whether both files begin as SQLite's do. One that was emptied and then
// written to does not.
func (s *Store) headed() bool {
	head := make([]byte, len(fileHead))
	// By its one descriptor: with one that is closed all of SQLite's locks would go.
	if _, err := s.pin.ReadAt(head, 0); err != nil || string(head) != fileHead {
		return false
	}
	wal, err := os.Open(s.files()[1])
	if err != nil {
		return s.opened[1] == nil
	}
	defer func() { _ = wal.Close() }()
	n, _ := wal.Read(head[:len(walHead)])
	return n == 0 || string(head[:n]) == walHead // it is empty until the first commit
}

// How the database and its log begin.
const (
	fileHead = "SQLite format 3\x00"
	walHead  = "\x37\x7f\x06"
)

// Damaged reports whether another process could not read what this one has committed,
// though the files are there. It reads all of the database.
func (s *Store) Damaged() bool { return errors.Is(Check(s.path), ErrCorrupt) }

// files are those that hold what was committed.
func (s *Store) files() [2]string { return [2]string{s.path, s.path + "-wal"} }

// note remembers which files were opened.
func (s *Store) note() (err error) {
	if s.pin, err = os.Open(s.path); err != nil {
		return err
	}
	if s.opened[0], err = s.pin.Stat(); err != nil {
		return err
	}
	s.opened[1], _ = os.Stat(s.files()[1]) // none where the file system bears no WAL
	return nil
}
