package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"sidetask/scope"
)

// Overrides are the settings that a connection gives with the mount that it
// attaches; nil = inherited.
type Overrides struct {
	WaitTimeoutMs       *int64
	MaxWaitTimeoutMs    *int64
	CompletionDelivery  *string
	MaxConsecutiveWakes *int64
}

// said are the overrides by key, each checked as in the file.
func (o Overrides) said(at scope.Path) (map[string]effective, error) {
	values := make(map[string]any)
	for name, p := range map[string]*int64{waitKey: o.WaitTimeoutMs, capKey: o.MaxWaitTimeoutMs, wakesKey: o.MaxConsecutiveWakes} {
		if p != nil {
			values[name] = *p
		}
	}
	if o.CompletionDelivery != nil {
		values[deliveryKey] = *o.CompletionDelivery
	}
	said := make(map[string]effective, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		def, _ := mountKeys.key(name)
		value, ok := def.accept(values[name])
		if !ok {
			return nil, fmt.Errorf("%s (%s) must be %s", name, show(values[name], nil), def.allowed)
		}
		said[name] = effective{value: value, origin: fromConnection, scope: at}
	}
	return said, nil
}

// ParseOverrides reads the settings of mount/attach from JSON, as strictly as
// a table of the file: an unknown key or a value that is not allowed is an
// error that says what is. Nothing and null are no overrides.
func ParseOverrides(raw []byte) (Overrides, error) {
	var o Overrides
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return o, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return o, errors.New("settings must be an object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return o, errors.New("settings must be one object")
	}
	known := slices.DeleteFunc(mountKeys.names(), func(name string) bool { return name == enabledKey })
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		def, _ := mountKeys.key(name)
		if !slices.Contains(known, name) {
			wrong = append(wrong, unknown("key", name, "settings", known))
			continue
		}
		value := fromJSON(values[name])
		if value == nil { // BEHAVIOUR T105: null is absent
			continue
		}
		typed, ok := def.accept(value)
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s (%s) must be %s", name, show(value, nil), def.allowed))
			continue
		}
		o.set(name, typed)
	}
	if len(wrong) > 0 {
		return Overrides{}, errors.New(strings.Join(wrong, "; "))
	}
	return o, nil
}

func (o *Overrides) set(name string, value any) {
	n, _ := value.(int64)
	switch name {
	case waitKey:
		o.WaitTimeoutMs = &n
	case capKey:
		o.MaxWaitTimeoutMs = &n
	case wakesKey:
		o.MaxConsecutiveWakes = &n
	case deliveryKey:
		s := value.(string)
		o.CompletionDelivery = &s
	}
}

// fromJSON gives a number as TOML has it.
func fromJSON(value any) any {
	number, ok := value.(json.Number)
	if !ok {
		return value
	}
	if n, err := number.Int64(); err == nil {
		return n
	}
	f, err := number.Float64()
	switch {
	case err != nil:
		return number.String()
	case f == math.Trunc(f) && math.Abs(f) <= maxSafe: // 1e3: JSON has one kind of number
		return int64(f)
	}
	return f
}
