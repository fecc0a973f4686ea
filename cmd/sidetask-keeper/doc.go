// Command sidetask-keeper is the small parent process of one command task
// (ARCHITECTURE, decisions 1 and 3). It is the command's parent and the
// subreaper of everything below, copies its output into bounded segment files,
// enforces time limit and grace, records the exit, and ends the whole tree when
// asked. It needs no daemon for that, and outlives it. Where the command needs one
// that has crashed, the keeper starts it, outside of that tree.
//
// The daemon starts it with one end of a socket pair as descriptor 3 and sends
// it one job there, with the task's locked file; a spare keeper waits for its
// job and ends when the daemon's end closes. People do not start it.
//
// It knows nothing of owners, statuses or text. Standard library,
// golang.org/x/sys, spool and process/wire only: there is one such process per
// command. (ARCHITECTURE's table has spool alone; but then all that it says to a
// daemon would be written down twice.)
//
// # Its size
//
// An idle keeper has 650 KiB of memory to itself (`scripts/bench commands`). The Go
// runtime of a program that only pauses has 450 KiB, a static C program 44 KiB, one
// without a C library 12 KiB (linux/amd64, Go 1.26, glibc; several of each run at
// once, so what they share is not counted). So an idle keeper of 100 KiB is none in
// Go, and would cost
//
//   - a second toolchain (musl, to link statically) for each platform: no
//     `go install` any more, and a binary to build and ship for each;
//   - packages spool and process/wire once more in C, held to the ones here by tests;
//   - a parser of jobs and requests, and a walk of /proc, without bounds checks, in
//     the one program whose death loses a command's true end.
//
// One keeper for several commands would cost less memory, too, and its death would
// lose them all. For 3000 commands it is 1.9 GiB against 0.1; for the dozen that an
// agent runs, 8 MiB. So it stays in Go.
//
// A keeper that copies much has 1.6 MiB, however much it is (6 GB tried): a
// collection costs it 450 KiB for good, so one is made only every 256 MiB of output
// (tidy), and none in the keeper of a command that says little.
package main
