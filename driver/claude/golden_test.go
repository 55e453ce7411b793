package claude

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata/golden")

const goldenDir = "testdata/golden"

// TestGoldens holds what each recorded conversation is translated into.
func TestGoldens(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range loadRecordings(t) {
		file := filepath.Join(goldenDir, r.name+".ndjson")
		seen[file] = true
		got := golden(t, r.play())
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
			t.Errorf("%s: -want +got\n%s", r.name, diff)
		}
	}
	files, err := filepath.Glob(filepath.Join(goldenDir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !seen[f] {
			t.Errorf("%s is of no transcript", f)
		}
	}
}

// goldenRow is an event or a control in short.
type goldenRow struct {
	Line    int               `json:"line,omitempty"`
	Kind    terret.Kind       `json:"kind,omitempty"`
	Control string            `json:"control,omitempty"`
	Actor   string            `json:"actor,omitempty"`
	Parent  string            `json:"parent_tool,omitempty"`
	Shown   terret.Visibility `json:"visibility,omitempty"`
	Source  string            `json:"source,omitempty"`
	Data    any               `json:"data,omitempty"`
}

func golden(t *testing.T, steps []step) []byte {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	write := func(row goldenRow) {
		if err := enc.Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range steps {
		for _, ev := range s.events {
			write(rowOf(t, s.n, ev))
		}
		for _, c := range s.others {
			row := goldenRow{Line: s.n, Control: strings.TrimPrefix(fmt.Sprintf("%T", c), "claude.")}
			switch c := c.(type) {
			case asking:
				row = rowOf(t, s.n, c.ask.Event)
				row.Control = "asking " + string(c.ask.Gate)
			case reply:
				row.Data = string(c.line)
			case mcpCall:
				row.Data = c.server
			case answered:
				row.Data = c.id + c.err
			case stateChange:
				row.Data = c.state
			}
			write(row)
		}
	}
	return out.Bytes()
}

func rowOf(t *testing.T, line int, ev terret.Event) goldenRow {
	t.Helper()
	b, err := json.Marshal(ev.Data)
	if err != nil {
		t.Fatal(err)
	}
	var data any
	if err := json.Unmarshal(b, &data); err != nil {
		t.Fatal(err)
	}
	return goldenRow{Line: line, Kind: ev.Kind(), Actor: ev.Actor, Parent: ev.ParentTool, Shown: ev.Visibility, Source: ev.Source, Data: short(data)}
}

// short cuts long texts and long lists of words.
func short(v any) any {
	switch v := v.(type) {
	case string:
		if c := brief.Cut(v, 160); c != v {
			return c + "…"
		}
		return v
	case map[string]any:
		for k, x := range v {
			if k == "transcript_path" || k == "cwd" || k == "prompt_id" {
				delete(v, k)
				continue
			}
			v[k] = short(x)
		}
		return v
	case []any:
		if len(v) > 8 {
			return fmt.Sprintf("%d of them", len(v))
		}
		for i := range v {
			v[i] = short(v[i])
		}
		return v
	}
	return v
}
