package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"sidetask/rpc"
)

// FuzzScanner compares with the standard library: a value is complete exactly
// where the standard library thinks so, and nothing broken can be completed.
func FuzzScanner(f *testing.F) {
	for _, c := range framings {
		f.Add([]byte(c.in))
	}
	for _, s := range []string{`[1,-0,0.5e-7,"\ud800",true,null]`, `{"a":{},"b":[]}`, `-`, `1.`, `[1 2]`, `"\x"`, `[0123]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.TrimLeft(data, " \t\r\n")
		if len(data) == 0 {
			return
		}
		var s scanner
		n, v := s.feed(data)
		switch v {
		case complete:
			if !json.Valid(data[:n]) {
				t.Errorf("%q is taken for JSON", data[:n])
			}
		case more:
			if whole := s.end() == complete; whole != json.Valid(data) {
				t.Errorf("%q at the end of input: %v", data, whole)
			}
		case broken:
			if json.Valid(data) && bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) <= maxDepth {
				t.Errorf("%q is refused at %d", data, n)
			}
		}
		// Cut anywhere, the verdict is the same.
		var cut scanner
		m := 0
		for i := range data {
			k, w := cut.feed(data[i : i+1])
			m += k
			if w != more {
				if w != v || m != n {
					t.Errorf("%q byte by byte: %v at %d, in one %v at %d", data, w, m, v, n)
				}
				return
			}
		}
		if v != more {
			t.Errorf("%q byte by byte goes on, in one %v at %d", data, v, n)
		}
	})
}

// FuzzFrames: whatever comes, each message is JSON in UTF-8, each refusal has an
// id to answer to, and the input is read to its end.
func FuzzFrames(f *testing.F) {
	for _, c := range framings {
		f.Add([]byte(c.in))
	}
	f.Add([]byte("{\"a\":\"\xff\"}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := newFrames(iotest.OneByteReader(io.MultiReader(bytes.NewReader(data), strings.NewReader("\n"+afterwards))), func() int64 { return 1 << 20 }, nil)
		line := 0 // messages and mistakes since the stream began: it must come to an end
		for {
			value, err := in.next()
			var refused *rpc.Error
			if line++; line > len(data)+len(afterwards)+2 {
				t.Fatal("the reader goes on without end")
			}
			if errors.As(err, &refused) {
				continue
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil || !json.Valid(value) || !utf8.Valid(value) {
				t.Fatalf("%q, %v", value, err)
			}
			if m, refused := parseMessage(value); refused != nil && (refused.Code != rpc.CodeInvalidRequest || m.id == nil) {
				t.Errorf("%q: %v with id %s", value, refused, m.id)
			}
		}
	})
}
