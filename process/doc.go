// Package process is the command producer: it starts shell commands under
// keepers, is told of their ends, adopts what a daemon before it left running,
// and reads, cleans and feeds what they print and take (ARCHITECTURE, decisions
// 1 to 3 and 11; BEHAVIOUR section 24).
//
// What it says to a keeper, and reads from what one left on disk, is in
// [sidetask/process/wire]; the other end is cmd/sidetask-keeper.
//
// It keeps no output and trusts no pid. It knows nothing of sockets that
// clients use, of tools or of how a text is shown; owners and statuses are the
// registry's.
package process
