package rpc

import "encoding/json"

// ConfigState is what the daemon says of its configuration.
type ConfigState struct {
	Path    string   `json:"path"`
	Present bool     `json:"present"`           // false: no file, the defaults are in force
	Watch   string   `json:"watch"`             // "inotify", "polling (reason)"
	Errors  []string `json:"errors"`            // of the last load, if it was refused
	Changed int64    `json:"changed,omitempty"` // when the settings in force were loaded
}

// Setting is one resolved setting with where it comes from: "default",
// "file:line", "inherited from /x".
type Setting struct {
	Key    string          `json:"key"` // mounts."/review".waitTimeoutMs
	Value  json.RawMessage `json:"value"`
	Origin string          `json:"origin"`
}

// ConfigGetResult is the result of config/get.
type ConfigGetResult struct {
	State    ConfigState `json:"state"`
	Settings []Setting   `json:"settings"`
}

// ConfigReloadResult is the result of config/reload: whether anything
// changed, or why the file was refused (then Errors is not empty).
type ConfigReloadResult struct {
	Changed bool     `json:"changed"`
	Errors  []string `json:"errors"`
}

// ConfigChanged is the notification config/changed.
type ConfigChanged struct {
	State ConfigState `json:"state"`
}

// DaemonStatus is the result of daemon/status.
type DaemonStatus struct {
	PID        int         `json:"pid"`
	Version    string      `json:"version"`
	Executable string      `json:"executable"`
	Socket     string      `json:"socket"`
	StateDir   string      `json:"stateDir"`
	StartedAt  int64       `json:"startedAt"`
	UptimeMs   int64       `json:"uptimeMs"`
	Supervisor string      `json:"supervisor"` // "systemd", "autostart", "foreground"
	Tasks      TaskCounts  `json:"tasks"`
	Owners     int         `json:"owners"`
	Clients    []Client    `json:"clients"`
	RSSBytes   int64       `json:"rssBytes"`
	DiskBytes  int64       `json:"diskBytes"` // of the spool
	Config     ConfigState `json:"config"`
	Warnings   []string    `json:"warnings"`
}

// TaskCounts counts tasks by what they do.
type TaskCounts struct {
	Running   int `json:"running"`
	Stopping  int `json:"stopping"`
	Finished  int `json:"finished"`
	Leftovers int `json:"leftovers"` // finished tasks with processes left
}

// Client is one connection.
type Client struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	PID     int    `json:"pid,omitempty"`
	Notes   string `json:"notes,omitempty"` // what a proxy decided for its editor
}

// DaemonStop is the parameter of daemon/stop. KeepTasks absent means as
// daemon.onStop says.
type DaemonStop struct {
	KeepTasks *bool `json:"keepTasks,omitempty"`
}

// DaemonStopped is the result of daemon/stop: what becomes of the tasks. (A daemon
// of before does not say.)
type DaemonStopped struct {
	KeepTasks *bool `json:"keepTasks,omitempty"`
}

// Exit statuses of a daemon that did not come up. The unit file names them, too.
const (
	ExitUnavailable = 69 // EX_UNAVAILABLE
	ExitBusy        = 75 // EX_TEMPFAIL: another daemon has the state's lock
	ExitConfig      = 78 // EX_CONFIG: the configuration is refused
)

// DaemonRestart is the parameter of daemon/restart: re-exec in place, of the
// given binary where one is named.
type DaemonRestart struct {
	Executable string `json:"executable,omitempty"`
}
