// Package config loads the TOML file, validates it as a whole, watches it, and
// puts a new one in force in one step after every subscriber agreed. It holds
// the mounts of the file and of connections in one table (CONFIG.md).
//
// Every key is defined once, in keys.go; errors, the commented file of `config
// init`, docs/config.md and the listing with origins come from there. On the
// way from a file to settings in force: read.go reads it whole, position.go
// finds where its keys stand, decode.go checks each value, resolve.go fills
// the gaps, reload.go asks and swaps. watch.go says when.
//
// It never writes the file and knows nothing of what its settings are for.
package config
