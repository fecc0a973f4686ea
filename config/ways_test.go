package config

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// disk does what people and programs do to files; it fails the test itself.
type disk struct {
	t   *testing.T
	dir string
}

func (d disk) at(name string) string { return filepath.Join(d.dir, name) }

func (d disk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d disk) write(name string, n int) {
	d.t.Helper()
	d.must(os.WriteFile(d.at(name), []byte(version(n)), 0o600))
}

func (d disk) mkdir(name string)        { d.t.Helper(); d.must(os.MkdirAll(d.at(name), 0o700)) }
func (d disk) rename(from, to string)   { d.t.Helper(); d.must(os.Rename(d.at(from), d.at(to))) }
func (d disk) remove(name string)       { d.t.Helper(); d.must(os.RemoveAll(d.at(name))) }
func (d disk) link(target, name string) { d.t.Helper(); d.must(os.Symlink(target, d.at(name))) }
func (d disk) relink(target, name string) { // as ln -sfn does, in one step
	d.t.Helper()
	d.link(target, name+".new")
	d.rename(name+".new", name)
}

// way is one way of saving: how things stand with version 1 in force, and
// steps of which each brings the next version.
type way struct {
	name  string
	path  string // of the configuration, below the folder
	setUp func(d disk)
	steps []func(d disk, n int)
}

// times repeats a step.
func times(n int, step func(d disk, n int)) []func(d disk, n int) {
	steps := make([]func(d disk, n int), n)
	for i := range steps {
		steps[i] = step
	}
	return steps
}

var ways = []way{
	{
		"in place", "config.toml",
		func(d disk) { d.write("config.toml", 1) },
		times(3, func(d disk, n int) { d.write("config.toml", n) }),
	},
	{
		"in place without truncating, same size", "config.toml",
		func(d disk) { d.write("config.toml", 1) },
		times(3, func(d disk, n int) {
			f, err := os.OpenFile(d.at("config.toml"), os.O_WRONLY, 0)
			d.must(err)
			for _, part := range []string{version(n)[:20], version(n)[20:]} {
				_, err = f.WriteString(part)
				d.must(err)
			}
			d.must(f.Truncate(int64(len(version(n)))))
			d.must(f.Close())
		}),
	},
	{
		"truncated, then written by another", "config.toml",
		func(d disk) { d.write("config.toml", 1) },
		times(3, func(d disk, n int) {
			d.must(os.Truncate(d.at("config.toml"), 0))
			f, err := os.OpenFile(d.at("config.toml"), os.O_WRONLY|os.O_APPEND, 0)
			d.must(err)
			for i := range len(version(n)) {
				_, err = f.WriteString(version(n)[i : i+1])
				d.must(err)
			}
			d.must(f.Close())
		}),
	},
	{
		"renamed over", "config.toml",
		func(d disk) { d.write("config.toml", 1) },
		times(3, func(d disk, n int) { d.write(".config.toml.tmp", n); d.rename(".config.toml.tmp", "config.toml") }),
	},
	{
		"renamed over from another folder", "a/config.toml",
		func(d disk) { d.mkdir("a"); d.mkdir("b"); d.write("a/config.toml", 1) },
		times(3, func(d disk, n int) { d.write("b/x", n); d.rename("b/x", "a/config.toml") }),
	},
	{
		"linked from another name", "config.toml",
		func(d disk) { d.write("config.toml", 1) },
		times(2, func(d disk, n int) {
			d.write("other", n)
			d.remove("config.toml")
			d.must(os.Link(d.at("other"), d.at("config.toml")))
			d.remove("other")
		}),
	},
	{
		"vim", "config.toml",
		func(d disk) { d.write("config.toml", 1) },
		times(3, func(d disk, n int) {
			d.remove("4913")
			d.must(os.WriteFile(d.at("4913"), nil, 0o600)) // vim's probe
			d.remove("4913")
			d.rename("config.toml", "config.toml~")
			d.write("config.toml", n)
			d.must(os.Chmod(d.at("config.toml"), 0o600))
			d.remove("config.toml~")
		}),
	},
	{
		"created later, with its folders", "a/b/config.toml",
		func(d disk) {},
		[]func(d disk, n int){
			func(d disk, n int) { d.mkdir("a/b"); d.write("a/b/config.toml", n) },
			func(d disk, n int) { d.write("a/b/config.toml", n) },
			func(d disk, n int) { d.remove("a"); d.mkdir("a/b"); d.write("a/b/config.toml", n) },
			func(d disk, n int) { d.write("a/b/config.toml", n) },
		},
	},
	{
		"a folder at a time", "a/b/c/config.toml",
		func(d disk) {},
		[]func(d disk, n int){
			func(d disk, n int) {
				d.mkdir("x/b/c")
				d.write("x/b/c/config.toml", n)
				d.rename("x", "a")
			},
			func(d disk, n int) {
				d.mkdir("a/y")
				d.write("a/y/config.toml", n)
				d.remove("a/b/c")
				d.rename("a/y", "a/b/c")
			},
			func(d disk, n int) { d.write("a/b/c/config.toml", n) },
		},
	},
	{
		"folder replaced", "a/config.toml",
		func(d disk) { d.mkdir("a"); d.write("a/config.toml", 1) },
		times(3, func(d disk, n int) {
			d.mkdir("new")
			d.write("new/config.toml", n)
			d.rename("a", "old")
			d.rename("new", "a")
			d.remove("old")
		}),
	},
	{
		"folder above replaced", "a/b/c/config.toml",
		func(d disk) { d.mkdir("a/b/c"); d.write("a/b/c/config.toml", 1) },
		[]func(d disk, n int){
			func(d disk, n int) {
				d.mkdir("new/b/c")
				d.write("new/b/c/config.toml", n)
				d.rename("a", "old")
				d.rename("new", "a")
			},
			func(d disk, n int) { d.write("a/b/c/config.toml", n) },
			func(d disk, n int) { d.rename("a", "third"); d.rename("old", "a"); d.write("a/b/c/config.toml", n) },
			func(d disk, n int) { d.write("a/b/c/config.toml", n) },
		},
	},
	{
		"link swapped", "config.toml",
		func(d disk) { d.write("v1", 1); d.link("v1", "config.toml") },
		times(3, func(d disk, n int) { v := fmt.Sprint("v", n); d.write(v, n); d.relink(v, "config.toml") }),
	},
	{
		"stow: unlinked and linked", "config.toml",
		func(d disk) { d.mkdir("dots"); d.write("dots/v1", 1); d.link("dots/v1", "config.toml") },
		times(3, func(d disk, n int) {
			v := fmt.Sprint("dots/v", n)
			d.write(v, n)
			d.remove("config.toml")
			d.link(v, "config.toml")
		}),
	},
	{
		"chain of links, each of them and the target", "etc/config.toml",
		func(d disk) {
			for _, dir := range []string{"etc", "one", "two", "three"} {
				d.mkdir(dir)
			}
			d.write("three/real", 1)
			d.link("../three/real", "two/c")
			d.link(d.at("two/c"), "one/b")
			d.link("../one/b", "etc/config.toml")
		},
		[]func(d disk, n int){
			func(d disk, n int) { d.write("three/real", n) },
			func(d disk, n int) { d.write("three/tmp", n); d.rename("three/tmp", "three/real") },
			func(d disk, n int) { d.write("three/other", n); d.relink("../three/other", "two/c") },
			func(d disk, n int) { d.write("three/other", n) },
			func(d disk, n int) { d.write("one/direct", n); d.relink("direct", "one/b") },
			func(d disk, n int) { d.write("one/direct", n) },
			func(d disk, n int) { d.write("etc/here", n); d.relink("here", "etc/config.toml") },
			func(d disk, n int) { d.relink("../one/b", "etc/config.toml"); d.write("one/direct", n) },
			func(d disk, n int) { d.write("one/direct", n) },
		},
	},
	{
		"folders that are links", "home/.config/sidetask/config.toml",
		func(d disk) {
			d.mkdir("home")
			d.mkdir("dots1/sidetask")
			d.mkdir("dots2")
			d.write("dots1/sidetask/config.toml", 1)
			d.link("../dots1", "home/.config")
		},
		[]func(d disk, n int){
			func(d disk, n int) { d.write("dots1/sidetask/config.toml", n) },
			func(d disk, n int) {
				d.mkdir("dots2/real")
				d.write("dots2/real/config.toml", n)
				d.link("real", "dots2/sidetask")
				d.relink("../dots2", "home/.config")
			},
			func(d disk, n int) { d.write("dots2/real/config.toml", n) },
			func(d disk, n int) {
				d.mkdir("dots2/real2")
				d.write("dots2/real2/config.toml", n)
				d.rename("dots2/real", "dots2/gone")
				d.rename("dots2/real2", "dots2/real")
			},
			func(d disk, n int) {
				d.mkdir("home2/.config/sidetask")
				d.write("home2/.config/sidetask/config.toml", n)
				d.rename("home", "home.old")
				d.rename("home2", "home")
			},
		},
	},
	{
		"Kubernetes", "config.toml",
		func(d disk) {
			d.mkdir("..1")
			d.write("..1/config.toml", 1)
			d.link("..1", "..data")
			d.link("..data/config.toml", "config.toml")
		},
		times(4, func(d disk, n int) {
			next := fmt.Sprintf("..%d", n)
			d.mkdir(next)
			d.write(next+"/config.toml", n)
			d.relink(next, "..data")
			d.remove(fmt.Sprintf("..%d", n-1))
		}),
	},
}
