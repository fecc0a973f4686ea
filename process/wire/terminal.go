package wire

import "fmt"

// maxCells bounds a terminal's columns and rows.
const maxCells = 10_000

// CheckSize says what is wrong with the size of a terminal.
func CheckSize(cols, rows int) error {
	if cols < 1 || rows < 1 || cols > maxCells || rows > maxCells {
		return fmt.Errorf("expected 1 to %d columns and rows, got %d and %d", maxCells, cols, rows)
	}
	return nil
}
