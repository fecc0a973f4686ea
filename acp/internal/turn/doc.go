// Package turn decides when an agent gets a turn: one [Machine] per session
// takes what happened and says what to do (ACP.md §4). It is synchronous and
// pure: it does no input or output, reads no clock, starts nothing.
//
// The invariant that all of it serves: a prompt of ours is never at the agent
// beside another one.
package turn
