// Package producer has the tasks of outside producers: clients of the socket
// that register a task and report on it. What they append is kept in a spool,
// so that it outlives their connection and the daemon.
//
// It knows no wire: a connection is a [Conn]. Commands are not its business.
package producer
