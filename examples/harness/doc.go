// Package harness holds a program that hosts an agent's session over the socket, in
// Python: harness.py. It is to be read and copied; its test runs it against a real
// daemon. It knows of sidetask what docs/api.md says.
package harness
