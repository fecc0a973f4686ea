package config

import (
	"math"
	"strconv"
	"strings"
)

// maxShare bounds cpuMax, in percent.
const maxShare = 999_999

// MemoryBytes is memoryMax in bytes; 0 = none.
func (c Commands) MemoryBytes() int64 {
	n, _ := parseSize(c.MemoryMax)
	return n
}

// CPUPercent is cpuMax in percent of one processor; 0 = none.
func (c Commands) CPUPercent() int64 {
	n, _ := parseShare(c.CPUMax)
	return n
}

func isSize(v any) bool {
	_, ok := parseSize(v.(string))
	return ok
}

func isShare(v any) bool {
	_, ok := parseShare(v.(string))
	return ok
}

// parseSize reads a number of bytes below 8 EiB as systemd writes it: as it is, or
// with K, M, G or T (powers of 1024). "" is none.
func parseSize(s string) (bytes int64, ok bool) {
	if s == "" {
		return 0, true
	}
	shift := map[byte]uint{'K': 10, 'M': 20, 'G': 30, 'T': 40}[s[len(s)-1]]
	if shift > 0 {
		s = s[:len(s)-1]
	}
	n, err := strconv.ParseUint(s, 10, 63) // no sign
	if err != nil || n == 0 || n > math.MaxInt64>>shift {
		return 0, false
	}
	return int64(n) << shift, true
}

// parseShare reads a whole percentage of one processor. "" is none.
func parseShare(s string) (percent int64, ok bool) {
	if s == "" {
		return 0, true
	}
	digits, percentage := strings.CutSuffix(s, "%")
	n, err := strconv.ParseUint(digits, 10, 63) // no sign
	if !percentage || err != nil || n == 0 || n > maxShare || digits[0] == '0' {
		return 0, false
	}
	return int64(n), true
}
