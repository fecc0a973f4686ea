package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// badFiles are files that are refused, with all that is said of each after the
// path. They are the seeds of the fuzz target, too.
var badFiles = []struct {
	name, file string
	want       []string
}{
	// CONFIG.md: a default above its cap (BEHAVIOUR T107).
	{"both written", "[mounts.\"/\"]\n\n\nwaitTimeoutMs = 700000\nmaxWaitTimeoutMs = 600000\n", []string{`4:1: waitTimeoutMs (700000) exceeds maxWaitTimeoutMs (600000) in mount "/"`}},
	{"default alone", "[mounts.\"/\"]\n\n\nwaitTimeoutMs = 700000", []string{`4:1: waitTimeoutMs (700000) exceeds maxWaitTimeoutMs (600000) in mount "/"`}},
	{"cap alone", "[mounts.\"/\"]\n  maxWaitTimeoutMs = 10000", []string{`2:3: waitTimeoutMs (30000) exceeds maxWaitTimeoutMs (10000) in mount "/"`}},
	{"inherited cap", "[mounts.\"/\"]\nmaxWaitTimeoutMs = 40000\n[mounts.\"/x\"]\nwaitTimeoutMs = 50000", []string{`4:1: waitTimeoutMs (50000) exceeds maxWaitTimeoutMs (40000) in mount "/x"`}},
	{"inherited default", "[mounts.\"/a/b\"]\nmaxWaitTimeoutMs = 40000\n[mounts.\"/a\"]\nwaitTimeoutMs = 50000", []string{`2:1: waitTimeoutMs (50000) exceeds maxWaitTimeoutMs (40000) in mount "/a/b"`}},
	{"told once, not by those who inherit both", "[mounts.\"/\"]\nwaitTimeoutMs = 700000\n[mounts.\"/x\"]\n", []string{`2:1: waitTimeoutMs (700000) exceeds maxWaitTimeoutMs (600000) in mount "/"`}},
	{"also of a disabled mount", "[mounts.\"/\"]\nenabled = false\nwaitTimeoutMs = 700000\n", []string{`3:1: waitTimeoutMs (700000) exceeds maxWaitTimeoutMs (600000) in mount "/"`}},

	// T108.
	{"wakes inf", "mounts.\"/\".maxConsecutiveWakes = inf", []string{`1:12: maxConsecutiveWakes (inf) must be a whole number of turns, 1 to 9007199254740991`}},
	{"wakes -inf", "[mounts.\"/\"]\nmaxConsecutiveWakes = -inf", []string{`2:1: maxConsecutiveWakes (-inf) must be a whole number of turns, 1 to 9007199254740991`}},
	{"wakes nan", "[mounts.\"/\"]\nmaxConsecutiveWakes = nan", []string{`2:1: maxConsecutiveWakes (nan) must be a whole number of turns, 1 to 9007199254740991`}},
	{"wakes 2.5, under quiet too", "[mounts.\"/\"]\ncompletionDelivery = \"quiet\"\nmaxConsecutiveWakes = 2.5", []string{`3:1: maxConsecutiveWakes (2.5) must be a whole number of turns, 1 to 9007199254740991`}},
	{"wakes 3.0", "[mounts.\"/\"]\nmaxConsecutiveWakes = 3.0", []string{`2:1: maxConsecutiveWakes (3.0) must be a whole number of turns, 1 to 9007199254740991`}},
	{"wakes 0", "[mounts.\"/\"]\nmaxConsecutiveWakes = 0", []string{`2:1: maxConsecutiveWakes (0) must be a whole number of turns, 1 to 9007199254740991`}},
	{"wakes 2^53", "[mounts.\"/\"]\nmaxConsecutiveWakes = 9007199254740992", []string{`2:1: maxConsecutiveWakes (9007199254740992) must be a whole number of turns, 1 to 9007199254740991`}},
	{"wakes as text", "[mounts.\"/\"]\nmaxConsecutiveWakes = \"3\"", []string{`2:1: maxConsecutiveWakes ("3") must be a whole number of turns, 1 to 9007199254740991`}},
	{"wakes beyond int64", "[mounts.\"/\"]\nmaxConsecutiveWakes = 99999999999999999999", []string{`2:23: not valid TOML: 99999999999999999999 is out of range for int64`}},

	// T106, T109: waits.
	{"waits", "[mounts.\"/\"]\nwaitTimeoutMs = 0\nmaxWaitTimeoutMs = 2147483648\n[mounts.\"/x\"]\nwaitTimeoutMs = inf\nmaxWaitTimeoutMs = 1.5", []string{
		`2:1: waitTimeoutMs (0) must be a whole number of milliseconds, 1 to 2147483647`,
		`3:1: maxWaitTimeoutMs (2147483648) must be a whole number of milliseconds, 1 to 2147483647`,
		`5:1: waitTimeoutMs (inf) must be a whole number of milliseconds, 1 to 2147483647`,
		`6:1: maxWaitTimeoutMs (1.5) must be a whole number of milliseconds, 1 to 2147483647`,
	}},
	{"lane", "[mounts.\"/\"]\ncompletionDelivery = \"loud\"", []string{`2:1: completionDelivery ("loud") must be "wakeup" or "quiet"`}},
	{"a lane is told from its case", "[mounts.\"/\"]\ncompletionDelivery = \"Quiet\"", []string{`2:1: completionDelivery ("Quiet") must be "wakeup" or "quiet"`}},
	{"flag", "[mounts.\"/\"]\nenabled = 1\n[commands]\ncleanOutput = \"yes\"", []string{
		`2:1: enabled (1) must be true or false`,
		`4:1: cleanOutput ("yes") must be true or false`,
	}},

	// T95.
	{"limit", "[limits]\nmaxConcurrentTasksPerOwner = 0", []string{`2:1: maxConcurrentTasksPerOwner (0) must be a whole number of tasks, 1 to 9007199254740991`}},
	{"negative size", "[commands]\noutputLimitBytes = -1\nspoolBytes = -5", []string{
		`2:1: outputLimitBytes (-1) must be a whole number of bytes, 0 to 9007199254740991`,
		`3:1: spoolBytes (-5) must be a whole number of bytes, 1048576 to 9007199254740991`,
	}},
	{"small spool", "[commands]\nspoolBytes = 1048575\nkeepHeadBytes = 0", []string{`2:1: spoolBytes (1048575) must be a whole number of bytes, 1048576 to 9007199254740991`}},
	{"head not below spool", "[commands]\nspoolBytes = 2000000\nkeepHeadBytes = 2000000", []string{`3:1: keepHeadBytes (2000000) must be less than spoolBytes (2000000)`}},
	{"spool alone", "[commands]\nspoolBytes = 1048576", []string{`2:1: keepHeadBytes (1048576) must be less than spoolBytes (1048576)`}},
	{"head alone", "[commands]\nkeepHeadBytes = 67108864", []string{`2:1: keepHeadBytes (67108864) must be less than spoolBytes (67108864)`}},
	{"shell", "[commands]\nshell = \"bin/sh\"\nmemoryMax = \"4 GB\"\ncpuMax = \"2\"\npidsMax = -1", []string{
		`2:1: shell ("bin/sh") must be the name of a program or an absolute path`,
		`3:1: memoryMax ("4 GB") must be a number of bytes, or one with K, M, G or T after it such as "4G", or "" for none`,
		`4:1: cpuMax ("2") must be a share of one processor such as "200%", or "" for none`,
		`5:1: pidsMax (-1) must be a whole number of processes, 2 to 4194304, or 0 for none`,
	}},
	{"memory beyond 8 EiB", "[commands]\nmemoryMax = \"8388608T\"", []string{`2:1: memoryMax ("8388608T") must be a number of bytes, or one with K, M, G or T after it such as "4G", or "" for none`}},
	{"one process", "[commands]\npidsMax = 1", []string{`2:1: pidsMax (1) must be a whole number of processes, 2 to 4194304, or 0 for none`}},
	{"no memory", "[commands]\nmemoryMax = \"0G\"", []string{`2:1: memoryMax ("0G") must be a number of bytes, or one with K, M, G or T after it such as "4G", or "" for none`}},
	{"NUL in a text", "[commands]\nshell = \"ba\\u0000sh\"", []string{`2:1: shell ("ba\x00sh") must be the name of a program or an absolute path`}},
	{"types", "[commands]\nshell = 5\n[limits]\nmaxConnections = true\n[log]\nlevel = 1979-05-27\n[retention]\ndays = [1, [2], {}, 4, 5, 6]", []string{
		`2:1: shell (5) must be the name of a program or an absolute path`,
		`4:1: maxConnections (true) must be a whole number of connections, 1 to 65536`,
		`6:1: level (1979-05-27) must be "debug", "info", "warn" or "error"`,
		`8:1: days ([1, a list, a table, 4, 5, ...]) must be a whole number of days, 1 to 36500`,
	}},
	{"as it is written", "[retention]\ndays = 1e3 # days\n[limits]\nmaxConnections = 0x7fff_ffff\nmaxMessageBytes = [07:32:00, 1_0.50]\nmaxConcurrentTasksPerOwner = 1979-05-27 07:32:00\t\n[acp]\nmaxDrains=0." + strings.Repeat("0", 100), []string{
		`2:1: days (1e3) must be a whole number of days, 1 to 36500`,
		`4:1: maxConnections (0x7fff_ffff) must be a whole number of connections, 1 to 65536`,
		`5:1: maxMessageBytes ([07:32:00, 1_0.50]) must be a whole number of bytes, 4096 to 1073741824`,
		`6:1: maxConcurrentTasksPerOwner (1979-05-27 07:32:00) must be a whole number of tasks, 1 to 9007199254740991`,
		`8:1: maxDrains (0.` + strings.Repeat("0", 78) + `...) must be a whole number of turns, 0 to 1000`,
	}},

	// Policies.
	{"policy", "[[policy]]\nrun = [\"/bin/true\"]\n[[policy]]\nscope = \"x\"\ntools = [\"task_strat\"]\nstage = \"mid\"\nrun = [\"true\"]\ntimeoutMs = 0\n[[policy]]\nstage = \"pre\"", []string{
		`4:1: scope ("x") must be a scope path such as "/" or "/review"`,
		`5:1: tools (["task_strat"]) must be a list of "task_start", "task_output", "task_list" or "task_kill", each once; empty = all`,
		`6:1: stage ("mid") must be "pre" or "post"`,
		`7:1: run (["true"]) must be a list of texts that begins with the absolute path of a program`,
		`8:1: timeoutMs (0) must be a whole number of milliseconds, 1 to 2147483647`,
		`9:3: run is missing in [[policy]]: it must be a list of texts that begins with the absolute path of a program`,
	}},
	{"a policy of inline tables", "policy = [{run = [\"/bin/true\"]}, {run = []}, 5]", []string{
		`1:35: run ([]) must be a list of texts that begins with the absolute path of a program`,
		`1:46: policy (5) must be an array of tables, [[policy]]`,
	}},
	{"a policy that is no array", "[policy]\nrun = [\"/bin/true\"]", []string{`1:2: policy (a table) must be an array of tables, [[policy]]`}},

	// Unknown keys, tables and scopes (T105).
	{"unknown key", "[mounts.\"/\"]\nwaitTimeotMs = 5", []string{`2:1: unknown key "waitTimeotMs" in [mounts."/"]: did you mean "waitTimeoutMs"?`}},
	{"another case is another key", "[limits]\nMaxConnections = 5", []string{`2:1: unknown key "MaxConnections" in [limits]: did you mean "maxConnections"?`}},
	{"both cases", "[limits]\nmaxConnections = 5\nmaxconnections = 6", []string{`3:1: unknown key "maxconnections" in [limits]: did you mean "maxConnections"?`}},
	{"key of another table", "[limits]\noutputLimitBytes = 5", []string{`2:1: unknown key "outputLimitBytes" in [limits]: it belongs in [commands]`}},
	{"key without a table", "waitTimeoutMs = 5", []string{`1:1: unknown key "waitTimeoutMs" in the top level: it belongs in [mounts."/"]`}},
	{"unknown table", "[Limits]\nmaxConnections = 5\n[comands]\n", []string{
		`1:2: unknown table "Limits": did you mean "limits"?`,
		`3:2: unknown table "comands": did you mean "commands"?`,
	}},
	{"unknown table below a table", "[limits.more]\nx = 1", []string{`1:9: unknown key "more" in [limits]: the nearest is "maxConnections" (known: maxConcurrentTasksPerOwner, maxMessageBytes, maxConnections)`}},
	{"table for a key", "[limits.maxConnections]\nx = 1", []string{`1:9: maxConnections (a table) must be a whole number of connections, 1 to 65536`}},
	{"no table", "limits = 5\nmounts = true\nlog = [1]", []string{
		`1:1: limits (5) must be a table, [limits]`,
		`2:1: mounts (true) must be tables by scope, such as [mounts."/"]`,
		`3:1: log ([1]) must be a table, [log]`,
	}},
	{"array of a table", "[[limits]]\nmaxConnections = 5", []string{`1:3: limits (an array of tables) must be a table, [limits]`}},
	{"scopes", "[mounts.review]\n[mounts.\"/a/\"]\n[mounts.\"/a b\"]\n[mounts.\"/a/../b\"]", []string{
		`1:9: mounts scope "review": scope "review": must begin with "/"`,
		`2:9: mounts scope "/a/": scope "/a/": empty segment`,
		`3:9: mounts scope "/a b": scope "/a b": space or control character`,
		`4:9: mounts scope "/a/../b": scope "/a/../b": segment ".."`,
	}},
	{"in the table of a bad scope", "[mounts.\"bad scope\"]\nenabled = \"yes\"\nbogus = 1", []string{
		`1:9: mounts scope "bad scope": scope "bad scope": must begin with "/"`,
		`2:1: enabled ("yes") must be true or false`,
		`3:1: unknown key "bogus" in [mounts."bad scope"]: the nearest is "enabled" (known: enabled, waitTimeoutMs, maxWaitTimeoutMs, completionDelivery, maxConsecutiveWakes)`,
	}},
	{"no table at a scope", "[mounts]\n\"/\" = 5\nwaitTimeoutMs = 1\nother = 2", []string{
		`2:1: mounts."/" (5) must be a table, [mounts."/"]`,
		`3:1: unknown key "waitTimeoutMs" in [mounts]: it belongs in [mounts."/"] or the table of another scope`,
		`4:1: unknown key "other" in [mounts]: only tables by scope are known, such as [mounts."/"]`,
	}},

	// All at once, in the order of the file, whatever the form of the keys.
	{"all at once", "log.level = \"loud\"\nlimits = {maxConnections = 0, \"maxMessageBytes\" = 1}\nmounts.'/'.\"enabled\" = 3\n[mounts.\"\\u002fx\"]\n\"übel\" = 1\ny = '''\n[limits]\n'''\n\"ü\".z=1", []string{
		`1:5: level ("loud") must be "debug", "info", "warn" or "error"`,
		`2:11: maxConnections (0) must be a whole number of connections, 1 to 65536`,
		`2:31: maxMessageBytes (1) must be a whole number of bytes, 4096 to 1073741824`,
		`3:12: enabled (3) must be true or false`,
		`5:1: unknown key "übel" in [mounts."/x"]: the nearest is "enabled" (known: enabled, waitTimeoutMs, maxWaitTimeoutMs, completionDelivery, maxConsecutiveWakes)`,
		`6:1: unknown key "y" in [mounts."/x"]: the nearest is "enabled" (known: enabled, waitTimeoutMs, maxWaitTimeoutMs, completionDelivery, maxConsecutiveWakes)`,
		`9:1: unknown key "ü" in [mounts."/x"]: the nearest is "enabled" (known: enabled, waitTimeoutMs, maxWaitTimeoutMs, completionDelivery, maxConsecutiveWakes)`,
	}},

	// What is no TOML, or none that is wanted.
	{"empty", "", []string{`1:1: the file is empty: remove it to have the defaults, or write settings into it (sidetask config init shows all)`}},
	{"blank", "\ufeff \n\t\r\n", []string{`1:1: the file is empty: remove it to have the defaults, or write settings into it (sidetask config init shows all)`}},
	{"syntax", "[limits]\nmaxConnections = \n", []string{`2:18: not valid TOML: expected value but found '\n' instead`}},
	{"column in characters", "[limits]\n\"üüü\" = = 1\n", []string{`2:9: not valid TOML: expected value but found '=' instead`}},
	{"key twice", "[limits]\nmaxConnections = 5\nmaxConnections = 6\n", []string{`3:1: not valid TOML: Key 'limits.maxConnections' has already been defined`}},
	{"table twice", "[limits]\n[log]\n[limits]\n", []string{`3:2: not valid TOML: Key 'limits' has already been defined`}},
	{"dotted over a value", "log.level = \"info\"\nlog.level.x = 1\n", []string{`2:1: not valid TOML: Key 'log.level' has already been defined`}},
	{"NUL", "[limits]\nx = \"\x00\"", []string{`2:5: not valid TOML: TOML files cannot contain control characters: '0x00'`}},
	{"no UTF-8", "[limits]\nx = \"\xff\"", []string{`2:5: not valid TOML: invalid UTF-8 byte: 0xff`}},
	{"unterminated", "[log]\nlevel = \"info", []string{`2:13: not valid TOML: unexpected EOF; expected '"'`}},
	{"nested", "x = " + strings.Repeat("[", 40) + strings.Repeat("]", 40), []string{`1:38: nested too deeply: at most 32 levels`}},
	{"dotted too deeply", strings.Repeat("a.", 40) + "b = 1", []string{`1:65: nested too deeply: at most 32 levels`}},
}

// TestErrors pins the messages of CONFIG.md, "Rules": every one with file,
// line, column, the value and what is allowed.
func TestErrors(t *testing.T) {
	for _, c := range badFiles {
		t.Run(c.name, func(t *testing.T) {
			path := file(t, c.file)
			s, origins, err := Load(path)
			if err == nil || s != nil || origins != nil {
				t.Fatalf("Load(%q) = %v, nil error; want %q", c.file, s, c.want)
			}
			var all Errors
			if !errors.As(err, &all) {
				t.Fatalf("the error is a %T, want Errors", err)
			}
			got := all.Lines()
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], path+":")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNotAFile: what stands at the path but cannot be a configuration.
func TestNotAFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("big"), strings.Repeat("#\n", maxFileBytes/2)+"#")
	for link, target := range map[string]string{"gone": "nowhere", "far": "gone", "loop": "loop", "lost": at("nowhere/config.toml")} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	mkfifo(t, at("fifo"))
	for name, want := range map[string]string{
		"":         "is a folder: the configuration must be a regular file",
		"fifo":     "is a special file: the configuration must be a regular file",
		"big":      "has more than the 262144 bytes that a configuration may have",
		"big/file": "cannot be read: not a directory",
		"gone":     "cannot be read: the symbolic link " + at("gone") + " leads to a file that does not exist",
		"far":      "cannot be read: the symbolic link " + at("far") + " leads to a file that does not exist",
		"lost":     "cannot be read: the symbolic link " + at("lost") + " leads to a file that does not exist",
		"loop":     "cannot be read: too many levels of symbolic links",
	} {
		path := filepath.Join(dir, name)
		if _, _, err := Load(path); err == nil || err.Error() != path+": "+want {
			t.Errorf("Load(%s) = %v, want %s", path, err, want)
		}
	}
	// A link to a folder that has no such file: absent, as without the link.
	if err := os.Symlink(".", at("here")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(at("here/config.toml")); err != nil {
		t.Errorf("an absent file behind a link is an error: %v", err)
	}
	if os.Getuid() != 0 { // root reads everything
		path := file(t, "[log]")
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Load(path); err == nil || err.Error() != path+": cannot be read: permission denied" {
			t.Errorf("Load of an unreadable file = %v", err)
		}
	}
}

// TestManyErrors: a file of the wrong kind does not flood the log.
func TestManyErrors(t *testing.T) {
	path := file(t, strings.Repeat("\n", 3)+"a=1\nb.c=1\n"+strings.Repeat("[[policy]]\n", 200))
	_, _, err := Load(path)
	var all Errors
	if !errors.As(err, &all) || len(all) != maxErrors+1 {
		t.Fatalf("%d errors are told, want %d", len(all), maxErrors+1)
	}
	if want := path + ":103:3: and 102 more errors from here on"; all[maxErrors].Error() != want {
		t.Errorf("the last one is %q, want %q", all[maxErrors], want)
	}
}
