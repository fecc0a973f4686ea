package main

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	"sidetask/render"
)

// printRows prints rows as data: in columns on a terminal, for a script with a
// tab between cells and nothing cut. On a terminal that is too narrow, rows are
// wrapped; if they are to be cut, one row is one line.
func (p *program) printRows(rows [][]string, cut bool) error {
	if _, isTerminal := terminal(p.stdout); isTerminal {
		columns := width(p.stdout)
		lines := table(columns, rows)
		for i, line := range lines {
			if cut && columns > 0 {
				line = displaywidth.TruncateString(line, columns, "…")
			}
			lines[i] = line + "\n"
		}
		return p.print("%s", strings.Join(lines, ""))
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = render.OneLine(cell) // a tab or newline within a cell is a space
		}
		if err := p.print("%s\n", strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return nil
}

// columns is how many the terminal has that stdout is: 0 where it is none, and 1
// for one that does not know its size, which is narrow.
func (p *program) columns() int {
	if _, isTerminal := terminal(p.stdout); isTerminal {
		return max(width(p.stdout), 1)
	}
	return 0
}

// widths are those of the columns: of their widest cells. It makes each cell one line.
func widths(rows [][]string) []int {
	var list []int
	for _, row := range rows {
		for i := range row {
			row[i] = render.OneLine(row[i])
			if i == len(list) {
				list = append(list, 0)
			}
			list[i] = max(list[i], displaywidth.String(row[i]))
		}
	}
	return list
}

// between is what stands between two columns.
const between = 2

// needed is how wide a table is with nothing cut.
func needed(rows [][]string) int {
	sum := -between
	for _, w := range widths(rows) {
		sum += w + between
	}
	return sum
}

// table puts rows into columns as wide as their widest cell. The last column
// takes what the terminal has left (columns 0: all that it needs).
func table(columns int, rows [][]string) []string {
	each := widths(rows)
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		var b strings.Builder
		used := 0
		for i, cell := range row {
			if i == len(row)-1 {
				if columns > 0 {
					cell = displaywidth.TruncateString(cell, max(columns-used, 8), "…")
				}
				b.WriteString(cell)
				break
			}
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", each[i]-displaywidth.String(cell)+between))
			used += each[i] + between
		}
		lines = append(lines, b.String())
	}
	return lines
}
