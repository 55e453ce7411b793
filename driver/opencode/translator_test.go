package opencode

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

// recorded is a line of a recording: an event, or that a prompt was sent to a session.
type recorded struct {
	Prompt string          `json:"prompt"`
	Event  json.RawMessage `json:"event"`
}

func recording(t *testing.T, name string) []recorded {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []recorded
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		t.Fatalf("%s holds nothing", name)
	}
	return out
}

// play translates a recording, as often as it says each thing. A turn ends with the next
// prompt, or with the recording.
func play(t *testing.T, name string, times int) (all []terret.Event) {
	t.Helper()
	var tr *translator
	now := time.UnixMilli(1794700000000)
	for _, r := range recording(t, name) {
		now = now.Add(time.Millisecond)
		switch {
		case r.Prompt != "" && tr == nil:
			tr = newTranslator(options{native: r.Prompt, cwd: "/home/dev/project"})
			tr.begin("trn_1", now)
		case r.Prompt != "" && r.Prompt == tr.opts.native:
			all = append(all, tr.end(nil, now)...)
			tr.begin("trn_2", now)
		case len(r.Event) > 0 && tr != nil:
			for range times {
				var ev event
				if err := json.Unmarshal(r.Event, &ev); err != nil {
					t.Fatal(err)
				}
				if ev.Type == "message.part.delta" && times > 1 {
					continue // pieces are not repeated; the whole part is
				}
				all = append(all, tr.translate(ev, r.Event, now)...)
			}
		}
	}
	return append(all, tr.end(nil, now)...)
}

// story is the events in short: pieces of one message are one.
func story(events []terret.Event) []string {
	var out []string
	for _, ev := range events {
		line := string(ev.Kind())
		switch d := ev.Data.(type) {
		case terret.MessageDelta:
			line += " " + d.MessageID
		case terret.ToolStart:
			line += " " + d.Name
		case terret.ToolPost:
			line += " " + d.Name
		case terret.ToolFailure:
			line += fmt.Sprintf(" %s denied=%v interrupted=%v", d.Name, d.Denied, d.Interrupted)
		case terret.MessageComplete:
			line += " " + string(d.Role)
		case terret.TurnComplete:
			line += fmt.Sprintf(" %q", brief.Cut(d.Text, 9))
		case terret.TurnError:
			line += fmt.Sprintf(" %s %d", d.Error.Code, d.Error.HTTPStatus)
		case terret.Retry:
			line += fmt.Sprintf(" %d", d.Attempt)
		}
		if ev.Actor != "" {
			line = "  " + line
		}
		if len(out) == 0 || out[len(out)-1] != line {
			out = append(out, line)
		}
	}
	for i := range out {
		if f := strings.Fields(out[i]); f[0] == "message.delta" {
			out[i] = strings.Replace(out[i], " "+f[1], "", 1)
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return strings.TrimSpace(s) == "usage.update" })
}

func TestRecordings(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"hello": {
			"message.delta", "message.complete assistant", `turn.complete "Hello fro"`,
			"reasoning.delta", "message.delta", "message.complete assistant", `turn.complete "Thought d"`,
		},
		"tool_permission_once": {
			"message.delta", "tool.start bash", "tool.pre", "tool.progress", "tool.post bash", "message.complete tool", "message.complete assistant",
			"message.delta", "message.complete assistant", `turn.complete "Tool said"`,
		},
		"tool_permission_reject_message": {
			"message.delta", "tool.start bash", "tool.pre", "tool.failure bash denied=false interrupted=false", "message.complete tool",
			"message.complete assistant", "message.delta", "message.complete assistant", `turn.complete "Tool said"`,
		},
		"abort_text":          {"message.delta", "message.complete assistant", "turn.error interrupted 0"},
		"errors_provider_401": {"turn.error not_authenticated 401", "turn.error not_authenticated 401"},
		"todo": {
			"message.delta", "tool.start todowrite", "plan.update", "tool.pre", "tool.post todowrite", "message.complete tool",
			"message.complete assistant", "message.delta", "message.complete assistant", `turn.complete "Tool said"`,
		},
		"command_subtask": {
			"tool.start task", "tool.pre", "  subagent.start", "  message.delta", "  message.complete assistant", "message.complete assistant", "tool.post task",
			"message.complete tool", "  subagent.stop", "message.delta", "message.complete assistant", `turn.complete "Hello fro"`,
			"message.delta", "tool.start task", "tool.pre", "  subagent.start", "  message.delta", "  message.complete assistant", "tool.post task",
			"message.complete tool", "  subagent.stop", "message.complete assistant", "message.delta", "message.complete assistant",
			`turn.complete "Tool said"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := story(play(t, name, 1)); !slices.Equal(got, want) {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestTwiceIsOnce is that what is said again changes nothing, and that whole parts give
// what the pieces did, though maybe later.
func TestTwiceIsOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"hello", "tool_permission_once", "command_subtask", "question_reply", "errors_provider_401"} {
		once, twice := story(play(t, name, 1)), story(play(t, name, 2))
		slices.Sort(once)
		slices.Sort(twice)
		if !slices.Equal(once, twice) {
			t.Errorf("%s: once\n%s\ntwice\n%s", name, strings.Join(once, "\n"), strings.Join(twice, "\n"))
		}
	}
}

func TestRetriesAreShown(t *testing.T) {
	t.Parallel()
	got := story(play(t, "errors_provider_529", 1))
	if !slices.Contains(got, "retry 1") || !slices.Contains(got, "retry 2") {
		t.Errorf("%v", got)
	}
}

// said makes an event.
func said(t *testing.T, kind string, properties any) (event, []byte) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"type": kind, "properties": properties})
	if err != nil {
		t.Fatal(err)
	}
	var ev event
	if err := json.Unmarshal(data, &ev); err != nil {
		t.Fatal(err)
	}
	return ev, data
}

func TestUnknownIsKept(t *testing.T) {
	t.Parallel()
	tr := newTranslator(options{native: "ses_1"})
	for _, c := range []struct {
		kind       string
		properties any
		kept       bool
	}{
		{"session.of_a_later_version", map[string]any{"sessionID": "ses_1", "x": 1}, true},
		{"session.of_a_later_version", map[string]any{"sessionID": "ses_2"}, false},
		{"message.updated", "not an object", true},
		{"plugin.added", map[string]any{"id": "x"}, false},
	} {
		ev, data := said(t, c.kind, c.properties)
		got := tr.translate(ev, data, time.Now())
		if kept := len(got) == 1; kept != c.kept {
			t.Errorf("%s %v: %v", c.kind, c.properties, got)
		} else if kept && string(got[0].Raw) != string(data) {
			t.Errorf("%s is kept as %q", c.kind, got[0].Raw)
		}
	}
}

// TestDoneBeforeItsParts is that a message is told whole also if it is said to be done
// before its last parts are.
func TestDoneBeforeItsParts(t *testing.T) {
	t.Parallel()
	tr := newTranslator(options{native: "ses_1"})
	tr.begin("trn_1", time.Now())
	var all []terret.Event
	say := func(kind string, properties any) {
		ev, data := said(t, kind, properties)
		all = append(all, tr.translate(ev, data, time.Now())...)
	}
	type o = map[string]any
	say("message.updated", o{"info": o{"id": "msg_1", "sessionID": "ses_1", "role": "user"}})
	say("message.updated", o{"info": o{"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "parentID": "msg_1"}})
	say("message.part.updated", o{"part": o{"id": "prt_1", "messageID": "msg_2", "sessionID": "ses_1", "type": "step-start"}})
	say("message.updated", o{"info": o{"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "parentID": "msg_1", "finish": "stop", "time": o{"completed": 5}}})
	if _, answered := tr.settled(); answered {
		t.Error("it is answered before the answer is there")
	}
	say("message.part.updated", o{"part": o{"id": "prt_2", "messageID": "msg_2", "sessionID": "ses_1", "type": "text", "text": "Hel"}})
	say("message.part.updated", o{"part": o{"id": "prt_3", "messageID": "msg_2", "sessionID": "ses_1", "type": "step-finish"}})
	if _, answered := tr.settled(); answered {
		t.Error("it is answered before the text is whole")
	}
	say("message.part.updated", o{"part": o{"id": "prt_2", "messageID": "msg_2", "sessionID": "ses_1", "type": "text", "text": "Hello.", "time": o{"end": 4}}})
	if _, answered := tr.settled(); !answered {
		t.Error("it is not answered")
	}
	all = append(all, tr.end(nil, time.Now())...)
	want := []string{"message.delta", "message.complete assistant", `turn.complete "Hello."`}
	if got := story(all); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	say("message.part.updated", o{"part": o{"id": "prt_4", "messageID": "msg_2", "sessionID": "ses_1", "type": "text", "text": "late", "time": o{"end": 9}}})
	tr.begin("trn_2", time.Now())
	say("message.updated", o{"info": o{"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "parentID": "msg_1", "time": o{"completed": 5}}})
	say("message.part.updated", o{"part": o{"id": "prt_5", "messageID": "msg_2", "sessionID": "ses_1", "type": "text", "text": "later", "time": o{"end": 9}}})
	if got := story(all); len(got) != len(want) {
		t.Errorf("what comes after the end is told: %v", got)
	}
}

// TestChangedFiles is what is told of the files that tools change.
func TestChangedFiles(t *testing.T) {
	t.Parallel()
	type o = map[string]any
	for _, c := range []struct {
		tool     string
		metadata o
		want     []terret.FileChanged
	}{
		{"write", o{"filepath": "/p/a", "exists": false}, []terret.FileChanged{{Path: "/p/a", Change: "created", ToolID: "c1"}}},
		{"write", o{"filepath": "/p/a", "exists": true}, []terret.FileChanged{{Path: "/p/a", Change: "modified", ToolID: "c1"}}},
		{"edit", o{"filediff": o{"file": "/p/a"}}, []terret.FileChanged{{Path: "/p/a", Change: "modified", ToolID: "c1"}}},
		{"read", o{"filepath": "/p/a"}, nil},
	} {
		tr := newTranslator(options{native: "ses_1"})
		tr.begin("trn_1", time.Now())
		ev, data := said(t, "message.updated", o{"info": o{"id": "msg_2", "sessionID": "ses_1", "role": "assistant"}})
		tr.translate(ev, data, time.Now())
		ev, data = said(t, "message.part.updated", o{"part": o{
			"id": "prt_1", "messageID": "msg_2", "sessionID": "ses_1", "type": "tool", "callID": "c1", "tool": c.tool, "state": o{"status": "completed", "metadata": c.metadata},
		}})
		var got []terret.FileChanged
		for _, ev := range tr.translate(ev, data, time.Now()) {
			if d, ok := ev.Data.(terret.FileChanged); ok {
				got = append(got, d)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %v: %+v", c.tool, c.metadata, got)
		}
	}
}

// TestOtherSessions is that what happens in other sessions, in subagents or between turns
// is not the turn's.
func TestOtherSessions(t *testing.T) {
	t.Parallel()
	type o = map[string]any
	tr := newTranslator(options{native: "ses_1"})
	tell := func(kind string, properties o) []string {
		ev, data := said(t, kind, properties)
		return story(tr.translate(ev, data, time.Now()))
	}
	trouble := func(session string) (out []string) {
		out = append(out, tell("session.status", o{"sessionID": session, "status": o{"type": "retry", "attempt": 1}})...)
		out = append(out, tell("session.compacted", o{"sessionID": session})...)
		return append(out, tell("session.error", o{"sessionID": session, "error": o{"name": "APIError"}})...)
	}
	if got := trouble("ses_1"); len(got) != 0 {
		t.Errorf("between turns: %v", got)
	}
	tr.begin("trn_1", time.Now())
	tell("session.created", o{"info": o{"id": "ses_2", "parentID": "ses_1", "agent": "explore"}})
	tell("session.created", o{"info": o{"id": "ses_3", "parentID": "ses_0"}})
	if len(tr.children) != 1 || tr.children["ses_2"] == nil || tr.children["ses_2"].agent != "explore" {
		t.Errorf("subagents: %+v", tr.children)
	}
	tell("message.updated", o{"info": o{"id": "msg_1", "sessionID": "ses_2", "role": "user"}})
	if got := trouble("ses_2"); len(got) != 0 || tr.turn.failure != nil || len(tr.turn.users) != 0 {
		t.Errorf("in a subagent: %v, %+v", got, tr.turn)
	}
	tell("message.updated", o{"info": o{"id": "msg_2", "sessionID": "ses_1", "role": "user"}})
	if got := trouble("ses_1"); !slices.Equal(got, []string{"retry 1", "compact.post"}) || tr.turn.failure == nil || !slices.Equal(tr.turn.users, []string{"msg_2"}) {
		t.Errorf("in the turn: %v, %+v", got, tr.turn)
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add("message.updated", `{"info":{"id":"msg_1","sessionID":"ses_1","role":"assistant"}}`)
	f.Add("message.part.updated", `{"part":{"id":"p","messageID":"msg_1","sessionID":"ses_1","type":"tool","callID":"c","tool":"bash","state":{"status":"completed"}}}`)
	f.Add("session.status", `{"sessionID":"ses_1","status":{"type":"retry","attempt":1}}`)
	f.Fuzz(func(t *testing.T, kind, properties string) {
		tr := newTranslator(options{native: "ses_1"})
		tr.begin("trn_1", time.Now())
		if !json.Valid([]byte(properties)) {
			return
		}
		for range 2 {
			for _, ev := range tr.translate(event{Type: kind, Properties: json.RawMessage(properties)}, []byte(properties), time.Now()) {
				if _, err := ev.Encode(); err != nil {
					t.Fatal(err)
				}
			}
		}
		ends := 0
		for _, ev := range tr.end(nil, time.Now()) {
			if ev.Kind().EndsTurn() {
				ends++
			}
		}
		if ends != 1 {
			t.Fatalf("the turn has %d ends", ends)
		}
	})
}
