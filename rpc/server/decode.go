package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"

	"sidetask/rpc"
)

// shape is what decode must know of a parameter type: encoding/json would take
// "ID" for the field "id", and of both the last.
type shape struct {
	fields map[string]*shape // by their exact names; nil where the members are no fields of ours
	whole  bool              // an integer, which encoding/json takes in one of its spellings only
}

// shapeOf reads the field names of a type once, for all calls.
func shapeOf(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 {
		return &shape{whole: true}
	}
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	s := &shape{fields: make(map[string]*shape)}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && !field.Anonymous {
			s.fields[name] = shapeOf(field.Type)
		}
	}
	return s
}

// whole spells a whole number as encoding/json wants it: for JSON, and for those who
// have no other type of number, 5.0 and 5e0 are 5. What is none stays as it is.
func whole(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') || !bytes.ContainsAny(raw, ".eE") {
		return raw
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		return raw
	}
	return strconv.AppendInt(nil, int64(n), 10)
}

// exact gives an object without the members that are a field's name in other
// letters, and its whole numbers as [whole] spells them, and whether that changed
// anything; what is no object as it is. An owner's name that is
// there and says nothing is refused: a host whose variable was empty must not
// become the operator.
func (s *shape) exact(raw json.RawMessage) (exact json.RawMessage, changed bool, err error) {
	if s != nil && s.whole {
		spelled := whole(raw)
		return spelled, !bytes.Equal(spelled, raw), nil
	}
	var members map[string]json.RawMessage
	if s == nil || json.Unmarshal(raw, &members) != nil || members == nil {
		return raw, false, nil // decoding says what is wrong with it
	}
	for name, value := range members {
		inner, known := s.fields[name]
		switch {
		case !known && s.folds(name):
			delete(members, name)
			changed = true
		case known && (name == "token" || name == "session") && (string(value) == `""` || string(value) == "null"):
			return nil, false, rpc.Errorf(rpc.CodeInvalidParams, "invalid params: %q must not be empty where it is given", name)
		case inner != nil:
			cleaned, inside, err := inner.exact(value)
			if err != nil {
				return nil, false, err
			}
			changed = changed || inside
			members[name] = cleaned
		}
	}
	if !changed {
		return raw, false, nil
	}
	exact, err = json.Marshal(members)
	return exact, true, err
}

func (s *shape) folds(name string) bool {
	for known := range s.fields {
		if strings.EqualFold(name, known) {
			return true
		}
	}
	return false
}

// decode reads the parameters of a call by their exact names.
func decode[T any](c *call, s *shape) (T, error) {
	var params T
	if c.params == nil {
		return params, nil
	}
	if c.params[0] != '{' {
		return params, rpc.Errorf(rpc.CodeInvalidParams, "invalid params: must be an object")
	}
	raw, _, err := s.exact(c.params)
	if err != nil {
		return params, err
	}
	if err := json.Unmarshal(raw, &params); err != nil {
		var mismatch *json.UnmarshalTypeError
		if errors.As(err, &mismatch) {
			return params, rpc.Errorf(rpc.CodeInvalidParams, "invalid params: %q cannot be a %s", wireName(mismatch.Field), mismatch.Value)
		}
		return params, rpc.Errorf(rpc.CodeInvalidParams, "invalid params: %v", err)
	}
	return params, nil
}

// wireName takes the names of embedded Go structs from the path of a field:
// those begin with a capital, ours never.
func wireName(path string) string {
	for path != "" && path[0] >= 'A' && path[0] <= 'Z' {
		_, path, _ = strings.Cut(path, ".")
	}
	return path
}

// optional is a JSON value that may be absent; null counts as absent.
func optional(raw json.RawMessage) any {
	if raw == nil || string(raw) == "null" {
		return nil
	}
	return raw
}
