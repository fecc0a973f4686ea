// Package config loads the TOML file, validates it as a whole, watches it, and
// puts a new one in force in one step after every subscriber agreed. It holds
// the mounts of the file and of connections in one table (CONFIG.md).
//
// It never writes the file and knows nothing of what its settings are for.
package config
