// Package scope has scope paths ("/", "/review", "/review/strict"), their
// chains, and the layered table "entries along a chain, nearest first".
//
// A preset is a scope. The package knows neither tasks nor settings: what is
// kept in a table is the caller's business.
package scope
