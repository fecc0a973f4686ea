package server

import (
	"encoding/json"
	"errors"

	"sidetask/config"
	"sidetask/rpc"
)

func configState(s config.State) rpc.ConfigState {
	out := rpc.ConfigState{Path: s.Path, Present: s.Present, Watch: s.Watch, Errors: s.Errors}
	if !s.Changed.IsZero() {
		out.Changed = s.Changed.UnixMilli()
	}
	if out.Errors == nil {
		out.Errors = []string{}
	}
	return out
}

func configGet(c *call, _ struct{}) (any, error) {
	live := c.conn.server.engine.Live
	out := rpc.ConfigGetResult{State: configState(live.State()), Settings: []rpc.Setting{}}
	for _, s := range live.Settings() {
		value, err := json.Marshal(s.Value)
		if err != nil {
			return nil, err
		}
		out.Settings = append(out.Settings, rpc.Setting{Key: s.Key, Value: value, Origin: s.Origin})
	}
	return out, nil
}

// configReload loads the file now; a file that is refused is a result, not an error.
func configReload(c *call, _ struct{}) (any, error) {
	if err := c.waits(); err != nil {
		return nil, err
	}
	changed, err := c.conn.server.engine.Live.Reload(c.ctx)
	var refused config.Errors
	if errors.As(err, &refused) {
		return rpc.ConfigReloadResult{Errors: refused.Lines()}, nil
	}
	if err != nil && c.ctx.Err() == nil {
		return rpc.ConfigReloadResult{Errors: []string{err.Error()}}, nil
	}
	if err != nil {
		return nil, err
	}
	return rpc.ConfigReloadResult{Changed: changed, Errors: []string{}}, nil
}

func configSubscribe(c *call, _ struct{}) (any, error) {
	conn := c.conn
	if err := conn.hold(); err != nil {
		return nil, err
	}
	conn.stay()
	live := conn.server.engine.Live
	conn.atEnd(live.OnState(func(s config.State) {
		conn.raise("config", rpc.NotifyConfigChanged, rpc.ConfigChanged{State: configState(s)})
	}))
	return rpc.ConfigChanged{State: configState(live.State())}, nil
}

func daemonStatus(c *call, _ struct{}) (any, error) {
	status, err := c.conn.server.engine.Daemon.Status(c.ctx)
	if err != nil {
		return nil, err
	}
	status.Clients = c.conn.server.Clients()
	status.Config = configState(c.conn.server.engine.Live.State())
	return status, nil
}

// daemonStop answers first: who asked learns that it was heard.
func daemonStop(c *call, p rpc.DaemonStop) (any, error) {
	daemon := c.conn.server.engine.Daemon
	keep := daemon.KeepsTasks(p.KeepTasks)
	c.after = append(c.after, func() { daemon.Stop(keep) })
	return rpc.DaemonStopped{KeepTasks: &keep}, nil
}

func daemonRestart(c *call, p rpc.DaemonRestart) (any, error) {
	if err := c.waits(); err != nil {
		return nil, err
	}
	daemon := c.conn.server.engine.Daemon
	if err := daemon.CheckRestart(c.ctx, p.Executable); err != nil {
		return nil, err
	}
	c.after = append(c.after, func() { daemon.Restart(p.Executable) })
	return rpc.Empty{}, nil
}
