// Package registry is the truth about tasks and their owners: admission, ids,
// access, reads, waits, kills, settlement, disposal, budgets, leases and
// listeners (BEHAVIOUR sections 1 to 13).
//
// It declares what it needs, a [Store] and [Producer]s, and knows no process,
// socket, database or text. Every transition is one commit of the store, made
// before listeners run or the call answers; a failed commit changes nothing.
package registry
