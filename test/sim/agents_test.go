package sim_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/terret-dev/terret/internal/test/agenttest"
	"github.com/terret-dev/terret/test/sim"
)

// recorder keeps what agents asked.
type recorder struct {
	mu  sync.Mutex
	all []sim.Recorded
}

func (r *recorder) record(one sim.Recorded) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
	return nil
}

func (r *recorder) requests() []sim.Recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// TestAgents lets every real agent play the same scenario. With -update it writes the
// requests down for TestRecordedRequests.
func TestAgents(t *testing.T) {
	t.Parallel()
	for _, a := range agenttest.All() {
		if a.Once == nil {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			var rec recorder
			dir := t.TempDir()
			srv, url := start(t, load(t, "agents"), sim.Options{Vars: map[string]string{"dir": dir}, Record: rec.record})
			place := a.Prepare(t, url)
			place.Dir = dir
			out, err := place.Run(t, a.Once("make the file please")...)
			if err != nil {
				t.Error(err)
			}
			if !strings.Contains(out, "It is done: "+dir) {
				t.Errorf("it said:\n%s", out[max(0, len(out)-2000):])
			}
			if got, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(got) != "second line\n" {
				t.Errorf("it wrote %q, %v", got, err)
			}
			if got := srv.Player().Unmatched(); len(got) > 0 {
				t.Error(got)
			}
			if got := srv.Player().Remaining(); len(got) > 0 {
				t.Error(got)
			}
			asked := 0
			for _, r := range rec.requests() {
				if strings.HasPrefix(r.Step, "step ") && strings.HasPrefix(r.Path, a.Dialect) {
					asked++
				}
			}
			if asked != 5 {
				t.Errorf("%d of 5 requests went to %s", asked, a.Dialect)
			}
			if *update && !t.Failed() {
				writeRequests(t, a.Name, rec.requests(), map[string]string{dir: "/project", place.Home: "/home"})
			}
		})
	}
}

// TestAgentsAreRefused has a model that refuses everything: the agents show why.
func TestAgentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, a := range agenttest.All() {
		if a.Once == nil {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			_, url := start(t, parse(t, "steps:\n  - {repeat: forever, answer: {error: {status: 400, message: This model is for looking only}}}\n"), sim.Options{})
			place := a.Prepare(t, url)
			out, err := place.Run(t, a.Once("hello")...)
			if err != nil {
				out += err.Error()
			}
			if !strings.Contains(out, "This model is for looking only") {
				t.Errorf("it said:\n%s", out)
			}
		})
	}
}

// writeRequests keeps the requests that asked the model, without most of what they say.
func writeRequests(t *testing.T, name string, all []sim.Recorded, places map[string]string) {
	t.Helper()
	called := map[string]bool{}
	for _, r := range all {
		if r.Request == nil {
			continue
		}
		for _, m := range r.Request.Messages {
			for _, b := range m.Blocks {
				called[b.Name] = true
			}
		}
	}
	var out bytes.Buffer
	for _, r := range all {
		if r.Request == nil {
			continue
		}
		text := string(r.Body)
		for from, to := range places {
			text = strings.ReplaceAll(text, from, to)
		}
		var body map[string]any
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			t.Fatal(err)
		}
		body["tools"] = onlyTools(body["tools"], called)
		step, _, _ := strings.Cut(r.Step, " (")
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]any{"path": r.Path, "step": step, "body": shortened(body)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("testdata/agents/"+name+".ndjson", out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// onlyTools leaves the tools that were called, in any dialect.
func onlyTools(value any, called map[string]bool) any {
	tools, ok := value.([]any)
	if !ok {
		return value
	}
	out := []any{}
	for _, one := range tools {
		tool := one.(map[string]any)
		if list, ok := tool["functionDeclarations"]; ok {
			tool["functionDeclarations"] = onlyTools(list, called)
			out = append(out, tool)
			continue
		}
		function, _ := tool["function"].(map[string]any)
		name, _ := tool["name"].(string)
		if function != nil {
			name, _ = function["name"].(string)
		}
		if called[name] {
			out = append(out, one)
		}
	}
	return out
}

// shortened leaves out what steps do not look at: the middle of long texts, and what
// tools and their parameters are for.
func shortened(value any) any {
	switch v := value.(type) {
	case string:
		const most, ends = 200, 60
		if r := []rune(v); len(r) > most {
			return string(r[:ends]) + " [...] " + string(r[len(r)-ends:])
		}
		return v
	case []any:
		for i := range v {
			v[i] = shortened(v[i])
		}
		return v
	case map[string]any:
		for name := range v {
			if _, ok := v[name].(string); ok && name == "description" {
				delete(v, name)
				continue
			}
			v[name] = shortened(v[name])
		}
		return v
	default:
		return value
	}
}
