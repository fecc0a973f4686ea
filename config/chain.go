package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds the symbolic links on the way to the file, as the kernel does.
const maxLinks = 40

// route is the way from the root folder to the file: every folder on it with
// the names in it that matter. If one of these names changes, the path may
// lead elsewhere.
type route struct {
	folders  map[string]*folder // by path, free of symbolic links
	dangling string             // the first link on it that leads nowhere
}

type folder struct {
	info  fs.FileInfo // which folder it was
	names map[string]bool
	near  bool // holds a link of the chain or the file: not only passed through
}

// resolve walks the way, link by link and folder by folder, as far as it leads.
func resolve(path string) route {
	if abs, err := filepath.Abs(path); err == nil && !filepath.IsAbs(path) {
		path = abs
	}
	r := route{folders: make(map[string]*folder)}
	here := string(filepath.Separator)
	rest := split(path)
	var links []string
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			here = filepath.Dir(here)
			continue
		}
		at := r.enter(here)
		if at == nil {
			return r
		}
		at.names[name] = true
		next := filepath.Join(here, name)
		info, err := os.Lstat(next)
		switch {
		case err != nil:
			at.near = true // it is here that the missing name will appear
			r.dangling = dangling(links)
			return r
		case info.Mode()&fs.ModeSymlink != 0:
			at.near = true
			target, err := os.Readlink(next)
			links = append(links, next)
			if err != nil || len(links) > maxLinks {
				return r
			}
			if filepath.IsAbs(target) {
				here = string(filepath.Separator)
			}
			rest = append(split(target), rest...)
		case len(rest) == 0:
			at.near = true
		default:
			here = next
		}
	}
	return r
}

// dangling is the first of some links that leads nowhere.
func dangling(links []string) string {
	for _, link := range links {
		if _, err := os.Stat(link); errors.Is(err, fs.ErrNotExist) {
			return link
		}
	}
	return ""
}

// enter is the folder at a path; nil if it is gone or is none.
func (r *route) enter(path string) *folder {
	if f := r.folders[path]; f != nil {
		return f
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return nil
	}
	f := &folder{info: info, names: make(map[string]bool)}
	r.folders[path] = f
	return f
}

// same reports whether two walks went the same way.
func (r route) same(o route) bool {
	if len(r.folders) != len(o.folders) {
		return false
	}
	for path, f := range r.folders {
		other := o.folders[path]
		if other == nil || !os.SameFile(f.info, other.info) || f.near != other.near || len(f.names) != len(other.names) {
			return false
		}
		for name := range f.names {
			if !other.names[name] {
				return false
			}
		}
	}
	return true
}

// split gives the names of a path, without "." and empty ones. ".." stays: it
// means the parent of where a link led, not the name before it.
func split(path string) []string {
	var names []string
	for name := range strings.SplitSeq(path, string(filepath.Separator)) {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}
