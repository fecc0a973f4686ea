package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"sidetask/render"
)

// How this program talks:
//   - data goes to stdout: what a script would want, and nothing else;
//   - everything else goes to stderr as "sidetask: ...", lower case, no full stop;
//   - an error is one line of cause and one of what to do;
//   - columns, colours and redrawing only where stdout is a terminal;
//   - --json is one object with "version": 1; lists are never null, times RFC 3339 in UTC.

// jsonVersion is the "version" of every object that --json prints. It changes
// when a field changes its meaning or goes, not when one comes.
const jsonVersion = 1

// say tells the person something that is no data.
func (p *program) say(format string, args ...any) {
	text := strings.TrimRight(fmt.Sprintf(format, args...), "\n")
	for line := range strings.SplitSeq(text, "\n") {
		// An error may quote anything; a terminal must not be told to obey it.
		_, _ = fmt.Fprintf(p.stderr, "sidetask: %s\n", render.OneLine(line))
	}
}

// print writes data.
func (p *program) print(format string, args ...any) error {
	_, err := fmt.Fprintf(p.stdout, format, args...)
	return err
}

// printText writes a text of the daemon, ended by exactly one newline. It may hold
// the words and the output of a task: a terminal is not given its sequences.
func (p *program) printText(text string) error {
	if _, isTerminal := terminal(p.stdout); isTerminal {
		out := newCleaner(p.stdout)
		_, err := io.WriteString(out, text)
		return errors.Join(err, out.Close())
	}
	return p.print("%s\n", strings.TrimSuffix(text, "\n"))
}

// printJSON writes one object, indented for a person and stable for a script.
func (p *program) printJSON(v any) error {
	encoder := json.NewEncoder(p.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// terminal returns the file behind w or r if it is a terminal.
func terminal(stream any) (*os.File, bool) {
	file, ok := stream.(*os.File)
	return file, ok && term.IsTerminal(int(file.Fd()))
}

// width of the terminal that w is, or 0 for anything else.
func width(w io.Writer) int {
	file, ok := terminal(w)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// stamp is a time for JSON; "" for none.
func stamp(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// clock is a time for a person: local, with the day if it is another one.
func clock(ms int64, now time.Time) string {
	t := time.UnixMilli(ms)
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

// short is a duration for a person, two units at most.
func short(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < time.Minute:
		return strconv.FormatFloat(float64(d.Truncate(100*time.Millisecond))/float64(time.Second), 'f', 1, 64) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// size is a number of bytes for a person.
func size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	if i == 0 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[i]
}

// count is "1 task", "3 tasks", "2 processes".
func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		what += "e"
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// span is a duration as a person writes it in a flag: Go's form, days too
// ("90s", "1h30m", "7d"). It is a [pflag.Value].
type span time.Duration

func (s *span) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

// Type names the value in help.
func (s *span) Type() string { return "duration" }

// Set parses text.
func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		n *= 24 * float64(time.Hour)
		if !(n < math.MaxInt64) { // nor is it no number at all
			err = strconv.ErrRange
		}
		d = time.Duration(n)
	}
	if err != nil {
		return errors.New(`must be a duration such as "90s", "1h30m" or "7d"`)
	}
	if d < time.Millisecond { // the daemon counts in these
		return errors.New("must be at least 1ms")
	}
	*s = span(d)
	return nil
}

func (s span) ms() int64 { return time.Duration(s).Milliseconds() }
