package registry

import (
	"context"
	"regexp"
)

// missing stands for a producer that nobody added: its tasks can be listed,
// and everything else says so.
type missing string

func (m missing) err() error {
	return Errorf(KindProducerFailed, "this daemon has no producer %q; start a version that has it", string(m))
}

func (m missing) Cancel(context.Context, Row, *string) error { return m.err() }

func (m missing) Read(Row, ReadRequest) (Reading, error) { return Reading{}, m.err() }

func (m missing) Tail(context.Context, Row, TailRequest) (Tailed, error) { return Tailed{}, m.err() }

func (m missing) Match(context.Context, Row, int64, *regexp.Regexp) error { return m.err() }

func (m missing) Write(context.Context, Row, WriteRequest) (int, error) { return 0, m.err() }

func (m missing) EndLeftovers(Row) (int, error) { return 0, nil }

func (m missing) Facts(rows ...Row) []Facts { return make([]Facts, len(rows)) }

func (m missing) Remove(Row) (int64, error) { return 0, nil }
