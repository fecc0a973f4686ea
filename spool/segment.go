package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// nameDigits makes names sort as their offsets do.
const nameDigits = 19

// path is where the segment lies whose first byte has this offset.
func path(dir string, start int64) string {
	return filepath.Join(dir, fmt.Sprintf("%0*d", nameDigits, start))
}

// starts lists the first offsets of the segments that are there, in order.
// A folder that is not there has none. What is no segment is passed over.
func starts(dir string) ([]int64, error) {
	d, err := os.Open(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	var list []int64
	for _, name := range names {
		start, err := strconv.ParseInt(name, 10, 64)
		if err == nil && start >= 0 && len(name) == nameDigits {
			list = append(list, start)
		}
	}
	slices.Sort(list)
	return list, nil
}

// Usage is how many bytes the segments in dir have together.
func Usage(dir string) (int64, error) {
	disk, _, err := Measure(dir)
	return disk, err
}

// Measure is how many bytes the segments in dir have together on disk, and how
// many were ever written: the offset after the last.
func Measure(dir string) (disk, size int64, err error) {
	list, err := starts(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("measure spool: %w", err)
	}
	for _, start := range list {
		info, err := os.Stat(path(dir, start))
		if os.IsNotExist(err) {
			continue // the writer went past its bound just now
		}
		if err != nil {
			return 0, 0, fmt.Errorf("measure spool: %w", err)
		}
		disk += info.Size()
		size = start + info.Size()
	}
	return disk, size, nil
}
