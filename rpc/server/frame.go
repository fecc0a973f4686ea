package server

import (
	"bufio"
	"errors"
	"io"
	"unicode/utf8"

	"sidetask/rpc"
)

// readBuffer is the size of one connection's read buffer.
const readBuffer = 16 << 10

// frames cuts a byte stream into JSON values (API.md, Framing): one after
// another, with or without a newline between them.
type frames struct {
	in   *bufio.Reader
	max  func() int64 // limits.maxMessageBytes, asked for each message
	skip bool         // after a mistake: the next newline is where input goes on
	unit *reception   // of the message that is being read; nil = unbounded
}

func newFrames(in io.Reader, maxBytes func() int64, unit *reception) *frames {
	return &frames{in: bufio.NewReaderSize(in, readBuffer), max: maxBytes, unit: unit}
}

var errParse = rpc.Errorf(rpc.CodeParse, "not JSON; input up to the next newline is ignored")

// next gives the bytes of the next value. An [rpc.Error] of CodeParse says
// that what came is not JSON: the call after it goes on behind the next
// newline. One of CodeTooLarge ends the stream. io.EOF is the peer's end of
// input between two values.
func (f *frames) next() ([]byte, error) {
	if err := f.skipLine(); err != nil {
		return nil, err
	}
	if err := f.skipSpace(); err != nil {
		return nil, err
	}
	var (
		scan  scanner
		value = pieces{pool: f.unit.pool()}
		limit = f.max()
	)
	defer f.unit.over()
	defer value.drop()
	for {
		if f.in.Buffered() == 0 {
			f.unit.goesOn()
		}
		data, err := f.buffered()
		if err != nil {
			return f.atEnd(&scan, &value, err)
		}
		n, verdict := scan.feed(data)
		if int64(value.size+n) > limit {
			return nil, rpc.Errorf(rpc.CodeTooLarge, "message of more than %d bytes (limits.maxMessageBytes)", limit)
		}
		if err := f.unit.grows(value.size + n); err != nil {
			return nil, err
		}
		if verdict != broken {
			value.add(data[:n])
		}
		f.discard(n)
		switch verdict {
		case broken:
			f.skip = true
			return nil, errParse
		case complete:
			return f.checked(value.whole())
		}
	}
}

func (f *frames) checked(value []byte) ([]byte, error) {
	if !utf8.Valid(value) {
		f.skip = true
		return nil, errParse
	}
	return value, nil
}

// atEnd is for a stream that ended (or failed) within a value.
func (f *frames) atEnd(scan *scanner, value *pieces, err error) ([]byte, error) {
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if scan.end() == complete {
		return f.checked(value.whole())
	}
	f.skip = true
	return nil, errParse
}

// skipLine drops the rest of a line that had a mistake in it.
func (f *frames) skipLine() error {
	for f.skip {
		data, err := f.buffered()
		if err != nil {
			return err
		}
		for i, b := range data {
			if b == '\n' {
				f.skip = false
				data = data[:i+1]
				break
			}
		}
		f.discard(len(data))
	}
	return nil
}

func (f *frames) skipSpace() error {
	for {
		data, err := f.buffered()
		if err != nil {
			return err
		}
		n := 0
		for n < len(data) && space(data[n]) {
			n++
		}
		f.discard(n)
		if n < len(data) {
			return nil
		}
	}
}

// buffered gives what has been read and not been taken, at least one byte.
func (f *frames) buffered() ([]byte, error) {
	if f.in.Buffered() == 0 {
		if _, err := f.in.Peek(1); err != nil {
			return nil, err
		}
	}
	return f.in.Peek(f.in.Buffered())
}

func (f *frames) discard(n int) { _, _ = f.in.Discard(n) } // cannot fail: these bytes are buffered
