// Package systemd is what sidetask knows of the service manager: the listeners,
// the readiness and reload protocol, the watchdog, the journal, the control
// group that was delegated, and the unit files that `sidetask install` writes.
//
// Everything works, as nothing, where there is no systemd: a process without
// the manager's variables gets a [Service] that has no listeners, notifies
// nobody and is not supervised, and every caller may use it as it stands.
//
// It knows nothing of tasks, settings or sockets of sidetask's own, and imports
// nothing of this module.
package systemd
