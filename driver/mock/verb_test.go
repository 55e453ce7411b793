package mock_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
)

func wantKind(t *testing.T, err error, kind terret.ErrorCode) {
	t.Helper()
	if err == nil || terret.AsError(err).Code != kind {
		t.Errorf("error %v, want %s", err, kind)
	}
}

func second[T any](_ T, err error) error { return err }

// What the script does not have, the agent neither declares nor does.
func TestUnscripted(t *testing.T) {
	t.Parallel()
	a := open(t, mock.New(mock.Script{}), newHost(t))
	c := terret.CapabilitiesOf(a)
	for _, name := range []terret.Capability{terret.CanCommands, terret.CanCompact, terret.CanPrewarm} {
		if c.Has(name) {
			t.Errorf("it declares %s", name)
		}
	}
	if c.Abilities[terret.CanUndo].By != terret.ByHarness {
		t.Errorf("undo %+v", c.Abilities[terret.CanUndo])
	}
	ctx := t.Context()
	for _, err := range []error{
		second(a.(terret.ModelLister).Models(ctx)), second(a.(terret.CommandLister).Commands(ctx)), second(a.(terret.ContextReader).Context(ctx)),
		a.(terret.Rewinder).Rewind(ctx, "m"), a.(terret.Rewinder).Forward(ctx),
	} {
		wantKind(t, err, terret.CodeUnsupported)
	}
	wantKind(t, a.(terret.Commander).Command(ctx, "trn_1", "x", "", terret.Settings{}), terret.CodeNotFound)
	d := mock.New(mock.Script{})
	if key := d.WarmKey(terret.OpenRequest{}); key != "" {
		t.Errorf("key %q", key)
	}
	wantKind(t, second(d.Prewarm(ctx, terret.OpenRequest{})), terret.CodeUnsupported)
}

func TestCommands(t *testing.T) {
	t.Parallel()
	script := mock.Script{
		Models: []terret.Model{{ID: "m"}}, Commands: []terret.Command{{Name: "review"}}, Context: &terret.ContextUsage{Used: 1}, Compacts: true,
	}
	h, ctx := newHost(t), t.Context()
	a := open(t, mock.New(script), h)
	c := terret.CapabilitiesOf(a)
	if !c.Has(terret.CanCommands) || !c.Has(terret.CanCompact) {
		t.Errorf("capabilities %+v", c)
	}
	models, err := a.(terret.ModelLister).Models(ctx)
	if d := cmp.Diff(script.Models, models); d != "" || err != nil {
		t.Error(d, err)
	}
	commands, err := a.(terret.CommandLister).Commands(ctx)
	if d := cmp.Diff(script.Commands, commands); d != "" || err != nil {
		t.Error(d, err)
	}
	if used, err := a.(terret.ContextReader).Context(ctx); used.Used != 1 || err != nil {
		t.Error(used, err)
	}
	if err := a.(terret.Commander).Command(ctx, "trn_1", "review", "all", terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	events := h.until("turn.complete", 1)
	if got := events[len(events)-1].Data.(terret.TurnComplete).Text; got != "You said: /review all" {
		t.Errorf("%q", got)
	}
	if err := a.(terret.Compacter).Compact(ctx, "trn_2", "names", terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	events = h.until("turn.complete", 2)
	if got := kinds(events[len(events)-3:]); got != "compact.pre compact.post turn.complete" {
		t.Errorf("%s", got)
	}
}

// An agent that goes back and forward is where it was in the script, also when it is
// opened anew.
func TestRewind(t *testing.T) {
	t.Parallel()
	d := mock.New(mock.Script{Rewinds: true, Turns: [][]mock.Step{{{Text: "1"}}, {{Text: "2"}}, {{Text: "3"}}, {{Text: "4"}}}})
	h, ctx, n := newHost(t), t.Context(), 0
	a := open(t, d, h)
	say := func(message, want string) {
		t.Helper()
		if err := a.Prompt(ctx, "trn_"+message, terret.Prompt{MessageID: message}, terret.Settings{}); err != nil {
			t.Fatal(err)
		}
		n++
		events := h.until("turn.complete", n)
		if got := events[len(events)-1].Data.(terret.TurnComplete).Text; got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
	reopen := func() {
		t.Helper()
		if err := a.Close(ctx); err != nil {
			t.Fatal(err)
		}
		a = open(t, d, h, func(r *terret.OpenRequest) { r.Cursor, r.Session.NativeID = []byte(h.cursor), "mock-s" })
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	back := func(message string) error { return a.(terret.Rewinder).Rewind(ctx, message) }
	forward := func() error { return a.(terret.Rewinder).Forward(ctx) }
	if c := terret.CapabilitiesOf(a); c.Abilities[terret.CanUndo].By != terret.ByAgent || c.Abilities[terret.CanRedo].By != terret.ByAgent {
		t.Errorf("capabilities %+v", c)
	}
	say("a", "1")
	say("b", "2")
	say("c", "3")
	must(back("c"))
	must(back("b"))
	wantKind(t, back("b"), terret.CodeNotFound)
	wantKind(t, back(""), terret.CodeNotFound)
	reopen()
	must(forward())
	say("d", "3")
	wantKind(t, forward(), terret.CodeConflict)
	must(back("a")) // all of it
	must(forward())
	reopen()
	say("e", "4")
	must(a.Close(ctx))
	wantKind(t, back("a"), terret.CodeProcessFailed)
}

func TestRewindFails(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	a := open(t, mock.New(mock.Script{Rewinds: true, RewindError: terret.Errorf(terret.CodeUnsupported, "no"), Turns: [][]mock.Step{{{Hang: true}}}}), h)
	wantKind(t, a.(terret.Rewinder).Rewind(t.Context(), "m"), terret.CodeUnsupported)
	b := open(t, mock.New(mock.Script{Rewinds: true, Turns: [][]mock.Step{{{Hang: true}}}}), h)
	prompt(t, b, "trn_1", "x")
	wantKind(t, b.(terret.Rewinder).Forward(t.Context()), terret.CodeInternal)
	for _, cursor := range []string{"-1", "{", `{"said":1}`, "70000", "[]", " {}"} {
		_, err := mock.New(mock.Script{Rewinds: true}).Open(t.Context(), terret.OpenRequest{Cursor: []byte(cursor), Host: h})
		wantKind(t, err, terret.CodeResumeFailed)
	}
}

// foreign is a warm agent of another driver.
type foreign struct{ closed int }

func (*foreign) Alive() bool                   { return true }
func (*foreign) Memory() int64                 { return 0 }
func (f *foreign) Close(context.Context) error { f.closed++; return nil }

func TestPrewarm(t *testing.T) {
	t.Parallel()
	d := mock.New(mock.Script{Prewarm: &mock.Prewarm{Memory: 7}})
	ctx := t.Context()
	r := terret.OpenRequest{Session: terret.Session{Cwd: "/x", Model: "m"}}
	other := r
	other.Session.Model = "n"
	if a, b := d.WarmKey(r), d.WarmKey(other); a == "" || a == b {
		t.Errorf("keys %q and %q", a, b)
	}
	w, err := d.Prewarm(ctx, r)
	if err != nil || !w.Alive() || w.Memory() != 7 {
		t.Fatal(w, err)
	}
	native := func(w terret.Warm) string {
		h := newHost(t)
		open(t, d, h, func(r *terret.OpenRequest) { r.Warm = w })
		return h.until("session.start", 1)[0].Data.(terret.SessionStart).NativeID
	}
	if id := native(w); id == "mock-s" || w.Alive() {
		t.Errorf("id %q, alive %v", id, w.Alive())
	}
	if id := native(w); id != "mock-s" {
		t.Errorf("taken over twice: %q", id)
	}
	f := &foreign{}
	if id := native(f); id != "mock-s" || f.closed != 1 {
		t.Errorf("id %q, closed %d times", id, f.closed)
	}
	slow := mock.New(mock.Script{Prewarm: &mock.Prewarm{Delay: mock.Duration(time.Hour)}})
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := slow.Prewarm(ended, r); err == nil {
		t.Error("the context does not bound the start")
	}
	bad := mock.New(mock.Script{Prewarm: &mock.Prewarm{Error: terret.Errorf(terret.CodeNotAuthenticated, "sign in")}})
	wantKind(t, second(bad.Prewarm(ctx, r)), terret.CodeNotAuthenticated)
}

// A script in a file can say all of it.
func TestScriptOfVerbs(t *testing.T) {
	t.Parallel()
	want := mock.Script{
		Turns: [][]mock.Step{{{Text: "x"}}}, Models: []terret.Model{{ID: "m"}}, Commands: []terret.Command{{Name: "c"}}, Context: &terret.ContextUsage{Used: 1},
		Compacts: true, Rewinds: true, Prewarm: &mock.Prewarm{Delay: mock.Duration(time.Second), Memory: 1},
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := mock.Load(path)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
}
