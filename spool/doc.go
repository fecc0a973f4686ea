// Package spool keeps the output of one task on disk, bounded: segment files,
// each named by the offset of its first byte, with the beginning and the newest
// part kept and whole segments in the middle deleted. Offsets never move, so
// there is one writer and any number of independent readers (ARCHITECTURE,
// decision 2).
//
// It knows nothing of tasks, processes or text: bytes and offsets only.
package spool
