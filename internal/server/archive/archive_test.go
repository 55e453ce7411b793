package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/archive"
	"github.com/terret-dev/terret/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "terret.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// export holds one turn and writes the session down.
func export(t *testing.T, store terret.Store, dir string) (terret.Session, []byte) {
	t.Helper()
	e, err := engine.New(t.Context(), engine.Config{Store: store, Drivers: []terret.Driver{mock.New(mock.Script{Turns: [][]mock.Step{{
		{Text: "I will look."},
		{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true, Result: "a"}},
		{Usage: &terret.UsageUpdate{Usage: terret.Usage{Input: 7, Output: 3}, CostUSD: terret.USD}},
		{Text: "Done."},
	}}})}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	s, err := e.Create(t.Context(), terret.Session{
		Agent: "mock", Cwd: dir, Title: "talk", Policy: terret.PolicyAutoApprove, PermissionMode: "acceptEdits",
		Options: terret.SessionOptions{Allow: []string{"Bash"}, MCP: terret.JSON(`{"x":1}`), KeepRaw: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Prompt(t.Context(), engine.PromptRequest{Session: s.ID, Prompt: terret.Prompt{Blocks: []terret.Block{terret.Text("go")}}, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	for entry, err := range e.Events(t.Context(), engine.EventQuery{Session: s.ID, Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if entry.Kind == "turn.complete" {
			break
		}
	}
	if s, err = store.Session(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := archive.Write(&out, s, e.Events(t.Context(), engine.EventQuery{Session: s.ID, Raw: true})); err != nil {
		t.Fatal(err)
	}
	return s, out.Bytes()
}

func keep(*terret.Session) error { return nil }

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	store := open(t)
	old, file := export(t, store, t.TempDir())
	// Into the same store: ids must not meet. Then out of it again, and into another.
	made, err := archive.Read(t.Context(), store, bytes.NewReader(file), keep)
	if err != nil {
		t.Fatal(err)
	}
	if made.ID == old.ID || made.Title != "talk (imported)" || made.Agent != "mock" || made.Cwd != old.Cwd || made.Usage != old.Usage || made.CostUSD != old.CostUSD {
		t.Errorf("session %+v of %+v", made, old)
	}
	// It grants nothing, and is nobody's.
	if made.Policy != terret.PolicyAsk || made.PermissionMode != "" || made.NativeID != "" || !cmp.Equal(made.Options, terret.SessionOptions{}) ||
		made.State != terret.SessionIdle || made.Owner != "" || made.OpenRequests != 0 || made.Turn != "" {
		t.Errorf("session %+v", made)
	}
	turns, err := store.Turns(t.Context(), made.ID)
	if err != nil || len(turns) != 1 || turns[0].State != terret.TurnCompleted || terret.TextOf(turns[0].Prompt) != "go" {
		t.Errorf("turns %+v %v", turns, err)
	}
	if diff := cmp.Diff(said(t, store, old.ID), said(t, store, made.ID)); diff != "" {
		t.Error(diff)
	}
}

// said are the messages of a session.
func said(t *testing.T, store terret.Store, session string) []string {
	t.Helper()
	entries, err := store.Read(t.Context(), terret.ReadQuery{Session: session, Kinds: []terret.Kind{"message.complete", "turn.start", "tool.post", "permission.decision"}})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		ev, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		switch d := ev.Data.(type) {
		case terret.MessageComplete:
			out = append(out, terret.TextOf(d.Blocks))
		case terret.TurnStart:
			out = append(out, ev.By+": "+terret.TextOf(d.Prompt))
		case terret.ToolPost:
			out = append(out, d.Name)
		case terret.PermissionDecision:
			out = append(out, string(d.Behavior)+" by "+string(d.Source))
		}
	}
	return out
}

// TestCutOff holds that a session that was written down in the middle of a turn is
// whole when it is read: what is open is decided, and what runs has ended.
func TestCutOff(t *testing.T) {
	t.Parallel()
	store := open(t)
	_, file := export(t, store, t.TempDir())
	lines := bytes.SplitAfter(file, []byte("\n"))
	for n := 1; n < len(lines); n++ {
		made, err := archive.Read(t.Context(), store, bytes.NewReader(bytes.Join(lines[:n], nil)), keep)
		if err != nil {
			t.Fatalf("%d lines: %v", n, err)
		}
		turns, err := store.Turns(t.Context(), made.ID)
		if err != nil || made.OpenRequests != 0 || made.Turn != "" || len(turns) > 0 && !turns[0].State.Ended() {
			t.Errorf("%d lines: %+v %+v %v", n, made, turns, err)
		}
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	store := open(t)
	old, file := export(t, store, t.TempDir())
	lines := strings.SplitAfter(string(file), "\n")
	event := func(n int) string { return lines[n] }
	find := func(kind string) int {
		for i, l := range lines {
			if strings.Contains(l, `"kind":"`+kind+`"`) {
				return i
			}
		}
		t.Fatalf("no %s", kind)
		return 0
	}
	start, ask, decided, end := find("turn.start"), find("permission.request"), find("permission.decision"), find("turn.complete")
	head := lines[0]
	for name, in := range map[string]string{
		"nothing":               "",
		"no session":            event(1),
		"no JSON":               head + "{\n",
		"an event without kind": head + `{"seq":1,"session":"` + old.ID + `"}`,
		"another session":       head + strings.ReplaceAll(event(start), old.ID, terret.NewSessionID()),
		"a turn twice":          head + event(start) + event(start),
		"an end without start":  head + event(end),
		"two ends":              head + event(start) + event(end) + event(end),
		"a request twice":       head + event(start) + event(ask) + event(ask),
		"a decision first":      head + event(start) + event(decided),
		"two decisions":         head + event(start) + event(ask) + event(decided) + event(decided),
		"an id that is a path":  strings.ReplaceAll(head, old.ID, "../../x"),
		"a model like a flag":   strings.Replace(head, `"model":""`, `"model":"--dangerously"`, 1),
		"an agent like a flag":  strings.Replace(head, `"agent":"mock"`, `"agent":"-x"`, 1),
		"a persona with a line": strings.Replace(head, `"persona":null`, `"persona":"a\nb"`, 1),
	} {
		if _, err := archive.Read(t.Context(), store, strings.NewReader(in), keep); !errors.Is(err, terret.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused := errors.New("refused")
	if _, err := archive.Read(t.Context(), store, bytes.NewReader(file), func(*terret.Session) error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	if _, err := archive.Read(t.Context(), store, strings.NewReader(head+strings.Repeat("x", archive.MaxLine+1)), keep); !errors.Is(err, terret.ErrInvalid) {
		t.Error(err)
	}
	page, err := store.ListSessions(t.Context(), terret.SessionFilter{})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("what failed left something behind: %+v %v", page.Items, err)
	}
}

// TestEventsChangeNothing holds that the session is the one that was checked,
// whatever the events say that it became.
func TestEventsChangeNothing(t *testing.T) {
	t.Parallel()
	store := open(t)
	old, file := export(t, store, t.TempDir())
	head, _, _ := bytes.Cut(file, []byte("\n"))
	event := func(kind, data string) string {
		return "\n" + `{"v":1,"session":"` + old.ID + `","kind":"` + kind + `","data":` + data + "}"
	}
	in := strings.Replace(string(head), `"agent":"mock"`, `"agent":"claude-code"`, 1) +
		event("session.updated", `{"title":"other","model":"--x","mode":"yolo","persona":"--y","policy":"auto-approve","permission_mode":"bypassPermissions"}`) +
		event("session.start", `{"source":"new","agent":"-x","model":"--z","native_id":"n","permission_mode":"bypassPermissions","cwd":"/"}`)
	made, err := archive.Read(t.Context(), store, strings.NewReader(in), keep)
	if err != nil {
		t.Fatal(err)
	}
	if made.Agent != "claude-code" || made.Title != "talk (imported)" || made.Model != old.Model || made.Mode != old.Mode || made.Persona != old.Persona ||
		made.Policy != terret.PolicyAsk || made.PermissionMode != "" || made.NativeID != "" || made.Cwd != old.Cwd {
		t.Errorf("session %+v", made)
	}
	// Read once more, it is called the same.
	var again bytes.Buffer
	if err := archive.Write(&again, made, func(func(terret.Entry, error) bool) {}); err != nil {
		t.Fatal(err)
	}
	if twice, err := archive.Read(t.Context(), store, &again, keep); err != nil || twice.Title != made.Title {
		t.Errorf("%q %v", twice.Title, err)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	events := func(list ...any) iter.Seq2[terret.Entry, error] {
		return func(yield func(terret.Entry, error) bool) {
			for _, v := range list {
				if err, ok := v.(error); ok {
					yield(terret.Entry{}, err)
					return
				}
				if !yield(v.(terret.Entry), nil) {
					return
				}
			}
		}
	}
	entry := terret.Entry{Seq: 1, Body: []byte(`{"v":1,"kind":"notification"}`), Raw: []byte("{\n\"a\": 1}")}
	var out bytes.Buffer
	if err := archive.Write(&out, terret.Session{ID: "x"}, events(entry)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2 || lines[1] != `{"seq":1,"v":1,"kind":"notification","raw":{"a":1}}` || !json.Valid([]byte(lines[0])) {
		t.Errorf("lines %q", lines)
	}
	if err := archive.Write(&out, terret.Session{}, events(entry, broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := archive.Write(failing{broken}, terret.Session{}, events(entry)); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func FuzzRead(f *testing.F) {
	id := terret.NewSessionID()
	head := fmt.Sprintf(`{"session":{"id":%q,"agent":"mock","cwd":"/"}}`, id)
	f.Add(head + "\n" + `{"v":1,"session":"` + id + `","kind":"notification","data":{"text":"x"}}`)
	f.Add(head)
	f.Fuzz(func(t *testing.T, in string) {
		store := &counting{}
		_, err := archive.Read(t.Context(), store, strings.NewReader(in), keep)
		if err != nil && store.sessions != 0 {
			t.Errorf("%d sessions are left after %v", store.sessions, err)
		}
	})
}

// TestBrokenDisk holds that nothing is left of what was imported if the disk fails.
func TestBrokenDisk(t *testing.T) {
	t.Parallel()
	in := fmt.Sprintf(`{"session":{"id":%q,"agent":"mock","cwd":"/"}}`, terret.NewSessionID())
	store := &counting{}
	if _, err := archive.Read(t.Context(), store, strings.NewReader(in), keep); err != nil || store.sessions != 1 {
		t.Errorf("%d sessions, %v", store.sessions, err)
	}
	store = &counting{broken: errors.New("disk on fire")}
	if _, err := archive.Read(t.Context(), store, strings.NewReader(in), keep); !errors.Is(err, store.broken) || store.sessions != 0 {
		t.Errorf("on a broken disk: %d sessions, %v", store.sessions, err)
	}
}

// counting is a store that forgets everything but how many sessions there are.
type counting struct {
	sessions int
	broken   error // of Commit
}

func (c *counting) Create(_ context.Context, s terret.Session) (terret.Session, error) {
	c.sessions++
	return s, nil
}

func (c *counting) Session(_ context.Context, id string) (terret.Session, error) {
	return terret.Session{ID: id}, nil
}

func (c *counting) Delete(context.Context, string) error {
	c.sessions--
	return nil
}

func (c *counting) Claim(_ context.Context, id string) (terret.Claim, error) {
	return terret.Claim{Session: terret.Session{ID: id}}, nil
}
func (c *counting) Release(context.Context, string, int64) error { return nil }
func (c *counting) Commit(_ context.Context, b []terret.Batch) ([]terret.Result, error) {
	return []terret.Result{{LastSeq: b[0].After + int64(len(b[0].Events))}}, c.broken
}
