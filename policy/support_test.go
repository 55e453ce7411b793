package policy

import (
	"encoding/json"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// object makes a JSON object of keys and values. It does not use
// encoding/json for strings that are no UTF-8, which that would replace.
func object(pairs ...any) json.RawMessage {
	b := []byte("{")
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		key, _ := json.Marshal(pairs[i])
		value, err := json.Marshal(pairs[i+1])
		if err != nil {
			panic(err)
		}
		b = append(append(append(b, key...), ':'), value...)
	}
	return append(b, '}')
}
