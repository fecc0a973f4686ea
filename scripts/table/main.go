// Command table makes a table of what `go test -bench` prints on stdin: what was
// measured, its yardstick in the same run, their ratio, the goal, and whether it
// was met. scripts/bench uses it.
//
// It goes by the units that benchmarks report: `ROW:COLUMN(goal≤3)`. Without a
// ROW, the row is the benchmark's. The columns `ratio` and `direct-UNIT` (the
// yardstick) have their places; any other is a figure in that unit. A goal stands
// at the figure that it is for: ≤ or <= for at most, ≥ or >= for at least.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
)

// row is one line of the table.
type row struct {
	what, measured, yardstick, ratio, goal, met string
}

var (
	benchmark = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)
	withGoal  = regexp.MustCompile(`^(.*)\(goal(≤|<=|≥|>=)([0-9.]+)\)$`)
	trouble   = regexp.MustCompile(`FAIL|SKIP|panic`)
	usual     = regexp.MustCompile(`^((goos|goarch|pkg|cpu): .*|PASS|ok\s.*|)$`)
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

// run prints the table, and as they came the lines that are no figures.
func run(in io.Reader, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', tabwriter.Debug)
	fmt.Fprintln(table, " what\t measured\t yardstick\t ratio\t goal\t")
	bad := 0
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if trouble.MatchString(line) {
			bad++
		}
		match := benchmark.FindStringSubmatch(line)
		if match == nil {
			if !usual.MatchString(line) {
				fmt.Fprintln(os.Stderr, line)
			}
			continue
		}
		fmt.Fprintln(os.Stderr, "measured:", match[1]) // all of them take minutes
		rows, err := rowsOf(match[1], strings.Fields(match[2]))
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		for _, r := range rows {
			fmt.Fprintf(table, " %s\t %s\t %s\t %s\t %s\t %s\n", r.what, r.measured, r.yardstick, r.ratio, r.goal, r.met)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d lines tell of trouble", bad)
	}
	return nil
}

// rowsOf makes the rows of one benchmark of its figures, each a number and a unit.
func rowsOf(name string, figures []string) (rows []*row, err error) {
	byName := make(map[string]*row)
	for i := 0; i+1 < len(figures); i += 2 {
		number, unit := figures[i], figures[i+1]
		var goal, met string
		if match := withGoal.FindStringSubmatch(unit); match != nil {
			unit = match[1]
			if goal, met, err = judge(number, match[2], match[3]); err != nil {
				return nil, err
			}
		}
		what, column, named := strings.Cut(unit, ":")
		if !named {
			what, column = name, unit
		}
		r := byName[what]
		if r == nil {
			r = &row{what: what}
			byName[what] = r
			rows = append(rows, r)
		}
		cell := &r.measured
		text := number + " " + column
		if direct, ok := strings.CutPrefix(column, "direct-"); ok {
			cell, text = &r.yardstick, number+" "+direct
		} else if column == "ratio" {
			cell, text = &r.ratio, number
		}
		if *cell != "" || r.goal != "" && goal != "" { // the row has one already
			r = &row{what: what}
			rows = append(rows, r)
			cell, text = &r.measured, number+" "+column
		}
		*cell = text
		if goal == "" {
			continue
		}
		r.goal, r.met = goal+" "+column, met
		if column == "ratio" {
			r.goal = goal + "×"
		}
	}
	return rows, nil
}

// judge says whether a figure meets its goal.
func judge(number, sign, limit string) (goal, met string, err error) {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return "", "", err
	}
	l, err := strconv.ParseFloat(limit, 64)
	if err != nil {
		return "", "", err
	}
	met = "missed"
	switch sign {
	case "≤", "<=":
		goal = "≤ " + limit
		if n <= l {
			met = "met"
		}
	default:
		goal = "≥ " + limit
		if n >= l {
			met = "met"
		}
	}
	return goal, met, nil
}
