package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Plain says what is wrong with JSON that came from outside in words that
// mean something outside: a model reads them, and Go's types tell it nothing.
func Plain(err error) error {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		if mismatch.Field == "" {
			return fmt.Errorf("it cannot be a %s", mismatch.Value)
		}
		return fmt.Errorf("%q cannot be a %s", mismatch.Field, mismatch.Value)
	}
	if text, ours := strings.CutPrefix(err.Error(), "json: "); ours {
		return errors.New(text)
	}
	return err
}
