// Package daemon wires the rooms together and is their life: start, signals,
// reload, retention, idle exit, drain, restart in place. It is the only room
// that knows all the others, and holds no rule about tasks of its own.
package daemon
