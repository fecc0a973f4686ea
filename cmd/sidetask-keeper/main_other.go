//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "sidetask-keeper: needs Linux (subreapers, pidfds)")
	os.Exit(1)
}
