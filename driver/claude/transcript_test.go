package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

const transcriptDir = "testdata/transcripts"

// row is one line of a recorded conversation with Claude Code.
type row struct {
	Dir  string          `json:"dir"` // in, out, err
	T    int64           `json:"t"`   // milliseconds since the start
	Line json.RawMessage `json:"line"`
}

// text is the line as it went over the wire: a string stands for itself.
func (r row) text() []byte {
	var s string
	if json.Unmarshal(r.Line, &s) == nil {
		return []byte(s)
	}
	return r.Line
}

// recording is a recorded conversation and how it came about.
type recording struct {
	name string
	Argv []string `json:"argv"`
	rows []row
}

func loadRecordings(t testing.TB) []recording {
	t.Helper()
	all, err := recordings()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 190 {
		t.Fatalf("only %d transcripts", len(all))
	}
	return all
}

// recordings reads all of them once. They are shared: nobody may change them.
var recordings = sync.OnceValues(func() ([]recording, error) {
	index, err := os.ReadFile(filepath.Join(transcriptDir, "index.json"))
	if err != nil {
		return nil, err
	}
	var all map[string]recording
	if err := json.Unmarshal(index, &all); err != nil {
		return nil, err
	}
	var out []recording
	for _, name := range sortedKeys(all) {
		r := all[name]
		r.name = name
		if r.rows, err = readRows(name); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
})

func loadRows(t testing.TB, name string) []row {
	t.Helper()
	rows, err := readRows(name)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func readRows(name string) ([]row, error) {
	b, err := os.ReadFile(filepath.Join(transcriptDir, name+".ndjson"))
	if err != nil {
		return nil, err
	}
	var rows []row
	for line := range bytes.Lines(b) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// oneShot reports whether the prompt was on the command line.
func (r recording) oneShot() bool {
	return !slices.Contains(r.Argv, "stream-json") || !slices.Contains(r.Argv, "--input-format")
}

// options are those that a driver would have had.
func (r recording) options() options {
	o := options{replay: slices.Contains(r.Argv, "--replay-user-messages")}
	for _, a := range r.Argv {
		switch {
		case a == "--fork-session":
			o.source = "fork"
		case (strings.HasPrefix(a, "--resume") || a == "--continue") && o.source == "":
			o.source = "resume"
		}
	}
	for _, w := range r.rows {
		o.preToolHook = o.preToolHook || w.Dir == "in" && bytes.Contains(w.Line, []byte(`"subtype": "initialize"`)) && bytes.Contains(w.Line, []byte(`"PreToolUse"`))
	}
	return o
}

// step is a line and what came of it.
type step struct {
	n        int // of the row, from 1; 0 for the end
	line     []byte
	prompted bool // a prompt was written here
	events   []terret.Event
	others   []control
}

var start = time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)

// play translates a recording, telling the translator what the recorded driver did.
func (r recording) play(change ...func(*options)) []step {
	o := r.options()
	for _, c := range change {
		c(&o)
	}
	t := newTranslator(o)
	var out []step
	interactive := strings.HasPrefix(r.name, "interactive_")
	if r.oneShot() && !interactive {
		t.prompted("", "")
		out = append(out, step{prompted: true})
	}
	now := start
	for i, w := range r.rows {
		now = start.Add(time.Duration(w.T) * time.Millisecond)
		switch {
		case w.Dir == "in" && !interactive:
			if heard(t, w.text()) {
				out = append(out, step{n: i + 1, prompted: true})
			}
		case w.Dir == "out":
			events, others := t.translate(w.text(), now)
			out = append(out, step{n: i + 1, line: w.text(), events: events, others: others})
		}
	}
	end := t.abandon(terret.Error{Code: terret.CodeProcessFailed, Message: "the agent is gone"}, now)
	return append(out, step{events: end})
}

// heard tells the translator of a line that was written to the agent, and reports
// whether it was a prompt.
func heard(t *translator, line []byte) bool {
	head, ok := decodeHeader(line)
	switch {
	case ok && head.Type == "user":
		var m userMessage
		decode(line, &m)
		t.prompted(head.UUID, m.Message.Content.text())
		return true
	case ok && head.Type == "control_response":
		var m controlResponse
		decode(line, &m)
		var body struct {
			Behavior string `json:"behavior"`
			Specific struct {
				Decision string `json:"permissionDecision"`
			} `json:"hookSpecificOutput"`
		}
		decode(m.Response.Response, &body)
		d := terret.Decision{Behavior: terret.BehaviorAllow}
		if body.Behavior == "deny" || body.Specific.Decision == "deny" {
			d.Behavior = terret.BehaviorDeny
		}
		t.decided(m.Response.RequestID, d)
	}
	return false
}

// eventsOf lists all events of a recording.
func eventsOf(steps []step) []terret.Event {
	var out []terret.Event
	for _, s := range steps {
		out = append(out, s.events...)
	}
	return out
}

// decodeHeader reads what all lines have in common. It reports whether the line is a
// JSON object.
func decodeHeader(line []byte) (header, bool) {
	m, ok := parse(bytes.TrimSpace(line))
	if !ok {
		return header{}, false
	}
	return m.head(), true
}
