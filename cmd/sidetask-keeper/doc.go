// Command sidetask-keeper is the small parent process of one command task
// (ARCHITECTURE, decisions 1 and 3). It is the command's parent and the
// subreaper of everything below, copies its output into bounded segment files,
// enforces time limit and grace, records the exit, and ends the whole tree when
// asked. It needs no daemon for that, and outlives it.
//
// The daemon starts it with one end of a socket pair as descriptor 3 and sends
// it one job there, with the task's locked file; a spare keeper waits for its
// job and ends when the daemon's end closes. People do not start it.
//
// It knows nothing of owners, statuses or text. Standard library and
// golang.org/x/sys only: there is one such process per command.
package main
