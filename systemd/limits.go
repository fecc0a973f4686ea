package systemd

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Limits are what one command, with all its descendants, may use ([commands]
// memoryMax, cpuMax, pidsMax). 0 = no limit.
type Limits struct {
	Memory int64 // bytes
	CPU    int64 // hundredths of one processor: 200 is two whole ones
	PIDs   int64 // processes and threads
}

// Any says whether anything is limited.
func (l Limits) Any() bool { return l != Limits{} }

var (
	memoryForm = regexp.MustCompile(`^([0-9]{1,18})([KMGT]?)$`)
	cpuForm    = regexp.MustCompile(`^([1-9][0-9]{0,6})%$`)
)

// ParseLimits reads the settings as systemd writes them: memory in bytes or with
// K, M, G or T (powers of 1024), processor time in percent of one processor. "" and 0
// are no limit.
func ParseLimits(memoryMax, cpuMax string, pidsMax int64) (Limits, error) {
	var l Limits
	if memoryMax != "" {
		m := memoryForm.FindStringSubmatch(memoryMax)
		if m == nil {
			return l, fmt.Errorf("memoryMax (%q) must be a number of bytes, or one with K, M, G or T after it, such as \"4G\"", memoryMax)
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		shift := map[string]uint{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[m[2]]
		if err != nil || n == 0 || n > math.MaxInt64>>shift {
			return l, fmt.Errorf("memoryMax (%q) must be at least 1 byte and less than 8 EiB", memoryMax)
		}
		l.Memory = n << shift
	}
	if cpuMax != "" {
		m := cpuForm.FindStringSubmatch(cpuMax)
		if m == nil {
			return l, fmt.Errorf("cpuMax (%q) must be a whole percentage of one processor, such as \"200%%\" for two", cpuMax)
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return l, fmt.Errorf("cpuMax (%q): %w", cpuMax, err)
		}
		l.CPU = n
	}
	if pidsMax < 0 || pidsMax == 1 {
		return l, fmt.Errorf("pidsMax (%d) must be at least 2, or 0 for no limit", pidsMax)
	}
	l.PIDs = pidsMax
	return l, nil
}
