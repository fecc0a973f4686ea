// Package scripts has the project's scripts, and as its only Go code the tests
// that hold the whole house together: which room may import which.
package scripts
