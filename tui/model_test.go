package tui

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/hinshun/vt10x"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

var update = flag.Bool("update", false, "write the golden screens")

var began = time.Date(2026, 11, 18, 14, 2, 0, 0, time.Local)

// log makes the events of a session.
type log struct {
	events []terret.Event
	at     time.Time
}

func (l *log) add(all ...terret.Data) *log {
	for _, d := range all {
		if l.at.IsZero() {
			l.at = began
		}
		e := terret.Event{Seq: int64(len(l.events) + 1), Session: "s1", Turn: "t1", Actor: terret.ActorRoot, By: "admin", Time: terret.Time{Time: l.at}, Data: d}
		if d, ok := d.(terret.PermissionRequest); ok {
			e.Expects = &terret.Expects{RequestID: d.RequestID, Gate: terret.GatePermission}
		}
		l.events = append(l.events, e)
		l.at = l.at.Add(time.Second)
	}
	return l
}

// in puts the last event into the thread of a subagent.
func (l *log) in(id string) *log {
	l.events[len(l.events)-1].Actor = terret.SubActor(id)
	return l
}

const fix = "--- a/auth/login_test.go\n+++ b/auth/login_test.go\n@@ -9,2 +9,3 @@\n func TestLogin(t *testing.T) {\n-\ttoken := issue(time.Now())\n+\tnow := time.Now()\n+\ttoken := issue(now)\n"

// story is a turn that waits for a person.
func story() *log {
	tool := func(id, name string, class terret.ToolClass, input string) terret.ToolPre {
		return terret.ToolPre{ToolID: id, Name: name, Class: class, Input: terret.JSON(input)}
	}
	l := &log{}
	l.add(
		terret.SessionStart{Agent: "claude", Model: "claude-opus-4-5-20250929", Commands: []terret.Command{{Name: "review", Description: "look at a change"}}},
		terret.TurnStart{Prompt: []terret.Block{terret.Text("Fix the flaky login test")}, MessageID: "m0"},
		terret.ReasoningDelta{MessageID: "m1", Text: "The clock, perhaps."},
		terret.MessageDelta{MessageID: "m1", Index: 1, Text: "I will **look** at "},
		terret.MessageDelta{MessageID: "m1", Index: 1, Text: "`login_test.go` first."},
		tool("r1", "Read", terret.ClassRead, `{"file_path":"/src/api/auth/login_test.go"}`),
		terret.ToolPost{ToolID: "r1", Name: "Read", Content: []terret.Block{terret.Text("package auth")}},
		tool("r2", "Grep", terret.ClassSearch, `{"pattern":"time.Now"}`),
		terret.MessageComplete{MessageID: "m1", Role: terret.RoleAssistant, Blocks: []terret.Block{
			{Type: terret.BlockThinking, Text: "The clock, perhaps."},
			terret.Text("I will **look** at `login_test.go` first."),
			{Type: terret.BlockToolUse, ToolID: "r1"},
			{Type: terret.BlockToolUse, ToolID: "r2"},
		}},
		terret.ToolPost{ToolID: "r2", Name: "Grep"},
		terret.ToolPre{ToolID: "e1", Name: "Edit", Class: terret.ClassEdit, Input: terret.JSON(`{"file_path":"/src/api/auth/login_test.go"}`), Diff: fix},
		terret.ToolPost{ToolID: "e1", Name: "Edit", Diff: fix, DurationMS: 20},
		terret.SubagentStart{ID: "h1", Type: "explorer", Description: "find other clocks"},
	)
	l.add(tool("h2", "Read", terret.ClassRead, `{"file_path":"clock.go"}`)).in("h1")
	l.add(terret.ToolPost{ToolID: "h2", Name: "Read"}).in("h1")
	l.add(
		terret.SubagentStop{ID: "h1", Result: "none"},
		tool("x1", "Bash", terret.ClassExecute, `{"command":"go test -run Login"}`),
		terret.ToolProgress{ToolID: "x1", Text: "\x1b[32mok\x1b[0m  \x1b]0;owned\a auth\n"},
		terret.ToolFailure{ToolID: "x1", Name: "Bash", Error: "exit code 1\nFAIL: clock skew 3 ms", DurationMS: 8000},
		terret.PlanUpdate{Entries: []terret.PlanEntry{{Text: "reproduce", Status: "completed"}, {Text: "mend", Status: "in_progress"}, {Text: "run all", Status: "pending"}}},
		terret.UsageUpdate{Usage: terret.Usage{Input: 130_000, Output: 7_000}, CostUSD: terret.CostOf(0.18), ContextUsed: 68_000, ContextMax: 200_000},
		terret.MessageComplete{MessageID: "m2", Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text("Now everything, with an empty cache.\n\n| step | result |\n|---|---|\n| one | ok |\n")}},
		tool("x2", "Bash", terret.ClassExecute, `{"command":"rm -rf .cache && go test ./..."}`),
		terret.PermissionRequest{RequestID: "q1", ToolID: "x2", Tool: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"rm -rf .cache && go test ./...","description":"Run all tests"}`), InputHash: "h", Reason: "The policy ask asks a person.", Suggestions: []string{"Bash(go test *)"}},
	)
	return l
}

func record(id, title, cwd string, state terret.SessionState) terret.Session {
	return terret.Session{ID: id, Agent: "claude", Title: title, Cwd: cwd, State: state, Policy: terret.PolicyAsk, UpdatedAt: terret.Time{Time: began}, Usage: terret.Usage{Input: 1}}
}

// screenOf is a workspace in which the story is open.
func screenOf(t *testing.T, width, height int, theme string, events []terret.Event) *model {
	t.Helper()
	wait := &sync.WaitGroup{}
	t.Cleanup(wait.Wait) // the context of the test has ended by then
	m := newModel(t.Context(), Config{Cwd: "/src/api", Theme: theme}, wait)
	m.now = func() time.Time { return began.Add(time.Minute) }
	m.width, m.height = width, height
	m.titles["claude"] = "Claude"
	s := record("s1", "fix flaky login", "/src/api", terret.SessionWaiting)
	m.sessions = []terret.Session{
		s, record("s2", "rate limits", "/src/api", terret.SessionBusy), record("s3", "dark mode \x1b[31m\u202e", "/src/web", terret.SessionIdle), record("s4", "upgrade vite", "/src/web", terret.SessionFailed),
	}
	m.begun["s2"] = began.Add(19 * time.Second)
	m.session, m.conv, m.paint.cwd = s, newConversation(s), s.Cwd
	m.changes = client.Changes{Insertions: 2, Deletions: 1, Items: []client.FileChange{{Path: "auth/login_test.go", Change: "modified", Insertions: 2, Deletions: 1}}}
	for _, e := range events {
		m.conv.apply(e)
		m.patch(e)
	}
	return m
}

// seen is the screen as a terminal shows it.
func seen(t *testing.T, m *model) string {
	t.Helper()
	term := vt10x.New(vt10x.WithSize(m.width, m.height))
	content := m.View().Content
	if _, err := term.Write([]byte(strings.ReplaceAll(content, "\n", "\r\n"))); err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(term.String(), "\n")
	for i, r := range rows {
		rows[i] = strings.TrimRight(r, " \x00")
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n") + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}

func TestScreens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width, height int
		theme         string
	}{{60, 16, "none"}, {100, 40, "none"}, {100, 40, "ascii"}, {200, 45, "none"}, {40, 12, "none"}} {
		m := screenOf(t, c.width, c.height, c.theme, story().events)
		golden(t, fmt.Sprintf("story-%dx%d-%s.txt", c.width, c.height, c.theme), seen(t, m))
	}
	for _, theme := range themeNames() {
		golden(t, "colours-"+theme+".ansi", screenOf(t, 100, 40, theme, story().events).View().Content+"\n")
	}
}

// TestScreenFits holds that no row is wider than the terminal, and none missing, at any size.
func TestScreenFits(t *testing.T) {
	t.Parallel()
	for _, over := range []overlay{nil, &help{}, &feedView{}, &picker{name: "x"}} {
		for width := 1; width <= 210; width += 7 {
			for height := 1; height <= 50; height += 7 {
				m := screenOf(t, width, height, "dark", story().events)
				m.compose.insert(strings.Repeat("word 日本語 ", 40) + "\n\x1b[31m")
				m.overlay = over
				rows, _ := m.screen()
				if len(rows) > height && width >= leastWidth && height >= 6 {
					t.Fatalf("%dx%d: %d rows", width, height, len(rows))
				}
				for _, r := range rows {
					if w := r.width(); w > width && width >= leastWidth {
						t.Fatalf("%dx%d: a row of %d columns: %q", width, height, w, r.plain())
					}
				}
			}
		}
	}
}

// TestBatches holds that a conversation is the same however its events come, and that a
// history without pieces of text reads like the stream.
func TestBatches(t *testing.T) {
	t.Parallel()
	events := story().events
	whole := screenOf(t, 100, 60, "none", events)
	twice := screenOf(t, 100, 60, "none", append(slices.Clip(events), events[3:9]...))
	if a, b := seen(t, whole), seen(t, twice); a != b {
		t.Errorf("events that came twice change the screen:\n%s", cmp.Diff(a, b))
	}
	var short []terret.Event
	for _, e := range events {
		if !e.Kind().Delta() {
			short = append(short, e)
		}
	}
	if a, b := seen(t, whole), seen(t, screenOf(t, 100, 60, "none", short)); a != b {
		t.Errorf("the history reads otherwise than the stream:\n%s", cmp.Diff(a, b))
	}
}

// TestOnlyWhatIsInView holds that a long session costs no more than what is seen of it.
func TestOnlyWhatIsInView(t *testing.T) {
	t.Parallel()
	l := &log{}
	for i := range 20_000 {
		l.add(terret.MessageComplete{MessageID: fmt.Sprint(i), Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text("message " + fmt.Sprint(i))}})
	}
	m := screenOf(t, 100, 30, "none", l.events)
	look := func() int {
		n := 0
		m.screen()
		for _, it := range m.conv.items {
			if it.kept.valid {
				n++
			}
		}
		return n
	}
	if n := look(); n > 40 {
		t.Errorf("%d items were laid out for 30 rows", n)
	}
	m.scrollBy(-25)
	if n := look(); n > 80 {
		t.Errorf("%d items were laid out after a page", n)
	}
	if got := seen(t, m); !strings.Contains(got, "message 19980") || strings.Contains(got, "message 19999") {
		t.Errorf("after a page up:\n%s", got)
	}
	m.scrollBy(1000)
	if got := seen(t, m); !strings.Contains(got, "message 19999") || m.view.away {
		t.Errorf("after the way down:\n%s", got)
	}
}

// TestStays holds that what a person reads does not move when more comes.
func TestStays(t *testing.T) {
	t.Parallel()
	l := &log{}
	for i := range 100 {
		l.add(terret.MessageComplete{MessageID: fmt.Sprint(i), Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text("message " + fmt.Sprint(i))}})
	}
	m := screenOf(t, 80, 24, "none", l.events)
	m.screen()
	m.scrollBy(-10)
	before := seen(t, m)
	l.add(terret.MessageComplete{MessageID: "new", Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text("news")}})
	m.live = &stream{out: make(chan arrival)}
	m.arrived(batch{stream: m.live, events: l.events[len(l.events)-1:]})
	after := seen(t, m)
	if strings.ReplaceAll(after, "↓ 1 new ", "") == before || !strings.Contains(after, "1 new") {
		t.Errorf("nothing says that there is more:\n%s", after)
	}
	if a, b := strings.SplitN(before, "\n", 20), strings.SplitN(after, "\n", 20); !reflect.DeepEqual(a[1:18], b[1:18]) {
		t.Errorf("what was read moved:\n%s", cmp.Diff(a, b))
	}
}

func press(m *model, keys ...string) tea.Cmd {
	var last tea.Cmd
	for _, k := range keys {
		msg := tea.KeyPressMsg{}
		switch k {
		case "enter":
			msg.Code = tea.KeyEnter
		case "esc":
			msg.Code = tea.KeyEscape
		case "tab":
			msg.Code = tea.KeyTab
		case "ctrl+c":
			msg.Code, msg.Mod = 'c', tea.ModCtrl
		default:
			msg.Code, msg.Text = []rune(k)[0], k
		}
		last = m.press(msg)
	}
	return last
}

// server records what is asked of it.
type server struct {
	mu    sync.Mutex
	said  []string
	reply map[string]string // by method and path
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	text, _ := json.Marshal(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, r.Method+" "+r.URL.Path+" "+string(text))
	w.Header().Set("Content-Type", "application/json")
	if text := s.reply[r.Method+" "+r.URL.Path]; text != "" {
		fmt.Fprint(w, text)
		return
	}
	fmt.Fprint(w, "{}")
}

func connectedTo(t *testing.T, m *model) *server {
	t.Helper()
	s := &server{}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	c, err := client.New(web.URL, client.Options{Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	m.c = c
	return s
}

// TestAnswers holds which key answers how.
func TestAnswers(t *testing.T) {
	t.Parallel()
	question := terret.QuestionRequest{RequestID: "q2", Questions: []terret.Question{
		{ID: "a", Text: "Which?", Options: []terret.Option{{Label: "Red"}, {Label: "Blue"}}}, {ID: "b", Text: "And?", Multi: true, Options: []terret.Option{{Label: "X"}, {Label: "Y"}, {Label: "Z"}}},
	}}
	for _, c := range []struct {
		ask  terret.Data
		keys []string
		want string
	}{
		{nil, []string{"y"}, `{"behavior":"allow","input_hash":"h"}`},
		{nil, []string{"s"}, `{"behavior":"allow","input_hash":"h","scope":"session"}`},
		{nil, []string{"a"}, `{"behavior":"allow","input_hash":"h","scope":"always"}`},
		{nil, []string{"n"}, `{"behavior":"deny","input_hash":"h"}`},
		{nil, []string{"D"}, `{"behavior":"deny","input_hash":"h","interrupt":true}`},
		{nil, []string{"r", "n", "o", "enter"}, `{"behavior":"deny","input_hash":"h","reason":"no"}`},
		{nil, []string{"x"}, ""},
		{nil, []string{"x", "y"}, ""}, // something is being written
		{question, []string{"2", "1", "3", "enter"}, `{"answers":{"a":"Blue","b":["X","Z"]},"behavior":"answer"}`},
		{question, []string{"g", "enter", "2", "enter"}, `{"answers":{"a":"g","b":"Y"},"behavior":"answer"}`},
		{question, []string{"n"}, `{"behavior":"reject"}`},
		{terret.PlanRequest{RequestID: "q2", Plan: "do"}, []string{"y"}, `{"behavior":"approve"}`},
		{terret.PlanRequest{RequestID: "q2", Plan: "do"}, []string{"n", "m", "enter"}, `{"behavior":"revise","reason":"m"}`},
	} {
		l := story()
		id := "q1"
		if c.ask != nil {
			l.add(terret.PermissionDecision{Decision: terret.Decision{RequestID: "q1", Behavior: terret.BehaviorAllow, Source: terret.ByUser}}, c.ask)
			id = "q2"
		}
		m := screenOf(t, 100, 40, "none", l.events)
		s := connectedTo(t, m)
		now := m.now()
		m.now = func() time.Time { return now }
		m.screen()
		now = now.Add(time.Second)
		if cmd := press(m, c.keys...); cmd != nil {
			cmd()
		}
		got := ""
		if len(s.said) > 0 {
			got = strings.TrimPrefix(s.said[0], "POST /v1/decisions/"+id+" ")
		}
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.keys, got, c.want)
		}
	}
}

// TestTooSoon holds that a letter of a message that is just being typed is no answer.
func TestTooSoon(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 100, 40, "none", story().events)
	s := connectedTo(t, m)
	now := m.now()
	m.now = func() time.Time { return now }
	m.screen() // the card is seen now
	if cmd := press(m, "y"); cmd != nil {
		cmd()
	}
	if len(s.said) > 0 {
		t.Fatalf("answered at once: %v", s.said)
	}
	now = now.Add(time.Second)
	if cmd := press(m, "y"); cmd == nil {
		t.Error("not answered later")
	}
}

func TestLeaving(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 100, 40, "none", story().events)
	s := connectedTo(t, m)
	if cmd := press(m, "ctrl+c"); cmd == nil {
		t.Fatal("Ctrl-C does not stop the turn")
	} else if cmd(); len(s.said) != 1 || !strings.HasPrefix(s.said[0], "POST /v1/sessions/s1/interrupt") {
		t.Fatalf("Ctrl-C: %v", s.said)
	}
	if cmd := press(m, "ctrl+c"); cmd == nil || cmd() != tea.Quit() {
		t.Error("the second Ctrl-C does not leave")
	}
	m.ctrlC = time.Time{}
	press(m, "ctrl+c", "a")
	if cmd := press(m, "ctrl+c"); cmd != nil && cmd() == tea.Quit() {
		t.Error("a key in between does not begin anew")
	}
}

// TestPaste holds that what is pasted is one text, and never a key.
func TestPaste(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 100, 40, "none", story().events)
	m.update(tea.PasteMsg{Content: "y\r\nfirst\r\nsecond \x1b[31m"})
	if got, want := m.compose.Text, "y\nfirst\nsecond \x1b[31m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := seen(t, m); !strings.Contains(got, "second ␛[31m") {
		t.Errorf("not shown as it is:\n%s", got)
	}
}

// TestGone holds that a prompt that could not be sent comes back, and that the workspace
// looks for the server.
func TestGone(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 100, 40, "none", story().events[:5])
	c, err := client.New("http://127.0.0.1:1", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.c = c
	press(m, "h", "i")
	cmd := press(m, "enter")
	if m.compose.Text != "" || cmd == nil {
		t.Fatal("not sent")
	}
	m.update(cmd())
	if m.compose.Text != "hi" {
		t.Errorf("%q is left of what was written", m.compose.Text)
	}
	m.live = &stream{out: make(chan arrival)}
	if cmd := m.arrived(batch{stream: m.live, err: errors.New("gone")}); cmd == nil {
		t.Error("nobody looks for the server")
	}
	if got := seen(t, m); !strings.Contains(got, "reconnecting") {
		t.Errorf("nothing says so:\n%s", got)
	}
}

// TestFeed holds that the feed shows each event in a row, narrows by words, unfolds an event,
// and keeps a bounded number.
func TestFeed(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 100, 30, "none", nil)
	for _, e := range story().events {
		body, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		m.feed.add(e, terret.Entry{Session: e.Session, Seq: e.Seq, Kind: e.Kind(), Body: body})
	}
	m.overlay = &feedView{}
	if got := seen(t, m); !strings.Contains(got, "permission.request") || !strings.Contains(got, "turn.start") {
		t.Errorf("all of it:\n%s", got)
	}
	press(m, "t", "o", "o", "l", ".", "f", "a", "i", "l")
	if got := seen(t, m); !strings.Contains(got, "tool.failure") || strings.Contains(got, "turn.start") {
		t.Errorf("narrowed:\n%s", got)
	}
	press(m, "tab")
	if got := seen(t, m); !strings.Contains(got, `"tool_id": "x1"`) {
		t.Errorf("unfolded:\n%s", got)
	}
	for i := range 3 * maxFed {
		m.feed.add(terret.Event{Seq: int64(i), Data: terret.SessionResumed{}}, terret.Entry{})
	}
	if n := len(m.feed.rows); n > maxFed || m.feed.lost == 0 {
		t.Errorf("%d are kept, %d are not", n, m.feed.lost)
	}
}

// TestEager holds that a prompt that was sent before there is a server is sent then.
func TestEager(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 100, 30, "none", nil)
	m.session, m.conv = terret.Session{}, nil
	press(m, "h", "i", "enter")
	if m.compose.Text != "hi" {
		t.Fatalf("%q is left", m.compose.Text)
	}
	connectedTo(t, m)
	if m.connected(m.c); m.compose.Text != "" {
		t.Errorf("%q was not sent", m.compose.Text)
	}
}

// TestForkIsNotEmpty holds that a session that goes on from another one says so, since its
// own log begins with what is said next.
func TestForkIsNotEmpty(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 100, 40, "none", nil)
	s := m.session
	s.ForkedFrom = "s0"
	m.conv = newConversation(s)
	if got := flowed(seen(t, m)); strings.Contains(got, "Nothing was said yet.") || !strings.Contains(got, "Goes on from another session.") {
		t.Errorf("not said:\n%s", seen(t, m))
	}
	var b strings.Builder
	if err := NewTranscript(terret.Session{ForkedFrom: "s0"}, "").Write(&b, 60); err != nil || !strings.Contains(b.String(), "Goes on from another session.") {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// TestUndone holds that what was said in a turn that was taken back is marked so, until the
// turn is brought back.
func TestUndone(t *testing.T) {
	t.Parallel()
	said := func(turn, words string) terret.Event {
		return terret.Event{Turn: turn, Data: terret.TurnStart{MessageID: "of " + turn, Prompt: []terret.Block{terret.Text(words)}}}
	}
	rewound := func(direction string) terret.Event {
		return terret.Event{Data: terret.CheckpointRewound{Direction: direction, Turns: []string{"t2"}}}
	}
	events := []terret.Event{said("t1", "First"), said("t2", "Second"), rewound("undo"), rewound("redo")}
	for i := range events {
		events[i].Seq, events[i].Time = int64(i+1), terret.Time{Time: began}
	}
	m := screenOf(t, 100, 40, "none", events[:2])
	seen(t, m)
	at := began.Local().Format("15:04")
	for _, c := range []struct {
		then         terret.Event
		first, again string
	}{
		{events[2], "you " + at + " First", "you " + at + " undone Second"},
		{events[3], "you " + at + " First", "you " + at + " Second"},
	} {
		m.conv.apply(c.then)
		var text strings.Builder
		for i := range m.conv.items {
			for _, r := range m.itemRows(i) {
				text.WriteString(" " + r.plain())
			}
		}
		if got := flowed(text.String()); !strings.Contains(got, c.first) || !strings.Contains(got, c.again) {
			t.Errorf("no %q and %q in\n%s", c.first, c.again, got)
		}
	}
}

// TestSearchGoesThere holds that a message that a search has found is shown, in the session
// that is open and in one that is opened for it.
func TestSearchGoesThere(t *testing.T) {
	t.Parallel()
	l := story()
	for range 30 {
		l.add(terret.UserPrompt{MessageID: terret.NewID("msg_"), Blocks: []terret.Block{terret.Text("And then?")}})
	}
	for _, c := range []struct{ message, shown string }{{"m0", "Fix the flaky login test"}, {"m1", "I will look at"}} {
		m := screenOf(t, 100, 20, "none", l.events)
		web := connectedTo(t, m)
		web.reply = map[string]string{"GET /v1/search": `{"items":[{"session":"s1","message_id":"` + c.message + `","time":"2026-01-02T14:02:00Z","text":"found"}]}`}
		if strings.Contains(seen(t, m), c.shown) {
			t.Fatal("it is in view without a search")
		}
		m.update(m.command("search", "flaky")())
		press(m, "enter")
		if got := seen(t, m); m.overlay != nil || !strings.Contains(got, c.shown) {
			t.Errorf("here:\n%s", got)
		}

		m.show(record("s2", "", "/", terret.SessionIdle), nil)
		m.update(m.command("search", "flaky")())
		press(m, "enter")
		s := record("s1", "", "/", terret.SessionIdle)
		s.LastSeq = 1
		m.show(s, nil)
		m.heard(batch{stream: m.live, events: l.events})
		m.heard(batch{stream: m.live, caught: true})
		if got := seen(t, m); !strings.Contains(got, c.shown) {
			t.Errorf("in another session:\n%s", got)
		}
	}
}

// TestHabits holds that a name that people know from the agents' own terminals is understood,
// unless the agent has a command of that name.
func TestHabits(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 100, 20, "none", story().events)
	connectedTo(t, m)
	m.conv.commands = []terret.Command{{Name: "clear"}}
	m.command("clear", "")
	if m.conv == nil {
		t.Error("the agent's own command was not left to it")
	}
	m.conv.commands = nil
	m.command("clear", "")
	if m.conv != nil {
		t.Error("/clear begins no new session")
	}
}

// TestWarning holds that what the harness warns of is shown.
func TestWarning(t *testing.T) {
	t.Parallel()
	l := story()
	l.add(terret.DiagWarning{Text: "This turn cannot be undone: the folder is too large"})
	if got := seen(t, screenOf(t, 100, 30, "none", l.events)); !strings.Contains(got, "This turn cannot be undone") {
		t.Error(got)
	}
}
