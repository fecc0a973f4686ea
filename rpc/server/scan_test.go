package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

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

// FuzzFrames: whatever comes, each message is JSON and in UTF-8, the input is
// read to its end, and a good request on the last line is found.
func FuzzFrames(f *testing.F) {
	for _, c := range framings {
		f.Add([]byte(c.in))
	}
	f.Add([]byte("{\"a\":\"\xff\"}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.ContainsAny(data, "\"{[") && !json.Valid(data) {
			data = append(data, '"') // an open string swallows no newline; see that it ends
		}
		in := newFrames(iotest.OneByteReader(io.MultiReader(bytes.NewReader(data), strings.NewReader("\n"+afterwards))), func() int64 { return 1 << 20 })
		var last []byte
		for {
			value, err := in.next()
			var refused *rpc.Error
			if errors.As(err, &refused) {
				last = nil
				continue
			}
			if err != nil {
				break
			}
			if !json.Valid(value) {
				t.Errorf("%q is no JSON", value)
			}
			last = value
			if _, refused := parseMessage(value); refused != nil && refused.Code != rpc.CodeInvalidRequest {
				t.Errorf("%q: %v", value, refused)
			}
		}
		// An object that is still open at the last line may take it for its own.
		if last != nil && string(last) != afterwards && !json.Valid(append(append([]byte(nil), data...), "\n"+afterwards...)) && !bytes.ContainsAny(data, "[{") {
			t.Errorf("the last message is %q after %q", last, data)
		}
	})
}
