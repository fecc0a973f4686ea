// Package sidetask holds nothing but the tests that hold the house together:
// which room may import which. The programs are in cmd.
package sidetask
