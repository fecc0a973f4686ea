package store

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// full reports whether the file system of a file has no space left: SQLite
// says no more than "disk I/O error" where its WAL index cannot grow.
func full(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(filepath.Dir(path), &fs) == nil && fs.Bavail < 16
}
