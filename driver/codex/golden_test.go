package codex

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

var update = flag.Bool("update", false, "write the golden files anew")

// play feeds a recording to a translator, as a process does.
func play(t *testing.T, recording []byte) []terret.Event {
	t.Helper()
	tr := newTranslator()
	now := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	var out []terret.Event
	for line := range bytes.Lines(recording) {
		var m struct {
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		var about struct {
			ThreadID string
			Thread   struct{ ID string }
		}
		seat.Decode(m.Params, &about)
		switch m.Method {
		case "thread/started":
			tr.thread = about.Thread.ID
		case "turn/started":
			tr.thread = about.ThreadID
			tr.begin(terret.Settings{}, now)
		}
		now = now.Add(time.Millisecond)
		out = append(out, tr.hear(m.Method, m.Params, line, now)...)
	}
	return append(out, tr.abandon(terret.Errorf(terret.CodeProcessFailed, "it is gone"), now)...)
}

func dump(events []terret.Event) string {
	var out strings.Builder
	for _, ev := range events {
		data, err := json.Marshal(ev.Data)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(&out, "%s %s %s\n", ev.Kind(), ev.Actor, data)
	}
	return out.String()
}

// TestRecordings holds what becomes of what the real program said.
func TestRecordings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.ndjson")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			recording, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			events := play(t, recording)
			got := dump(events)
			golden := strings.TrimSuffix(file, ".ndjson") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("it is now\n%s\nwant\n%s", got, want)
			}
			inOrder(t, events, strings.Count(string(recording), `"method":"turn/completed"`))
		})
	}
}

// inOrder holds that each turn has one end, and each tool one result.
func inOrder(t *testing.T, events []terret.Event, turns int) {
	t.Helper()
	open, ends := map[string]bool{}, 0
	for _, ev := range events {
		switch d := ev.Data.(type) {
		case terret.ToolPre:
			if open[d.ToolID] {
				t.Errorf("%s is told twice", d.ToolID)
			}
			open[d.ToolID] = true
		case terret.ToolPost:
			if !open[d.ToolID] {
				t.Errorf("%s has a result, and was not told or has one already", d.ToolID)
			}
			delete(open, d.ToolID)
		case terret.ToolFailure:
			if !open[d.ToolID] {
				t.Errorf("%s has a result, and was not told or has one already", d.ToolID)
			}
			delete(open, d.ToolID)
		case terret.TurnComplete, terret.TurnError:
			ends++
		case terret.Unknown:
			t.Errorf("%s is not known", d.NativeType)
		}
	}
	if len(open) > 0 {
		t.Errorf("no result of %v", open)
	}
	if ends < turns || ends > turns+1 { // the recording may stop in a turn
		t.Errorf("%d turns ended, %d were recorded", ends, turns)
	}
}
