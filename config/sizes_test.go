package config

import "testing"

// TestSizes: what a text of memoryMax or cpuMax comes to, and which are refused.
func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "4G": 4 << 30, "1048576": 1 << 20, "1K": 1 << 10, "8388607T": 8388607 << 40,
		"8388608T": -1, "4GB": -1, "4g": -1, "-1": -1, "+1": -1, "0": -1, "G": -1, "99999999999999999999": -1,
	} {
		if got := (Commands{MemoryMax: text}).MemoryBytes(); got != max(want, 0) || isSize(text) != (want >= 0) {
			t.Errorf("memoryMax %q: %d, allowed %v; want %d", text, got, isSize(text), want)
		}
	}
	for text, want := range map[string]int64{
		"": 0, "1%": 1, "200%": 200, "999999%": 999_999,
		"1000000%": -1, "2": -1, "%": -1, "0%": -1, "01%": -1, "-1%": -1, "+1%": -1, "1.5%": -1,
	} {
		if got := (Commands{CPUMax: text}).CPUPercent(); got != max(want, 0) || isShare(text) != (want >= 0) {
			t.Errorf("cpuMax %q: %d, allowed %v; want %d", text, got, isShare(text), want)
		}
	}
}
