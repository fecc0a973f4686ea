package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// binaries are the files of the program: they lie in one folder.
var binaries = []string{"sidetask", "sidetask-keeper"}

// foreignBinaries are the files in dir that have the names of the program's, and are
// nothing that was ever built from it.
func foreignBinaries(dir string) (paths []string) {
	for _, name := range binaries {
		path := filepath.Join(dir, name)
		info, err := buildinfo.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil || info.Path != "sidetask/cmd/"+name:
			paths = append(paths, path)
		}
	}
	return paths
}

// writeFile replaces a file in one step: whoever reads it meanwhile has the old
// one or the new one, and a program that is running from it goes on.
func writeFile(path string, content []byte, mode fs.FileMode) error {
	return writeFrom(path, bytes.NewReader(content), mode)
}

func writeFrom(path string, content io.Reader, mode fs.FileMode) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, err = io.Copy(file, content)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(file.Name(), path)
}

// keepCopy writes a new file of that name, or with a number behind it where there
// is one: what was kept before is not replaced.
func keepCopy(name string, content []byte, mode fs.FileMode) (path string, err error) {
	path = name
	for n := 2; ; n++ {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			path = fmt.Sprintf("%s-%d", name, n)
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(content)
		err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
		if err != nil {
			return "", errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(path))
		}
		return path, nil
	}
}

// updateFile writes a file unless it has that content already.
func updateFile(path string, content []byte, mode fs.FileMode) (changed bool, err error) {
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, content) {
		return false, nil
	}
	return true, writeFile(path, content, mode)
}

// copyProgram brings a binary to its place unless the same one is there.
func copyProgram(from, to string) (changed bool, err error) {
	source, err := os.Open(from)
	if err != nil {
		return false, err
	}
	defer func() { _ = source.Close() }() // only read
	same, err := sameContent(source, to)
	if err != nil || same {
		return false, err
	}
	if _, err := source.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	return true, writeFrom(to, source, 0o755)
}

// sameContent compares an open file with the one at path; nothing there is
// another content.
func sameContent(file *os.File, path string) (bool, error) {
	other, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer func() { _ = other.Close() }() // only read
	one, err := file.Stat()
	if err != nil {
		return false, err
	}
	two, err := other.Stat()
	if err != nil {
		return false, err
	}
	if os.SameFile(one, two) {
		return true, nil
	}
	if one.Size() != two.Size() || two.Mode().Perm()&0o100 == 0 {
		return false, nil
	}
	a, b := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(file, a)
		m, err2 := io.ReadFull(other, b)
		if !bytes.Equal(a[:n], b[:m]) {
			return false, nil
		}
		if atEnd(err) && atEnd(err2) {
			return true, nil
		}
		if err != nil || err2 != nil {
			return false, errors.Join(err, err2)
		}
	}
}

func atEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// removeFile removes a file and says whether it was there.
func removeFile(path string) (bool, error) {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// onPath says whether a folder is in the PATH.
func onPath(dir, path string) bool {
	for _, entry := range filepath.SplitList(path) {
		if filepath.Clean(entry) == filepath.Clean(dir) {
			return true
		}
	}
	return false
}

// tilde writes a path as a person would.
func tilde(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "/" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, home+"/"); ok {
		return "~/" + rest
	}
	return path
}
