// Package wire is what a daemon and a keeper say to each other, and what a
// keeper leaves on disk: the messages and records, and the one line as which
// each is written. Both ends import it, and the client that asks the keeper of
// the task in which it runs.
//
// It knows the standard library only, since there is a keeper for each command,
// and holds no behaviour but the encoding: it opens no socket and no file, and
// never learns who asks, or what becomes of an answer.
//
// A line is not JSON, since encoding/json builds its tables for each type at the
// first use: in a process that says four things in its life, that was a fourth of
// its start.
package wire
