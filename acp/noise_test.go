package acp

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// What found no room is counted, and said as soon as somebody reads.
func TestNoiseDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		n := newNoise(w)
		_, _ = n.Write([]byte("first\n"))
		synctest.Wait() // the writer waits with it
		_, _ = n.Write(make([]byte, noiseLimit))
		_, _ = n.Write([]byte("lost\n"))
		_, _ = n.Write([]byte("lost, too\n"))
		got := make([]byte, len("first\n")+noiseLimit)
		if _, err := io.ReadFull(r, got); err != nil {
			t.Fatal(err)
		}
		done := make(chan string)
		go func() {
			rest, _ := io.ReadAll(r)
			done <- string(rest)
		}()
		synctest.Wait()
		_, _ = n.Write([]byte("last\n"))
		n.end(lastWords)
		_ = w.Close()
		rest := <-done
		if !strings.Contains(rest, " 15 bytes ") || !strings.HasSuffix(rest, "\nlast\n") {
			t.Errorf("got %q", rest)
		}
	})
}
