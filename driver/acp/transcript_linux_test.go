package acp

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

var rewrite = flag.Bool("update", false, "write what the transcripts become into testdata/golden")

// TestTranscripts plays what real agents said in six turns: plain text, a tool that is
// allowed, one that is denied, a file that is read, one that is written, and one that
// is changed. What it becomes is in testdata/golden.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	for _, profile := range Profiles() {
		file, err := filepath.Abs("testdata/transcripts/" + profile.Name + ".ndjson")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(file); err != nil {
			continue // its protocol was not recorded
		}
		t.Run(profile.Name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "replay:"+file, func(s *setup) {
				p := profile
				p.Argv, p.Env = []string{os.Args[0], "--acp"}, append(p.Env, "FAKE_*")
				s.d = New(p, Config{})
			})
			asked := 0
			s.host.decide = func(context.Context, terret.Ask) (terret.Decision, error) {
				if asked++; asked == 2 {
					return terret.Decision{Behavior: terret.BehaviorDeny, Reason: "not that", Source: terret.ByUser}, nil
				}
				return terret.Decision{Behavior: terret.BehaviorAllow, Source: terret.ByUser}, nil
			}
			a := s.open()
			for i := range 6 {
				s.turn(a, fmt.Sprintf("prompt %d", i+1))
			}
			golden(t, profile.Name, outline(t, s.host.said(), s.req.Session.Cwd))
		})
	}
}

// outline is the events without what differs between runs.
func outline(t *testing.T, events []terret.Event, cwd string) string {
	t.Helper()
	var out strings.Builder
	ids := map[string]string{}
	for _, ev := range events {
		switch d := ev.Data.(type) {
		case terret.ProcessSpawn, terret.ProcessExit, terret.SessionCommands:
			continue
		case terret.SessionStart:
			d.Cwd = strings.ReplaceAll(d.Cwd, cwd, "CWD")
			ev.Data = d
		}
		b, err := json.Marshal(ev.Data)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(b, &fields); err != nil {
			t.Fatal(err)
		}
		delete(fields, "duration_ms")
		for _, name := range []string{"message_id", "request_id"} {
			if id, ok := fields[name].(string); ok && id != "" {
				if ids[id] == "" {
					ids[id] = fmt.Sprintf("%s %d", strings.TrimSuffix(name, "_id"), len(ids)+1)
				}
				fields[name] = ids[id]
			}
		}
		fmt.Fprintf(&out, "%s %s\n", ev.Kind(), seat.Encode(fields))
	}
	return out.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name+".txt")
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed; run the test with -update and look at the difference:\n%s", file, got)
	}
}
