package config

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzDecode(f *testing.F) {
	for _, s := range []string{everything, "", "{}", `{"agent": 1}`, "{\n\"agents\": {\"a\": {\"env\": [\"é\"]}},\n}", "[[[", "\xff", "{\"a\":\"\\ud800\"}", "// x\n", "{}//"} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, trusted bool) {
		got := defaults()
		d := decoder{file: "f.jsonc", text: text, place: place{base: "/base", home: "/home"}, restricted: !trusted}
		err := d.decode(&got)
		if err == nil {
			if !trusted {
				got.Rules.Deny = nil
				if diff := cmp.Diff(defaults(), got); diff != "" {
					t.Errorf("acts without trust: %s", diff)
				}
			}
			return
		}
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Fatalf("error of type %T: %v", err, err)
		}
		if lines := bytes.Count(text, []byte("\n")) + 1; e.Line < 1 || e.Line > lines || e.Column < 1 {
			t.Errorf("line %d of %d, column %d: %v", e.Line, lines, e.Column, err)
		}
		if !strings.HasPrefix(err.Error(), "f.jsonc:") || e.Message == "" || strings.Contains(err.Error(), "hujson") {
			t.Errorf("error %q", err)
		}
	})
}
