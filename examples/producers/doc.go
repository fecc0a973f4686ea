// Package producers holds scripts that are producers of their own: outside
// programs whose work an agent or a person sees, reads, waits for and kills as
// a task, over nothing but the socket (docs/api.md). The package itself has no code;
// its tests run the scripts against a real daemon.
//
//	watch.sh LABEL COMMAND ARGS…   a stream task, in bash with socat
//	manifest.py FOLDER             a final-output task, in Python
package producers
