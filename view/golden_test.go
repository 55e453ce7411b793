package view_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/view"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata/golden")

// sessions are whole sessions, and what is known of them before they begin.
var sessions = map[string]terret.Session{
	"long_lived": {},
	"one_shot":   {OneShot: true},
}

func load(t testing.TB, name string) []terret.Event {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	var events []terret.Event
	for line := range bytes.Lines(b) {
		var e terret.Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Data.(terret.Opaque); ok {
			t.Fatalf("%s: %s has data of another shape", name, e.Kind())
		}
		events = append(events, e)
	}
	return events
}

// TestGoldens holds what each view makes of whole sessions: each line is the number
// of the event, the name of the message and its data.
func TestGoldens(t *testing.T) {
	t.Parallel()
	for name, session := range sessions {
		for _, view_ := range view.Names() {
			var got bytes.Buffer
			v := newView(t, view_, view.Options{Session: session})
			for _, e := range load(t, name) {
				for _, m := range play(t, v, e) {
					line, err := json.Marshal(e.Seq)
					if err != nil {
						t.Fatal(err)
					}
					got.Write(line)
					got.WriteString(" " + m.Name + " ")
					got.Write(m.Data)
					got.WriteString("\n")
				}
			}
			file := filepath.Join("testdata", "golden", name+"."+view_+".txt")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
				t.Errorf("%s as %s: -want +got\n%s", name, view_, diff)
			}
		}
	}
}
