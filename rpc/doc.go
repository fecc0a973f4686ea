// Package rpc is the wire of sidetask's socket: method names, parameter and
// result types, error codes and limits. Both ends import it.
//
// It knows the standard library only, holds no behaviour but the encoding of
// its own types, and never learns how a task runs or where a socket lies.
// Field names are camelCase; times are integer milliseconds since the epoch,
// sizes are bytes.
package rpc
