package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"sidetask/rpc"
)

// Whatever the data are, and in whatever way an answer is written, it is what
// the general decoder makes of it.
func TestSplitTail(t *testing.T) {
	pieces := []string{"a", "é", "\n", "\r\n", `"`, `\`, afterData, `\` + afterData, "\x1b[31m", "\x00", "\u2028", "/", "line\n"}
	rapid.Check(t, func(t *rapid.T) {
		want := rpc.TaskTailResult{
			Data:     rapid.StringOfN(rapid.SampledFrom([]rune("x\n\\\"\t😀")), 0, 9, -1).Draw(t, "start"),
			Encoding: "utf-8", Offset: 3, Next: 1 << 40, Lost: 7, EOF: rapid.Bool().Draw(t, "eof"),
		}
		for _, piece := range rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "pieces") {
			want.Data += piece
		}
		var written bytes.Buffer
		encoder := json.NewEncoder(&written)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(want); err != nil {
			t.Fatal(err)
		}
		spaced := bytes.ReplaceAll(written.Bytes(), []byte(`{"data":`), []byte(`{ "data" : `))
		for _, raw := range [][]byte{bytes.TrimSpace(written.Bytes()), spaced} {
			part, err := splitTail(raw)
			if err != nil {
				t.Fatal(err)
			}
			data, err := part.bytes()
			if err != nil || string(data) != want.Data || part.empty() != (want.Data == "") {
				t.Fatalf("data %q, %v; want %q", data, err, want.Data)
			}
			got := part.TaskTailResult
			got.Data = want.Data
			if got != want {
				t.Fatalf("%+v, want %+v", got, want)
			}
		}
	})
}

// What cannot be shown as text comes in base64.
func TestSplitTailBytes(t *testing.T) {
	part, err := splitTail([]byte(`{"data":"/wA=","encoding":"base64","offset":0,"next":2,"lost":0,"eof":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := part.bytes(); err != nil || string(data) != "\xff\x00" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestSplitTailBroken(t *testing.T) {
	for _, raw := range []string{``, `{"data":"`, `{"data":"","encoding":"utf-8"`, `[]`, `{"data":`} {
		if part, err := splitTail([]byte(raw)); err == nil {
			t.Errorf("%q: %+v", raw, part)
		}
	}
}
