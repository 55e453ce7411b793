package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/test/pgtest"
	"github.com/terret-dev/terret/store/postgres"
)

// node is an engine of a fleet.
type node struct {
	*engine.Engine
	store *postgres.Store
}

// newNode starts an engine on the database that stands for path, until the test ends.
func newNode(t *testing.T, own *pgtest.Server, path string, script mock.Script, change ...func(*engine.Config)) node {
	t.Helper()
	s, err := postgres.Open(t.Context(), own.URL(path), postgres.Options{Lease: shortLease})
	if err != nil {
		t.Fatal(err)
	}
	cfg := engine.Config{Store: s, Drivers: []terret.Driver{mock.New(script)}, CloseGrace: time.Minute}
	for _, c := range change {
		c(&cfg)
	}
	e, err := engine.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(e.Close(ctx), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return node{e, s}
}

// create makes a session that nobody owns.
func (n node) create(t *testing.T) string {
	t.Helper()
	s, err := n.Create(t.Context(), terret.Session{Agent: "mock", Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// until returns the events of a session after a number, up to the first of that kind.
func (n node) until(t *testing.T, session string, after int64, kind terret.Kind) []terret.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var out []terret.Entry
	for entry, err := range n.Events(ctx, engine.EventQuery{Session: session, After: after, Follow: true}) {
		if err != nil {
			t.Fatalf("no %s: %v", kind, err)
		}
		if out = append(out, entry); entry.Kind == kind {
			break
		}
	}
	return out
}

// named makes a node that others can reach by that name.
func named(t *testing.T, own *pgtest.Server, path, name string, script mock.Script, change ...func(*engine.Config)) node {
	t.Helper()
	n := newNode(t, own, path, script, append(change, func(c *engine.Config) { c.Node = name })...)
	if err := n.store.Join(t.Context(), terret.Node{Name: name, Place: name}); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNoteOfOtherNode appends to a log that only another node may write, while nobody has it
// open; and after that node has ended, when nobody would.
func TestNoteOfOtherNode(t *testing.T) {
	t.Parallel()
	own, path := pgtest.ForTest(t), t.TempDir()
	b := named(t, own, path, "b", mock.Script{})
	id := terret.NewSessionID()
	note := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return b.Note(ctx, id, "ann", terret.TaskUpdate{ID: id, Status: "skipped", Text: "step"})
	}
	t.Run("idle", func(t *testing.T) {
		a := named(t, own, path, "a", mock.Script{})
		if err := a.OpenLogHere(t.Context(), id, "run"); err != nil {
			t.Fatal(err)
		}
		if err := note(); err != nil {
			t.Fatal(err)
		}
		b.until(t, id, 0, terret.KindTaskUpdate)
	})
	err := note()
	wantKind(t, err, terret.CodeConflict)
	if err != nil && !strings.Contains(err.Error(), "does not run") {
		t.Error(err)
	}
}

// seq is the number of the last of these events.
func seq(entries []terret.Entry) int64 { return entries[len(entries)-1].Seq }

// TestOtherNode uses a session on the node that does not have its folder: prompts while
// it is idle and while it works, a decision, an interrupt and a change of its title all
// reach the agent, which runs only on the node that has the folder.
func TestOtherNode(t *testing.T) {
	t.Parallel()
	own, path := pgtest.ForTest(t), t.TempDir()
	a := named(t, own, path, "a", mock.Script{Turns: [][]mock.Step{
		{{Text: "one"}, ask("make"), {Text: "made"}},
		{{Text: "two"}},
		{{Text: "three"}, {Hang: true}},
	}})
	b := named(t, own, path, "b", mock.Script{Turns: [][]mock.Step{{{Text: "wrong"}}}})
	ctx := t.Context()
	id := a.create(t)
	if s, err := b.store.Session(ctx, id); err != nil || s.Node != "a" || b.Elsewhere(s) != "a" || a.Elsewhere(s) != "" {
		t.Fatalf("%+v, %v", s, err)
	}
	prompt := func(what string) {
		t.Helper()
		if _, err := b.Prompt(ctx, engine.PromptRequest{Session: id, Prompt: text(what), When: engine.WhenQueue, By: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	prompt("go")
	at := seq(b.until(t, id, 0, terret.KindPermissionRequest))
	prompt("then this")
	open, err := b.store.ListRequests(ctx, terret.RequestFilter{Session: id, State: terret.RequestOpen})
	if err != nil || len(open.Items) != 1 {
		t.Fatalf("%+v, %v", open, err)
	}
	if err := b.Decide(ctx, terret.Decision{RequestID: open.Items[0].RequestID, Behavior: terret.BehaviorAllow, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	at = seq(b.until(t, id, at, terret.KindTurnComplete))
	at = seq(b.until(t, id, at, terret.KindTurnComplete)) // of the second prompt

	if err := a.CloseSession(ctx, id, "ann"); err != nil { // nobody owns it any more
		t.Fatal(err)
	}
	title := "renamed"
	if err := b.Update(ctx, id, terret.SessionUpdated{Title: &title}, "ann"); err != nil {
		t.Fatal(err)
	}
	at = seq(b.until(t, id, at, terret.KindSessionUpdated))
	if err := a.CloseSession(ctx, id, "ann"); err != nil {
		t.Fatal(err)
	}
	prompt("hang")
	at = seq(b.until(t, id, at, terret.KindMessageComplete))
	if err := b.Interrupt(ctx, id, "ann"); err != nil {
		t.Fatal(err)
	}
	b.until(t, id, at, terret.KindTurnError)
	s, err := b.store.Session(ctx, id)
	if err != nil || s.Title != title || s.Owner != a.store.Worker() {
		t.Errorf("%+v, %v", s, err)
	}
	if err := b.own(t, id); err == nil || !strings.Contains(err.Error(), "belongs to node a") {
		t.Errorf("the other node can undo in a folder that it does not have: %v", err)
	}
}

// own does something that only the owner can.
func (n node) own(t *testing.T, id string) error {
	t.Helper()
	_, err := n.Undo(t.Context(), id, "ann", false)
	return err
}

// TestNodeGone holds that a prompt for a node that does not run is refused, instead of
// waiting for somebody who never comes.
func TestNodeGone(t *testing.T) {
	t.Parallel()
	own, path := pgtest.ForTest(t), t.TempDir()
	b := named(t, own, path, "b", mock.Script{})
	c := newNode(t, own, path, mock.Script{}, func(c *engine.Config) { c.Node = "c" }) // a command line: nobody can reach it
	id := c.create(t)
	_, err := b.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("go")})
	if terret.AsError(err).Code != terret.CodeConflict || !strings.Contains(err.Error(), "node c, which does not run") {
		t.Errorf("%v", err)
	}
	if err := c.store.Join(t.Context(), terret.Node{Name: "b", Place: "elsewhere"}); err == nil || !strings.Contains(err.Error(), `already is a node "b"`) {
		t.Errorf("two installations have one name: %v", err)
	}
}

// TestNodeDraining holds that a node that finishes gets no prompts from others, even for a
// session that it owns; everything else still reaches it.
func TestNodeDraining(t *testing.T) {
	t.Parallel()
	a, b := pair(t, mock.Script{})
	id := a.create(t)
	a.turn(t, id, "begin")
	if s, err := b.store.Session(t.Context(), id); err != nil || s.Owner == "" {
		t.Fatalf("nobody owns %+v: %v", s, err)
	}
	if err := a.store.Join(t.Context(), terret.Node{Name: "a", Place: "a", Draining: true}); err != nil {
		t.Fatal(err)
	}
	for _, when := range []engine.When{engine.WhenReject, engine.WhenQueue} {
		_, err := b.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("go"), When: when})
		if !errors.Is(err, terret.ErrConflict) || !strings.Contains(err.Error(), "node a, which finishes and stops") {
			t.Errorf("%s: %v", when, err)
		}
	}
	at, title := b.last(t, id), "renamed"
	if err := b.Update(t.Context(), id, terret.SessionUpdated{Title: &title}, "ann"); err != nil {
		t.Fatal(err)
	}
	b.until(t, id, at, terret.KindSessionUpdated)
}
