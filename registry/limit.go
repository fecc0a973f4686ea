package registry

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// outputLimit checks T11.
func outputLimit(v any) (int64, error) {
	f, text := number(v)
	if v == nil {
		return 0, nil
	}
	if !(f >= 1 && f <= 1<<53-1) || f != math.Trunc(f) {
		return 0, Errorf(KindInvalid, "invalid outputLimitBytes: expected a positive safe integer, got %s", text)
	}
	return int64(f), nil
}

// number takes a JSON value for a number (NaN where it is none) and for the
// text that an error shows.
func number(v any) (float64, string) {
	if raw, ok := v.(json.RawMessage); ok {
		var decoded any
		if err := json.Unmarshal(raw, &decoded); err != nil {
			return math.NaN(), string(raw)
		}
		v = decoded
	}
	switch n := v.(type) {
	case int:
		return float64(n), strconv.Itoa(n)
	case int64:
		return float64(n), strconv.FormatInt(n, 10)
	case float64:
		return n, jsonNumber(n)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return math.NaN(), fmt.Sprint(v)
	}
	return math.NaN(), string(text)
}

// jsonNumber writes a number as JSON does, NaN and the infinities as null.
func jsonNumber(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "null"
	}
	text, err := json.Marshal(f + 0) // -0 is written as 0
	if err != nil {
		return "null"
	}
	return string(text)
}
