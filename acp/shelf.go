package acp

import (
	"maps"
	"slices"

	"sidetask/acp/internal/turn"
	"sidetask/acp/internal/wire"
)

const (
	// keptLimit bounds the editor's messages that wait here behind turns of ours, and
	// also the agent's answers that do; one of each always may.
	keptLimit = 64 << 20
	// maxAgain bounds the further answers to one prompt that wait behind the first.
	maxAgain = 16
)

// keptLine is a message of the editor that waits here, or a prompt at the agent
// with the answers to it that do.
type keptLine struct {
	ref     turn.Ref
	line    []byte // nil when it has gone on
	env     wire.Envelope
	session *session
	mark    string   // for the trace, when it goes on
	id      string   // key of the request
	answer  []byte   // the agent's, held
	again   [][]byte // more answers to it: they stay behind
	tooMuch bool     // it is refused, for want of room

	size, held int // of line, of the answers
}

// waits reports whether something of it is here.
func (k *keptLine) waits() bool { return k.line != nil || k.answer != nil }

// shelf has what waits here. Reading no more of either side is no way to bound it:
// a cancel and the end of our own turn come from there.
type shelf struct {
	gaps           *wire.Gaps
	byRef          map[turn.Ref]*keptLine
	last           turn.Ref
	lines, answers int // bytes
}

func newShelf(gaps *wire.Gaps) shelf {
	return shelf{gaps: gaps, byRef: map[turn.Ref]*keptLine{}}
}

// put takes a message until the machine lets it go.
func (s *shelf) put(k *keptLine) turn.Ref {
	s.last++
	k.ref, k.size = s.last, s.gaps.Size(k.line)
	s.byRef[k.ref] = k
	s.lines += k.size
	return k.ref
}

// of gives a message by its name, nil where it is not here any more.
func (s *shelf) of(ref turn.Ref) *keptLine { return s.byRef[ref] }

// crowded reports whether a message that waits is too much.
func (s *shelf) crowded(k *keptLine) bool {
	return k.line != nil && s.lines > keptLimit && s.lines > k.size
}

// sent forgets a line that has gone on, or goes nowhere; its answer may still come.
func (s *shelf) sent(k *keptLine) {
	s.lines -= k.size
	s.gaps.Forget(k.line) // what was sent is gone from there already
	k.line, k.size = nil, 0
}

// mayWait reports whether there is room for an answer, or one more, to wait.
func (s *shelf) mayWait(k *keptLine, answer []byte) bool {
	return len(k.again) < maxAgain && (s.answers == 0 || s.answers+s.gaps.Size(answer) <= keptLimit)
}

// hold puts an answer to a message, behind those that it has.
func (s *shelf) hold(k *keptLine, answer []byte) {
	if k.answer == nil {
		k.answer = answer
	} else {
		k.again = append(k.again, answer)
	}
	size := s.gaps.Size(answer)
	k.held += size
	s.answers += size
}

// drop forgets a message and gives the answers to it.
func (s *shelf) drop(k *keptLine) (answers [][]byte) {
	s.sent(k)
	s.answers -= k.held
	if k.answer != nil {
		answers = append([][]byte{k.answer}, k.again...)
	}
	k.answer, k.again, k.held = nil, nil, 0
	delete(s.byRef, k.ref)
	return answers
}

// answered are the messages whose answer waits, in the order they came.
func (s *shelf) answered() (all []*keptLine) {
	for _, ref := range slices.Sorted(maps.Keys(s.byRef)) {
		if k := s.byRef[ref]; k.answer != nil {
			all = append(all, k)
		}
	}
	return all
}
