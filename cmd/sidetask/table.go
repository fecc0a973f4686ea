package main

import (
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"sidetask/render"
)

// printRows prints rows as data: in columns on a terminal, for a script with a
// tab between cells and nothing cut.
func (p *program) printRows(rows [][]string) error {
	if _, isTerminal := terminal(p.stdout); isTerminal {
		return table(p.stdout, width(p.stdout), rows)
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

// table writes rows in columns as wide as their widest cell. The last column
// takes what the terminal has left (columns 0: all that it needs).
func table(w io.Writer, columns int, rows [][]string) error {
	var widths []int
	for _, row := range rows {
		for i := range row {
			row[i] = render.OneLine(row[i])
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], displaywidth.String(row[i]))
		}
	}
	var b strings.Builder
	for _, row := range rows {
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
			b.WriteString(strings.Repeat(" ", widths[i]-displaywidth.String(cell)+2))
			used += widths[i] + 2
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
