package process

import (
	"bytes"
	"os"
	"testing"
)

// TestWireIsTheKeepers: process and keeper share no package, so what they say to
// each other is in both, word for word.
func TestWireIsTheKeepers(t *testing.T) {
	read := func(path, clause string) []byte {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rest, ok := bytes.CutPrefix(text, []byte(clause))
		if !ok {
			t.Fatalf("%s does not begin with %q", path, clause)
		}
		return rest
	}
	ours := read("wire.go", "package process\n")
	keepers := read("../cmd/sidetask-keeper/wire.go", "package main\n")
	if !bytes.Equal(ours, keepers) {
		t.Error("process/wire.go and cmd/sidetask-keeper/wire.go differ: copy one over the other")
	}
}
