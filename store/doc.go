// Package store keeps the records of tasks and owners in one SQLite file: the
// [registry.Store] of the daemon. It decides nothing about tasks, and no
// environment variable of an owner ever reaches it.
package store
