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

// Part is one part of a tool use, as it was understood.
type Part struct {
	Tool  string // what rules call it: Bash, Edit, Read, WebFetch …
	Text  string // the command, path or address; … marks unknown text
	Doubt string // why it may do more than the text says
}

// partsOf lists how a tool use was understood: each command that it runs, each file
// that it names, each address. Rules are compared with these.
func partsOf(s Subject) []Part {
	u := newUse(s)
	var parts []Part
	if u.script != nil {
		if u.script.refused != "" {
			return []Part{{Tool: "Bash", Text: u.command, Doubt: u.script.refused}}
		}
		for _, c := range u.script.calls {
			parts = append(parts, Part{Tool: "Bash", Text: show(c.words), Doubt: c.doubt})
		}
		for _, why := range u.script.doubts {
			parts = append(parts, Part{Tool: "Bash", Doubt: why})
		}
	}
	for _, f := range u.files {
		tool := "Read"
		if f.write {
			tool = "Edit"
		}
		parts = append(parts, Part{Tool: tool, Text: show([]word{f.path})})
	}
	for _, address := range u.urls {
		host, ok := hostOf(address)
		part := Part{Tool: "WebFetch", Text: host}
		if !ok {
			part.Doubt = "the address is ambiguous"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		parts = append(parts, Part{Tool: u.Tool, Doubt: u.doubt})
	}
	return parts
}
