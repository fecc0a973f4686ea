// Package wakeup knows the lanes: whose host is rung when a notice waits, and
// what a claim may have by the settings of the nearest mount and the budget
// (BEHAVIOUR T162 to T168, ARCHITECTURE decisions 6 and 7).
//
// It keeps nothing: notices, budgets and leases are the registry's.
package wakeup
