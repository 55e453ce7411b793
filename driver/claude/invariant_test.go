package claude

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// eachRecording runs a check over what comes of every recorded conversation.
func eachRecording(t *testing.T, check func(t *testing.T, r recording, steps []step)) {
	t.Helper()
	t.Parallel()
	for _, r := range loadRecordings(t) {
		t.Run(r.name, func(t *testing.T) { check(t, r, r.play()) })
	}
}

// Every turn has exactly one end, its last event, whoever began it.
func TestEveryTurnEndsOnce(t *testing.T) {
	eachRecording(t, func(t *testing.T, r recording, steps []step) {
		prompts, open := 0, false
		for _, s := range steps {
			if s.prompted {
				prompts, open = prompts+1, true
			}
			for _, ev := range s.events {
				switch ev.Data.(type) {
				case terret.TurnComplete, terret.TurnError:
					failed, _ := ev.Data.(terret.TurnError)
					if !open && failed.Error.Code != terret.CodeResumeFailed {
						t.Errorf("line %d: the end of no turn", s.n)
					}
					open = false
				default:
					open = open || ev.Kind().InTurn()
				}
			}
			for _, c := range s.others {
				if a, ok := c.(asking); ok {
					open = open || a.ask.Event.Kind().InTurn()
				}
			}
		}
		if open {
			t.Error("a turn has no end")
		}
		results := 0
		for _, w := range r.rows {
			if h, _ := decodeHeader(w.Line); w.Dir == "out" && h.Type == "result" {
				results++
			}
		}
		if ends := countEnds(steps); ends > max(results, prompts) {
			t.Errorf("%d ends of %d prompts with %d results", ends, prompts, results)
		}
	})
}

func countEnds(steps []step) int {
	n := 0
	for _, ev := range eventsOf(steps) {
		switch ev.Data.(type) {
		case terret.TurnComplete, terret.TurnError:
			n++
		}
	}
	return n
}

// Every tool call that is told gets exactly one result, and no other does.
func TestEveryToolEndsOnce(t *testing.T) {
	eachRecording(t, func(t *testing.T, _ recording, steps []step) {
		open := map[string]string{} // name by actor and id
		began := map[string]bool{}
		pre := func(n int, ev terret.Event, d terret.ToolPre) {
			key := ev.Actor + " " + d.ToolID
			if open[key] != "" {
				t.Errorf("line %d: %s was told before", n, d.ToolID)
			}
			open[key] = d.Name
			delete(began, key)
		}
		post := func(n int, ev terret.Event, id, name string) {
			key := ev.Actor + " " + id
			if open[key] != name && !began[key] {
				t.Errorf("line %d: %s of %q ended, want %q", n, id, name, open[key])
			}
			delete(open, key)
			delete(began, key)
		}
		for _, s := range steps {
			for _, ev := range s.events {
				switch d := ev.Data.(type) {
				case terret.ToolStart:
					began[ev.Actor+" "+d.ToolID] = true
				case terret.ToolPre:
					pre(s.n, ev, d)
				case terret.ToolPost:
					post(s.n, ev, d.ToolID, d.Name)
				case terret.ToolFailure:
					post(s.n, ev, d.ToolID, d.Name)
				}
			}
			for _, c := range s.others {
				if a, ok := c.(asking); ok {
					if d, ok := a.ask.Event.Data.(terret.ToolPre); ok {
						pre(s.n, a.ask.Event, d)
					}
				}
			}
		}
		if len(open)+len(began) > 0 {
			t.Errorf("never ended: %v %v", open, began)
		}
	})
}

// Every request of the agent appears, under its own id, once; and a tool is told
// before somebody is asked about it.
func TestEveryRequestAppears(t *testing.T) {
	eachRecording(t, func(t *testing.T, _ recording, steps []step) {
		told := map[string]bool{}
		for _, s := range steps {
			for _, ev := range s.events {
				if d, ok := ev.Data.(terret.ToolPre); ok {
					told[d.ToolID] = true
				}
			}
			h, _ := decodeHeader(s.line)
			if h.Type != "control_request" {
				continue
			}
			var m controlRequest
			decode(s.line, &m)
			if len(s.others) != 1 {
				t.Fatalf("line %d: %d controls of a request", s.n, len(s.others))
			}
			switch c := s.others[0].(type) {
			case asking:
				if c.id != m.RequestID || c.ask.Key != m.RequestID || c.ask.Gate == "" || c.ask.Event.Data == nil {
					t.Errorf("line %d: asked %+v", s.n, c)
				}
				d, isPre := c.ask.Event.Data.(terret.ToolPre)
				if isPre {
					told[d.ToolID] = true
				}
				if c.tool != "" && !told[c.tool] {
					t.Errorf("line %d: asked about %s, which was not told", s.n, c.tool)
				}
			case mcpCall:
				if c.id != m.RequestID || len(c.message) == 0 {
					t.Errorf("line %d: %+v", s.n, c)
				}
			case reply:
				if !strings.Contains(string(c.line), m.RequestID) {
					t.Errorf("line %d: answered another request: %s", s.n, c.line)
				}
			default:
				t.Errorf("line %d: %T", s.n, c)
			}
		}
	})
}

// A message is told once, and holds all its blocks in order.
func TestMessagesAreWhole(t *testing.T) {
	eachRecording(t, func(t *testing.T, _ recording, steps []step) {
		seen := map[string]bool{}
		var got, want []string
		for _, s := range steps {
			if h, _ := decodeHeader(s.line); h.Type == "assistant" {
				var m assistantMessage
				decode(s.line, &m)
				for _, b := range m.Message.Content {
					want = append(want, h.ParentToolUseID+" "+m.Message.ID+" "+b.Text+b.Thinking+b.ID)
				}
			}
			for _, ev := range s.events {
				d, ok := ev.Data.(terret.MessageComplete)
				if !ok {
					continue
				}
				if key := ev.Actor + " " + d.MessageID; seen[key] || d.MessageID == "" {
					t.Errorf("line %d: message %q of %q again", s.n, d.MessageID, ev.Actor)
				} else {
					seen[key] = true
				}
				if d.Role != terret.RoleAssistant {
					continue
				}
				for _, b := range d.Blocks {
					got = append(got, ev.ParentTool+" "+d.MessageID+" "+b.Text+b.ToolID)
				}
			}
		}
		// Those of several speakers may be in another order.
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("blocks\n got %q\nwant %q", got, want)
		}
	})
}

// What turns cost is together what the process has cost.
func TestCostsAddUp(t *testing.T) {
	eachRecording(t, func(t *testing.T, _ recording, steps []step) {
		var sum, last terret.Cost
		for _, s := range steps {
			if h, _ := decodeHeader(s.line); h.Type == "result" {
				var r resultMessage
				decode(s.line, &r)
				last = terret.CostOf(r.TotalCostUSD)
			}
			for _, ev := range s.events {
				switch d := ev.Data.(type) {
				case terret.TurnComplete:
					sum += d.CostUSD
				case terret.TurnError:
					sum += d.CostUSD
				}
			}
		}
		if sum != last {
			t.Errorf("the turns cost %s, the process %s", sum, last)
		}
	})
}

// silent lists the lines that may give nothing, because all they do is change what
// is remembered, or other lines tell the same.
var silent = map[string]string{
	"assistant":                       "a block; the message is told when it is complete",
	"system/init":                     "not the first of the process, and nothing changed",
	"system/status":                   "requesting, or the end of a compression that the boundary tells",
	"system/compact_boundary":         "told with the summary, in the next line",
	"system/thinking_tokens":          "an estimate; usage counts",
	"system/task_updated":             "the notification tells the end",
	"system/task_notification":        "of a command in the foreground, whose result follows",
	"system/background_tasks_changed": "each task tells for itself",
	"command_lifecycle":               "what becomes of a prompt of ours",
	"transcript_mirror":               "what was on the stream before",
	"user":                            "a prompt of ours, repeated",
	"stream_event":                    "the start or the end of a block or a message",
}

// Nothing is lost: a line gives an event or a control, or is on the list.
func TestNothingIsLost(t *testing.T) {
	eachRecording(t, func(t *testing.T, _ recording, steps []step) {
		for _, s := range steps {
			if len(s.line) == 0 || len(s.events)+len(s.others) > 0 {
				continue
			}
			h, _ := decodeHeader(s.line)
			if silent[h.name()] == "" {
				t.Errorf("line %d: nothing came of %s", s.n, s.line)
			}
			var m struct {
				IsReplay bool `json:"isReplay"`
				Event    struct {
					Type  string                `json:"type"`
					Delta struct{ Type string } `json:"delta"`
				} `json:"event"`
			}
			decode(s.line, &m)
			if h.Type == "user" && !m.IsReplay {
				t.Errorf("line %d: nothing came of %s", s.n, s.line)
			}
			if m.Event.Type == "content_block_delta" && m.Event.Delta.Type != "signature_delta" {
				t.Errorf("line %d: nothing came of %s", s.n, s.line)
			}
		}
	})
}

// A process starts once; its events say where they come from, and can be written.
func TestEventsAreSound(t *testing.T) {
	eachRecording(t, func(t *testing.T, _ recording, steps []step) {
		starts := 0
		for _, s := range steps {
			for _, ev := range s.events {
				if _, ok := ev.Data.(terret.SessionStart); ok {
					starts++
				}
				if d, ok := ev.Data.(terret.Unknown); ok {
					t.Errorf("line %d: unknown %s", s.n, d.NativeType)
				}
				_, malformed := ev.Data.(terret.DiagParseError)
				if ev.Source == "" && s.n > 0 && !malformed {
					t.Errorf("line %d: %s without a source", s.n, ev.Kind())
				}
				if ev.Raw != nil {
					t.Errorf("line %d: the raw line was kept", s.n)
				}
				if (ev.Actor == "") != (ev.ParentTool == "") && ev.Kind() != "hook.event" {
					t.Errorf("line %d: %s by %q for %q", s.n, ev.Kind(), ev.Actor, ev.ParentTool)
				}
				if _, err := json.Marshal(ev); err != nil {
					t.Errorf("line %d: %v", s.n, err)
				}
			}
		}
		if starts > 1 {
			t.Errorf("started %d times", starts)
		}
	})
}

// With a hook before every tool or without one, the same is told.
func TestPreToolHookChangesNothingElse(t *testing.T) {
	eachRecording(t, func(t *testing.T, r recording, steps []step) {
		kinds := func(steps []step) []terret.Kind {
			var out []terret.Kind
			for _, s := range steps {
				for _, ev := range s.events {
					if k := ev.Kind(); k != "tool.pre" && k != "hook.event" && k != "permission.denied" {
						out = append(out, k)
					}
				}
			}
			return out
		}
		other := r.play(func(o *options) { o.preToolHook = !o.preToolHook })
		if a, b := kinds(steps), kinds(other); !slices.Equal(a, b) {
			t.Errorf("\n%v\n%v", a, b)
		}
	})
}
