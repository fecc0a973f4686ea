package scripts

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rooms is the table of ../shared/design/ARCHITECTURE.md: what each package of
// this module may import of it. An arrow only points down.
var rooms = map[string][]string{
	"rpc":     {},
	"paths":   {},
	"scope":   {},
	"render":  {},
	"systemd": {},
	"spool":   {},

	// Beyond the table: it lets the keeper import spool alone, and so what a keeper
	// and its daemon say to each other would have to be in both, word for word.
	"process/wire": {},

	"config":   {"scope", "paths"},
	"registry": {"scope"},

	"store":    {"registry", "scope"}, // beyond the table: records have a scope.Path
	"process":  {"registry", "spool", "paths", "process/wire"},
	"producer": {"registry", "spool", "paths"},
	"wakeup":   {"registry", "scope", "config"},

	"tools":      {"registry", "render", "config", "scope"},
	"rpc/server": {"rpc", "registry", "producer", "wakeup", "tools", "render", "config", "scope"},
	"daemon": {
		"rpc", "paths", "scope", "render", "systemd", "spool", "config", "registry", "store", "process", "producer",
		"wakeup", "tools", "rpc/server",
	},

	"rpc/client": {"rpc", "paths", "process/wire"}, // the last beyond the table: it may have to ask a keeper
	"acp":        {"rpc", "rpc/client", "render"},
	"mcp":        {"rpc", "rpc/client", "render"},

	"cmd/sidetask":        {"daemon", "acp", "mcp", "rpc", "rpc/client", "config", "paths", "render", "scope", "systemd"},
	"cmd/sidetask-keeper": {"spool", "process/wire"},

	"scripts":       {},
	"scripts/leaks": {}, // for tests
	"scripts/table": {},

	// Programs for people to read: they use the public protocols only.
	"examples/agent":     {},
	"examples/editor":    {},
	"examples/harness":   {},
	"examples/producers": {},
}

// keeperLibraries is all that the keeper may link beside the standard library:
// one process per command has to be small.
var keeperLibraries = []string{"golang.org/x/sys/unix"}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Doc        string
	Name       string
	Standard   bool
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	list := exec.Command("go", "list", "-json=ImportPath,Imports,Deps,Doc,Name,Standard", "./...")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range listPackages(t) {
		// What lies in a room's own internal folder is the room itself.
		room, _, inside := strings.Cut(strings.TrimPrefix(p.ImportPath, "sidetask/"), "/internal/")
		allowed, known := rooms[room]
		if !known {
			t.Errorf("package %s is no room of the house: add it to ARCHITECTURE's table and to this test, or put its code elsewhere", room)
			continue
		}
		for _, imported := range p.Imports {
			below, ours := strings.CutPrefix(imported, "sidetask/")
			if strings.HasPrefix(below, room+"/internal/") || !ours {
				continue
			}
			if below == room && inside || !slices.Contains(allowed, below) {
				t.Errorf("%s imports %s, allowed are %v", room, below, allowed)
			}
		}
	}
}

func TestKeeperLinksLittle(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.ImportPath != "sidetask/cmd/sidetask-keeper" {
			continue
		}
		for _, dep := range p.Deps {
			if strings.Contains(dep, ".") && !slices.Contains(keeperLibraries, dep) && !strings.HasPrefix(dep, "vendor/") {
				t.Errorf("the keeper links %s, allowed are %v", dep, keeperLibraries)
			}
		}
	}
}

// TestWiresAreStandardLibraryOnly: programs that speak a protocol must be able to
// take it alone, and a keeper has to be small.
func TestWiresAreStandardLibraryOnly(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.ImportPath != "sidetask/rpc" && p.ImportPath != "sidetask/process/wire" {
			continue
		}
		for _, imported := range p.Imports {
			if strings.Contains(imported, ".") {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}
