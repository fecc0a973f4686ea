package registry

import (
	"context"
	"regexp"
)

// Producer does the work of tasks and keeps their output. All calls come from
// outside the registry's lock and may come at the same time. A producer tells
// of ends with [Registry.Settle].
type Producer interface {
	// Cancel asks the work to stop and returns at once; it is called again for
	// each further kill. An error is "the cancel threw" (BEHAVIOUR T40, T75).
	// reason is nil where none was given.
	Cancel(ctx context.Context, row Row, reason *string) error

	// Read gives the text of the task from the cursor on, and never blocks for
	// output to come. A final-output task gives "" while live.
	Read(row Row, req ReadRequest) (Reading, error)

	// Tail gives raw bytes from an offset on: an independent reader.
	// With Follow it waits for a byte or the end.
	Tail(ctx context.Context, row Row, req TailRequest) (Tailed, error)

	// Match returns nil as soon as the cleaned text from the cursor on matches,
	// else the error of ctx. It costs nothing while no output comes.
	Match(ctx context.Context, row Row, from int64, until *regexp.Regexp) error

	// Write gives input to a task that takes it.
	Write(ctx context.Context, row Row, req WriteRequest) (int, error)

	// EndLeftovers ends what an ended task left running, and says how many
	// processes were asked to end. It does not wait for the grace.
	EndLeftovers(row Row) (int, error)

	// Facts tells what is known now of each of the tasks. It must be cheap, for
	// thousands too, and may wait for none of them longer than for all.
	Facts(rows ...Row) []Facts

	// Remove deletes everything kept of an ended task and says how many bytes
	// were freed.
	Remove(row Row) (int64, error)
}

// ReadRequest says what to read.
type ReadRequest struct {
	From int64 // cursor: an offset of the raw output
	// Keep is the most bytes of text that the caller can use; of a longer text
	// its end is kept. 0 = everything (then the producer bounds nothing).
	Keep int64
	// Ended: the task is terminal, so nothing incomplete is held back at the end.
	Ended bool
}

// Reading is the text of a read.
type Reading struct {
	Text    string
	LeftOut int64 // bytes of text cut off in front of Text, because of Keep
	Next    int64 // the cursor after this reading
}

// TailRequest says what to give of the raw output.
type TailRequest struct {
	Offset   int64 // FromEnd: bytes before the end
	FromEnd  bool
	MaxBytes int
	Follow   bool
	Stream   string // "" or "stdout", or "stderr" where kept apart
	// Ended is closed once the end of the task has been committed. A look at it
	// before reading says whether what is read is all.
	Ended <-chan struct{}
}

// Tailed is a piece of raw output.
type Tailed struct {
	Data   []byte
	Offset int64 // of the first byte of Data
	Next   int64
	Lost   int64 // bytes between the asked offset and Offset that are gone
	EOF    bool  // ended, no leftovers, all read
}

// WriteRequest is input for a task.
type WriteRequest struct {
	Data []byte
	EOF  bool
	Cols int // resize, where Cols and Rows are positive
	Rows int
}
