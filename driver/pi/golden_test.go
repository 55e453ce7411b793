package pi

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

// play feeds a recording to a translator, as a process does. In the recordings the tool
// write was denied.
func play(t *testing.T, recording []byte) []terret.Event {
	t.Helper()
	tr := newTranslator("/project")
	now := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	var out []terret.Event
	tr.begin(terret.Settings{}, now)
	for raw := range bytes.Lines(recording) {
		l, err := parse(raw)
		if err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		now = now.Add(time.Millisecond)
		if l.Method == "input" && l.Title == extensionName {
			var q asked
			seat.Decode([]byte(l.Placeholder), &q)
			if q.Gate == "tool" {
				tr.set("tool_call", raw, now)
				c := tr.call(q.ID, q.Tool)
				c.told, c.denied, c.reason = true, q.Tool == "write", "not today"
				tr.emit(c.pre(tr.cwd))
				out = append(out, tr.take()...)
			}
			continue
		}
		tr.hear(l, raw, now)
		out = append(out, tr.take()...)
	}
	if tr.turn.settle && !tr.turn.busy() {
		tr.set("agent_end", nil, now)
		tr.endTurn(tr.failure())
		out = append(out, tr.take()...)
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
		fmt.Fprintf(&out, "%s %s\n", ev.Kind(), data)
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
			got := dump(play(t, recording))
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
			if n := strings.Count(got, "turn.complete ") + strings.Count(got, "turn.error "); n != 1 {
				t.Errorf("the turn has %d ends", n)
			}
		})
	}
}

// TestPiecesAreCutShort holds that a piece is read without the message so far, whatever is
// in it.
func TestPiecesAreCutShort(t *testing.T) {
	t.Parallel()
	for _, delta := range []string{"plain", `,"partial":{"role":"`, `\`, `"}}`, "\u2028"} {
		raw := fmt.Appendf(nil, `{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":2,"delta":%s,"partial":{"role":"assistant",`, seat.Encode(delta))
		l, err := parse(raw) // the rest is not even JSON
		if err != nil || l.Update.Delta != delta || l.Update.Index != 2 {
			t.Errorf("%q: %+v, %v", delta, l.Update, err)
		}
	}
}

// TestFailures holds what becomes of the words of the models' APIs.
func TestFailures(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]terret.Error{
		`401 {"type":"error","error":{"type":"authentication_error"}}`: {Code: terret.CodeNotAuthenticated, HTTPStatus: 401},
		"No API key found for anthropic.":                              {Code: terret.CodeNotAuthenticated},
		"404 model: nope":                                              {Code: terret.CodeModelNotFound, HTTPStatus: 404},
		`got status: 429 . {"error":{"code":429}}`:                     {Code: terret.CodeRateLimited, HTTPStatus: 429, Retryable: true},
		"529 overloaded":                                               {Code: terret.CodeOverloaded, HTTPStatus: 529, Retryable: true},
		"Overloaded":                                                   {Code: terret.CodeOverloaded, Retryable: true},
		"500 oh no":                                                    {Code: terret.CodeModelError, HTTPStatus: 500, Retryable: true},
		"400 prompt is too long: 213000 tokens":                        {Code: terret.CodeModelError, HTTPStatus: 400},
		"Connection error.":                                            {Code: terret.CodeConnectionFailed, Retryable: true},
		"":                                                             {Code: terret.CodeModelError},
	} {
		got := failureOf(text)
		if got.Code != want.Code || got.HTTPStatus != want.HTTPStatus || got.Retryable != want.Retryable || got.Message == "" {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func FuzzTranslator(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.ndjson")
	for _, file := range files {
		recording, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(recording)
	}
	f.Fuzz(func(t *testing.T, recording []byte) {
		tr := newTranslator("/project")
		tr.begin(terret.Settings{KeepRaw: true}, time.Time{})
		for raw := range bytes.Lines(recording) {
			l, _ := parse(raw)
			tr.hear(l, raw, time.Time{})
			dump(tr.take())
		}
		ends := 0
		for _, ev := range tr.abandon(terret.Errorf(terret.CodeProcessFailed, "it is gone"), time.Time{}) {
			if ev.Kind().EndsTurn() {
				ends++
			}
		}
		if ends != 1 {
			t.Errorf("%d ends", ends)
		}
	})
}
