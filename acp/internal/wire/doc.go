// Package wire reads, understands and edits lines of JSON-RPC without ever
// writing them anew: it finds where a member lies and splices bytes, so that
// unknown members, number spelling, key order and white space survive.
//
// It knows JSON and JSON-RPC's envelope, and of ACP only where a session is named
// and where an update lies.
package wire
