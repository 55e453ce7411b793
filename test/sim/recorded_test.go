package sim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret/internal/ndjson"
	"github.com/terret-dev/terret/test/sim"
)

// TestRecordedRequests plays what the real agents asked, and holds how it is read.
// TestAgents records it.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/agents/*.ndjson")
	if err != nil || len(files) < 9 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".ndjson")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rec recorder
			srv, url := start(t, load(t, "agents"), sim.Options{Vars: map[string]string{"dir": "/project"}, Record: rec.record})
			var out strings.Builder
			for i, r := range readRequests(t, path) {
				res, data, err := post(t, client(t), url+r.Path, r.Body)
				if err != nil || res.StatusCode != http.StatusOK {
					t.Fatalf("%v: %s", err, data)
				}
				got := rec.requests()[i]
				if step, _, _ := strings.Cut(got.Step, " ("); step != r.Step {
					t.Errorf("request %d was answered by %s, want %s", i+1, step, r.Step)
				}
				fmt.Fprintf(&out, "== %s: %s\n", r.Path, r.Step)
				describe(&out, got.Request)
			}
			if left := srv.Player().Remaining(); len(left) > 0 {
				t.Error(left)
			}
			golden(t, "agents."+name+".txt", out.String())
		})
	}
}

// recordedRequest is a request of a real agent, shortened.
type recordedRequest struct {
	Path string          `json:"path"`
	Step string          `json:"step"` // that answered, without its place
	Body json.RawMessage `json:"body"`
}

func readRequests(t *testing.T, path string) []recordedRequest {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []recordedRequest
	for lines := ndjson.NewReader(f, 0); ; {
		line, err := lines.Next()
		if err != nil {
			return out
		}
		var r recordedRequest
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
}

// describe writes how a request is read.
func describe(out *strings.Builder, r *sim.Request) {
	fmt.Fprintf(out, "model %s, stream %v, schema %s\nsystem %q\n", r.Model, r.Stream, r.Schema, r.System)
	for _, tool := range r.Tools {
		fmt.Fprintf(out, "tool %s, freeform %v, with a schema %v\n", tool.Name, tool.Freeform, len(tool.Schema) > 2)
	}
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			fmt.Fprintf(out, "%s %s %q", m.Role, b.Type, b.Text)
			if b.Type == sim.BlockToolUse {
				fmt.Fprintf(out, " %s %s", b.Name, b.Input)
			}
			fmt.Fprintln(out)
		}
	}
}
