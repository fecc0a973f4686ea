package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sidetask/scope"
)

// Bounds of the values.
const (
	maxSafe   = 1<<53 - 1 // largest whole number that every JSON reader keeps (BEHAVIOUR T95)
	maxMillis = 1<<31 - 1 // longest timer (BEHAVIOUR T106)
	minSpool  = 1 << 20   // a segment is at most a 16th of the spool
	maxDays   = 100 * 365 // of retention; a time.Duration holds it
	maxFrame  = 1 << 30   // of one message on the socket
	minFrame  = 4096      // an answer must fit
	maxPeers  = 1 << 16   // connections
	maxDrains = 1000      // turns in a row
	maxPids   = 1 << 22   // Linux has no more
)

// taskTools are the names that a policy can be asked about.
var taskTools = []string{"task_start", "task_output", "task_list", "task_kill"}

// sections are all tables of the file in the order of the documentation.
// Nothing changes them.
var sections = []section{mountKeys, limitKeys, commandKeys, ownerKeys, retentionKeys, daemonKeys, acpKeys, logKeys, policyKeys}

var mountKeys = section{
	name: "mounts", placed: true,
	doc: "A mount at a scope; a preset is a scope. `/` always exists. A table inherits what it does not say from the nearest table above.",
	keys: []definition{
		{
			name: enabledKey, fallback: true, own: true, allowed: "true or false",
			doc:   "false: no mount here and below, until a table further down; starts are refused. Never inherited.",
			field: func(t target) any { return &t.mount.Enabled },
		},
		whole(waitKey, 30000, 1, maxMillis, "milliseconds",
			func(t target) any { return &t.mount.WaitTimeoutMs },
			"Wait used when `wait: true` omits `timeout_ms`."),
		whole(capKey, 600000, 1, maxMillis, "milliseconds",
			func(t target) any { return &t.mount.MaxWaitTimeoutMs },
			"Cap for waits that the model asks for; longer ones are cut to it."),
		choice(deliveryKey, Wakeup, []string{Wakeup, Quiet},
			func(t target) any { return &t.mount.CompletionDelivery },
			"\"wakeup\" opens a turn on an idle owner, \"quiet\" leaves the notice waiting."),
		whole(wakesKey, 3, 1, maxSafe, "turns",
			func(t target) any { return &t.mount.MaxConsecutiveWakes },
			"Turns that one owner may have opened by wakes before notices only wait; user input restores it."),
	},
}

// The keys of a mount. A default (waitKey) above its cap (capKey) is refused.
const (
	enabledKey  = "enabled"
	waitKey     = "waitTimeoutMs"
	capKey      = "maxWaitTimeoutMs"
	deliveryKey = "completionDelivery"
	wakesKey    = "maxConsecutiveWakes"
)

var limitKeys = section{
	name: "limits",
	doc:  "Bounds of the daemon.",
	keys: []definition{
		whole("maxConcurrentTasksPerOwner", 10, 1, maxSafe, "tasks",
			func(t target) any { return &t.settings.Limits.MaxConcurrentTasksPerOwner },
			"Running plus stopping, per owner and for all unowned together."),
		whole("maxMessageBytes", 16777216, minFrame, maxFrame, "bytes",
			func(t target) any { return &t.settings.Limits.MaxMessageBytes },
			"Longest message that is taken from the socket."),
		whole("maxConnections", 1024, 1, maxPeers, "connections",
			func(t target) any { return &t.settings.Limits.MaxConnections },
			"Connections to the socket at one time."),
	},
}

// The two keys of the rule "the kept head is smaller than the spool".
const (
	headKey  = "keepHeadBytes"
	spoolKey = "spoolBytes"
)

var commandKeys = section{
	name: "commands",
	doc:  "The command producer.",
	keys: []definition{
		text("shell", "bash", isProgram, "the name of a program or an absolute path",
			func(t target) any { return &t.settings.Commands.Shell },
			"Run as: shell -c COMMAND."),
		whole("outputLimitBytes", 32768, 0, maxSafe, "bytes",
			func(t target) any { return &t.settings.Commands.OutputLimitBytes },
			"Cap of one model-facing read or notice; 0 = none."),
		whole(spoolKey, 67108864, minSpool, maxSafe, "bytes",
			func(t target) any { return &t.settings.Commands.SpoolBytes },
			"Disk for the output of one task; the middle goes first, in whole segments."),
		whole(headKey, 1048576, 0, maxSafe, "bytes",
			func(t target) any { return &t.settings.Commands.KeepHeadBytes },
			"Of it, kept from the beginning; less than spoolBytes."),
		whole("stopGraceMs", 3000, 0, maxMillis, "milliseconds",
			func(t target) any { return &t.settings.Commands.StopGraceMs },
			"From TERM to KILL."),
		toggle("cleanOutput", true,
			func(t target) any { return &t.settings.Commands.CleanOutput },
			"For the model: escape sequences removed, overwritten text (CR) collapsed."),
		whole("timeoutMs", 0, 0, maxMillis, "milliseconds",
			func(t target) any { return &t.settings.Commands.TimeoutMs },
			"Run time limit of a command that names none; 0 = none."),
		text("memoryMax", "", isSize, `a number of bytes, or one with K, M, G or T after it such as "4G", or "" for none`,
			func(t target) any { return &t.settings.Commands.MemoryMax },
			"With systemd: memory limit of one command's scope; refused where it cannot be had."),
		text("cpuMax", "", isShare, `a share of one processor such as "200%", or "" for none`,
			func(t target) any { return &t.settings.Commands.CPUMax },
			"With systemd: CPU limit of one command's scope; refused where it cannot be had."),
		{
			name: "pidsMax", fallback: int64(0), max: maxPids, check: func(v any) bool { return v.(int64) != 1 }, // the shell alone is one
			allowed: fmt.Sprintf("a whole number of processes, 2 to %d, or 0 for none", maxPids),
			field:   func(t target) any { return &t.settings.Commands.PidsMax },
			doc:     "With systemd: limit of processes and threads of one command's scope; 0 = none; refused where it cannot be had.",
		},
	},
}

var ownerKeys = section{
	name: "owners",
	doc:  "What happens when a host or a producer is lost.",
	keys: []definition{
		whole("graceMs", 28800000, 0, maxMillis, "milliseconds",
			func(t target) any { return &t.settings.Owners.GraceMs },
			"After a host is lost its live tasks are cancelled then; owner, finished tasks and notices stay resumable until [retention]."),
		whole("producerGraceMs", 60000, 0, maxMillis, "milliseconds",
			func(t target) any { return &t.settings.Owners.ProducerGraceMs },
			"How long a lost outside producer may come back for its tasks."),
	},
}

var retentionKeys = section{
	name: "retention",
	doc:  "How much of what has finished is kept, oldest out first; never what lives, has leftovers, or has a notice for an owner that may come back.",
	keys: []definition{
		whole("days", 7, 1, maxDays, "days",
			func(t target) any { return &t.settings.Retention.Days },
			"Age of finished tasks, and of owners without host and tasks."),
		whole("tasks", 1000, 1, maxSafe, "tasks",
			func(t target) any { return &t.settings.Retention.Tasks },
			"Number of finished tasks."),
		whole("bytes", 1073741824, 1, maxSafe, "bytes",
			func(t target) any { return &t.settings.Retention.Bytes },
			"Disk for the output of finished tasks."),
	},
}

var daemonKeys = section{
	name: "daemon",
	doc:  "The daemon's own life.",
	keys: []definition{
		choice("onStop", "auto", []string{"cancel", "keep", "auto"},
			func(t target) any { return &t.settings.Daemon.OnStop },
			"On SIGTERM \"cancel\" ends live tasks and leftovers, \"keep\" leaves them to the next daemon, \"auto\" keeps under systemd and cancels else."),
		whole("idleExitMs", 1800000, 0, maxMillis, "milliseconds",
			func(t target) any { return &t.settings.Daemon.IdleExitMs },
			"An autostarted daemon with no task and no client ends after this; 0 = never."),
	},
}

var acpKeys = section{
	name: "acp",
	doc:  "The proxy between an editor and an agent.",
	keys: []definition{
		choice("showWake", "auto", []string{"auto", "user", "agent", "notice", "off"},
			func(t target) any { return &t.settings.ACP.ShowWake },
			"What the editor shows of a turn that a notice opened."),
		whole("maxDrains", 8, 0, maxDrains, "turns",
			func(t target) any { return &t.settings.ACP.MaxDrains },
			"Turns in a row that bring notices before a held answer is given."),
		whole("agentGraceMs", 5000, 0, maxMillis, "milliseconds",
			func(t target) any { return &t.settings.ACP.AgentGraceMs },
			"How long an agent whose input was closed may take to end."),
		whole("wakePermissionMs", 120000, 0, maxMillis, "milliseconds",
			func(t target) any { return &t.settings.ACP.WakePermissionMs },
			"How long a permission request of a wake may stay unanswered."),
	},
}

var logKeys = section{
	name: "log",
	doc:  "What the daemon says on stderr.",
	keys: []definition{
		choice("level", "info", []string{"debug", "info", "warn", "error"},
			func(t target) any { return &t.settings.Log.Level },
			"The least that is logged."),
		choice("format", "auto", []string{"auto", "tint", "json"},
			func(t target) any { return &t.settings.Log.Format },
			"\"auto\" is tint on a terminal and JSON else."),
	},
}

var policyKeys = section{
	name: "policy", array: true,
	doc: "A program is asked about tool calls: JSON in and out; exit status 2 = deny, with the reason on stderr; no answer, any other failure or a time-out = deny.",
	keys: []definition{
		text("scope", "/", isScope, `a scope path such as "/" or "/review"`,
			func(t target) any { return &t.policy.Scope },
			"Asked for owners at and below this scope."),
		text("tools", []string{}, areTools, "a list of "+oneOf(taskTools)+", each once; empty = all",
			func(t target) any { return &t.policy.Tools },
			"Which tools it is asked about; empty = all."),
		choice("stage", "pre", []string{"pre", "post"},
			func(t target) any { return &t.policy.Stage },
			"\"pre\" before a call, \"post\" with its result."),
		text("run", nil, isCommand, "a list of texts that begins with the absolute path of a program",
			func(t target) any { return &t.policy.Run },
			"Program and arguments; must be given."),
		whole("timeoutMs", 5000, 1, maxMillis, "milliseconds",
			func(t target) any { return &t.policy.TimeoutMs },
			"How long it may take."),
	},
}

func isProgram(v any) bool {
	s := v.(string)
	return s != "" && (filepath.IsAbs(s) || !strings.ContainsRune(s, '/'))
}

func isScope(v any) bool {
	_, err := scope.Parse(v.(string))
	return err == nil
}

func areTools(v any) bool {
	list := v.([]string)
	for i, name := range list {
		if !slices.Contains(taskTools, name) || slices.Contains(list[:i], name) {
			return false
		}
	}
	return true
}

func isCommand(v any) bool {
	list := v.([]string)
	return len(list) > 0 && filepath.IsAbs(list[0])
}
