package server

import (
	"context"
	"log/slog"
	"reflect"

	"sidetask/config"
	"sidetask/producer"
	"sidetask/registry"
	"sidetask/rpc"
	"sidetask/tools"
	"sidetask/wakeup"
)

// Daemon is what the server cannot do itself: it is the process that is
// looked at, stopped, restarted.
type Daemon interface {
	// Status is daemon/status, but for Clients and Config, which the server fills in.
	Status(ctx context.Context) (rpc.DaemonStatus, error)
	// KeepsTasks says whether tasks run on after a stop: as asked, or with nil as
	// daemon.onStop says.
	KeepsTasks(asked *bool) bool
	// Stop asks the daemon to end and returns at once.
	Stop(keepTasks bool)
	// CheckRestart says whether that binary ("" = the running one) can take over.
	CheckRestart(ctx context.Context, executable string) error
	// Restart re-executes it in place and returns at once.
	Restart(executable string)
}

// Engine is what the methods work on. All but Log are required.
type Engine struct {
	Registry *registry.Registry
	Wakeup   *wakeup.Wakeup
	Tools    *tools.Tools
	Outside  *producer.Outside
	Live     *config.Live
	Daemon   Daemon
	Version  string
	Log      *slog.Logger // nil = discard
}

// method is one entry of the table: what runs, and who may call it.
type method struct {
	handle   func(c *call) (any, error)
	params   reflect.Type // of its parameters, for the reference
	operator bool         // not for a connection that is bound to an owner
}

// handler makes a method of a function with typed parameters.
func handler[P any](f func(c *call, params P) (any, error)) method {
	params := reflect.TypeFor[P]()
	form := shapeOf(params)
	return method{params: params, handle: func(c *call) (any, error) {
		params, err := decode[P](c, form)
		if err != nil {
			return nil, err
		}
		return f(c, params)
	}}
}

// only makes a method the operator's.
func only(m method) method {
	m.operator = true
	return m
}

// methods is the table of API.md.
func methods() map[string]method {
	return map[string]method{
		rpc.MethodInitialize: handler(initialize),

		rpc.MethodOwnerRegister: handler(ownerRegister),
		rpc.MethodOwnerBind:     handler(ownerBind),
		rpc.MethodOwnerAbort:    handler(ownerAbort),
		rpc.MethodOwnerUpdate:   handler(ownerUpdate),
		rpc.MethodOwnerDispose:  handler(ownerDispose),
		rpc.MethodOwnerList:     only(handler(ownerList)),

		rpc.MethodInboxClaim:   handler(inboxClaim),
		rpc.MethodInboxAck:     handler(inboxAck),
		rpc.MethodInboxRelease: handler(inboxRelease),
		rpc.MethodInboxList:    handler(inboxList),
		rpc.MethodInboxWait:    handler(inboxWait),

		rpc.MethodTaskStart:     handler(taskStart),
		rpc.MethodTaskRegister:  handler(taskRegister),
		rpc.MethodTaskAppend:    handler(taskAppend),
		rpc.MethodTaskSettle:    handler(taskSettle),
		rpc.MethodTaskResume:    handler(taskResume),
		rpc.MethodTaskOutput:    handler(taskOutput),
		rpc.MethodTaskList:      handler(taskList),
		rpc.MethodTaskGet:       handler(taskGet),
		rpc.MethodTaskKill:      handler(taskKill),
		rpc.MethodTaskWait:      handler(taskWait),
		rpc.MethodTaskTail:      handler(taskTail),
		rpc.MethodTaskWrite:     handler(taskWrite),
		rpc.MethodTaskSubscribe: handler(taskSubscribe),
		rpc.MethodTaskPrune:     only(handler(taskPrune)),

		rpc.MethodToolsList:    handler(toolsList),
		rpc.MethodToolsPresent: handler(toolsPresent),
		rpc.MethodToolsCall:    handler(toolsCall),

		rpc.MethodMountAttach: only(handler(mountAttach)),
		rpc.MethodMountDetach: only(handler(mountDetach)),
		rpc.MethodMountList:   only(handler(mountList)),

		rpc.MethodPolicyAttach: only(handler(policyAttach)),

		rpc.MethodConfigGet:       only(handler(configGet)),
		rpc.MethodConfigReload:    only(handler(configReload)),
		rpc.MethodConfigSubscribe: only(handler(configSubscribe)),

		rpc.MethodDaemonStatus:  only(handler(daemonStatus)),
		rpc.MethodDaemonStop:    only(handler(daemonStop)),
		rpc.MethodDaemonRestart: only(handler(daemonRestart)),
	}
}
