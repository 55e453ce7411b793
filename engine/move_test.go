package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/test/pgtest"
	"github.com/terret-dev/terret/store/postgres"
)

// turn prompts a session on a node, and waits for the end of the turn.
func (n node) turn(t *testing.T, id, what string) {
	t.Helper()
	at := n.last(t, id)
	if _, err := n.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text(what), By: "ann"}); err != nil {
		t.Fatal(err)
	}
	n.until(t, id, at, terret.KindTurnComplete)
}

func (n node) last(t *testing.T, id string) int64 {
	t.Helper()
	s, err := n.store.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s.LastSeq
}

// leave puts a prompt into the queue of a session that nobody owns, as a crash would.
func (n node) leave(t *testing.T, id, what string) {
	t.Helper()
	body, err := json.Marshal(text(what))
	if err == nil {
		err = n.store.Send(t.Context(), terret.InboxItem{ID: terret.NewID(terret.PrefixTurn), Session: id, Kind: terret.InboxPrompt, Body: body, By: "ben"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// heard lists what the agent of a session was told, without the accounts, and how many of
// those there were.
func (n node) heard(t *testing.T, id string) (said []string, accounts int) {
	t.Helper()
	turns, err := n.store.Turns(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range turns {
		if len(turn.Prompt) == 2 && strings.Contains(turn.Prompt[0].Text, "<handover>") {
			accounts++
		}
		said = append(said, turn.Prompt[len(turn.Prompt)-1].Text)
	}
	return said, accounts
}

func (n node) waiting(t *testing.T, id string) (out []string) {
	t.Helper()
	queue, err := n.Queue(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range queue {
		out = append(out, terret.TextOf(turn.Prompt))
	}
	return out
}

// to makes successors on a node.
func (n node) to(t *testing.T) func(context.Context, terret.Session) (terret.Session, error) {
	return func(ctx context.Context, s terret.Session) (terret.Session, error) {
		return n.Create(ctx, terret.Session{Agent: "mock", Cwd: t.TempDir(), ForkedFrom: s.ID, Title: s.Title})
	}
}

func equal(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func pair(t *testing.T, script mock.Script) (a, b node) {
	t.Helper()
	own, path := pgtest.ForTest(t), t.TempDir()
	return named(t, own, path, "a", script), named(t, own, path, "b", mock.Script{})
}

// TestMove moves a session with a first prompt: its agent is told what happened, once, and
// then gets the prompts that were queued, in order.
func TestMove(t *testing.T) {
	t.Parallel()
	a, b := pair(t, mock.Script{Turns: [][]mock.Step{{{Text: "half of it is done"}}}})
	id := a.create(t)
	a.turn(t, id, "do it")
	if err := a.CloseSession(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	a.leave(t, id, "second")
	a.leave(t, id, "third")
	goOn := text("go on")
	made, first, err := a.Move(t.Context(), engine.Moving{Session: id, By: "ann", First: &goOn, Make: b.to(t)})
	if err != nil || first == nil || first.Session != made.ID || made.Node != "b" {
		t.Fatalf("%+v, %+v: %v", made, first, err)
	}
	at := int64(0)
	for range 3 {
		at = seq(b.until(t, made.ID, at, terret.KindTurnComplete))
	}
	said, accounts := b.heard(t, made.ID)
	equal(t, "heard", said, "go on", "second", "third")
	turns, err := b.store.Turns(t.Context(), made.ID)
	if err != nil || accounts != 1 || turns[0].ID != first.ID || !strings.Contains(turns[0].Prompt[0].Text, "Agent: half of it is done") || !strings.Contains(turns[0].Prompt[0].Text, made.Cwd) {
		t.Errorf("%d accounts, the first turn is %+v: %v", accounts, turns[0], err)
	}
	equal(t, "left in the old one", a.waiting(t, id))
	old, err := a.store.Session(t.Context(), id)
	if err != nil || old.HandedTo != made.ID || old.Owner != "" {
		t.Errorf("%+v: %v", old, err)
	}
	_, _, err = a.Move(t.Context(), engine.Moving{Session: id, Make: b.to(t)})
	wantKind(t, err, terret.CodeConflict)
	_, _, err = b.Move(t.Context(), engine.Moving{Session: id, Make: b.to(t)})
	wantKind(t, err, terret.CodeConflict)
}

// TestMoveAndWait moves a session without a prompt, and back before anybody has prompted it:
// nothing runs by itself, and the next prompt comes with the account of the first one.
func TestMoveAndWait(t *testing.T) {
	t.Parallel()
	a, b := pair(t, mock.Script{Turns: [][]mock.Step{{{Text: "half of it is done"}}}})
	id := a.create(t)
	a.turn(t, id, "do it")
	if err := a.CloseSession(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	a.leave(t, id, "later")
	there, first, err := a.Move(t.Context(), engine.Moving{Session: id, Make: b.to(t)})
	if err != nil || first != nil {
		t.Fatalf("%+v: %v", first, err)
	}
	title := "renamed"
	if err := a.Update(t.Context(), there.ID, terret.SessionUpdated{Title: &title}, "ann"); err != nil {
		t.Fatal(err)
	}
	b.until(t, there.ID, 0, terret.KindSessionUpdated) // it has looked at what it was sent
	equal(t, "queue", b.waiting(t, there.ID), "later")
	back, _, err := b.Move(t.Context(), engine.Moving{Session: there.ID, Make: a.to(t)})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "queue", a.waiting(t, back.ID), "later")
	if s, err := a.store.Session(t.Context(), back.ID); err != nil || s.Owner != "" || s.Turn != "" {
		t.Errorf("it runs by itself: %+v, %v", s, err)
	}
	a.turn(t, back.ID, "now")
	a.turnQueued(t, back.ID, "again")
	said, accounts := a.heard(t, back.ID)
	equal(t, "heard", said, "now", "later", "again")
	turns, err := a.store.Turns(t.Context(), back.ID)
	if err != nil || accounts != 1 || !strings.Contains(turns[0].Prompt[0].Text, "Agent: half of it is done") {
		t.Errorf("%d accounts, the first turn is %+v: %v", accounts, turns[0], err)
	}
}

// turnQueued is turn for a session that may still be busy.
func (n node) turnQueued(t *testing.T, id, what string) {
	t.Helper()
	made, err := n.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text(what), When: engine.WhenQueue, By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(0); ; {
		entries := n.until(t, id, at, terret.KindTurnComplete)
		at = seq(entries)
		if ev, err := entries[len(entries)-1].Decode(); err != nil || ev.Turn == made.ID {
			return
		}
	}
}

// TestMoveMeanwhile holds that no turn begins while the successor is made, and that a prompt
// that is queued meanwhile runs there.
func TestMoveMeanwhile(t *testing.T) {
	t.Parallel()
	a, b := pair(t, mock.Script{})
	id := a.create(t)
	a.turn(t, id, "do it")
	made, _, err := a.Move(t.Context(), engine.Moving{Session: id, Make: func(ctx context.Context, s terret.Session) (terret.Session, error) {
		_, err := a.Prompt(ctx, engine.PromptRequest{Session: id, Prompt: text("now")})
		wantKind(t, err, terret.CodeSessionBusy)
		if _, err := a.Prompt(ctx, engine.PromptRequest{Session: id, Prompt: text("then"), When: engine.WhenQueue}); err != nil {
			return terret.Session{}, err
		}
		return b.to(t)(ctx, s)
	}})
	if err != nil {
		t.Fatal(err)
	}
	b.until(t, made.ID, 0, terret.KindTurnComplete)
	said, accounts := b.heard(t, made.ID)
	equal(t, "heard there", said, "then")
	if accounts != 1 {
		t.Errorf("%d accounts", accounts)
	}
	said, _ = a.heard(t, id)
	equal(t, "heard here", said, "do it")
}

// TestMoveRefused holds that everything stays as it was if there is no successor, and that a
// session at work does not move.
func TestMoveRefused(t *testing.T) {
	t.Parallel()
	a, b := pair(t, mock.Script{Turns: [][]mock.Step{{{Text: "one"}, ask("make")}}})
	id := a.create(t)
	a.leave(t, id, "later")
	no := errors.New("no room")
	if _, _, err := a.Move(t.Context(), engine.Moving{Session: id, Make: func(context.Context, terret.Session) (terret.Session, error) { return terret.Session{}, no }}); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	equal(t, "queue", a.waiting(t, id), "later")
	if s, err := a.store.Session(t.Context(), id); err != nil || s.HandedTo != "" || s.Turn != "" {
		t.Errorf("%+v: %v", s, err)
	}
	if _, err := a.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("go")}); err != nil {
		t.Fatal(err)
	}
	a.until(t, id, 0, terret.KindPermissionRequest)
	_, _, err := a.Move(t.Context(), engine.Moving{Session: id, Make: b.to(t)})
	wantKind(t, err, terret.CodeSessionBusy)
	if page, err := a.store.ListSessions(t.Context(), terret.SessionFilter{}); err != nil || len(page.Items) != 1 {
		t.Errorf("%d sessions: %v", len(page.Items), err)
	}
}

// carry moves a session in which there was a turn, and prompts the successor.
func carry(t *testing.T, a, b node, what string) terret.Session {
	t.Helper()
	id := a.create(t)
	a.turn(t, id, "do it")
	made, _, err := a.Move(t.Context(), engine.Moving{Session: id, Make: b.to(t)})
	if err == nil {
		_, err = b.Prompt(t.Context(), engine.PromptRequest{Session: made.ID, Prompt: text(what)})
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestAccountAgain holds that the account comes again if the agent did not hear it.
func TestAccountAgain(t *testing.T) {
	t.Parallel()
	own, path := pgtest.ForTest(t), t.TempDir()
	a := named(t, own, path, "a", mock.Script{})
	b := named(t, own, path, "b", mock.Script{Turns: [][]mock.Step{{{Fail: terret.Errorf(terret.CodeNotAuthenticated, "sign in")}}, {{Text: "yes"}}}})
	made := carry(t, a, b, "go")
	b.until(t, made.ID, 0, terret.KindTurnError)
	b.turnQueued(t, made.ID, "go again")
	b.turnQueued(t, made.ID, "and again")
	said, accounts := b.heard(t, made.ID)
	equal(t, "heard", said, "go", "go again", "and again")
	if accounts != 2 {
		t.Errorf("%d accounts", accounts)
	}
}

// hasty is a store in which somebody removes a queued prompt just when it is moved.
type hasty struct {
	*postgres.Store
	remove string // the id of the prompt
}

func (s *hasty) Send(ctx context.Context, item terret.InboxItem) error {
	if s.remove != "" && item.Kind == terret.InboxPrompt {
		old := s.remove
		s.remove = ""
		if err := s.Drop(ctx, old); err != nil {
			return err
		}
	}
	return s.Store.Send(ctx, item)
}

// TestMoveRemoved holds that a prompt that is removed while it moves is gone in both
// sessions, and that those behind it move all the same.
func TestMoveRemoved(t *testing.T) {
	t.Parallel()
	own, path := pgtest.ForTest(t), t.TempDir()
	var store *hasty
	a := named(t, own, path, "a", mock.Script{}, func(c *engine.Config) {
		store = &hasty{Store: c.Store.(*postgres.Store)}
		c.Store = store
	})
	b := named(t, own, path, "b", mock.Script{})
	id := a.create(t)
	a.leave(t, id, "first")
	a.leave(t, id, "second")
	items, err := a.store.Pending(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := a.Move(t.Context(), engine.Moving{Session: id, Make: func(ctx context.Context, s terret.Session) (terret.Session, error) {
		store.remove = items[0].ID
		return b.to(t)(ctx, s)
	}})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "queue here", a.waiting(t, id))
	equal(t, "queue there", b.waiting(t, made.ID), "second")
}

// TestAccountAfterStop holds that the account comes again after a turn that was stopped, in
// which the agent may not have heard it, and after what told it was undone.
func TestAccountAfterStop(t *testing.T) {
	t.Parallel()
	own, path := pgtest.ForTest(t), t.TempDir()
	a := named(t, own, path, "a", mock.Script{})
	script := mock.Script{Turns: [][]mock.Step{{ask("make")}, {write("f", "1")}, {write("f", "2")}, {{Text: "yes"}}}}
	b := named(t, own, path, "b", script, func(c *engine.Config) { c.Home = t.TempDir() })
	made := carry(t, a, b, "stopped")
	b.until(t, made.ID, 0, terret.KindPermissionRequest)
	if err := b.Interrupt(t.Context(), made.ID, "ann"); err != nil {
		t.Fatal(err)
	}
	b.turnQueued(t, made.ID, "again")
	b.turnQueued(t, made.ID, "knows it")
	for range 2 {
		if _, err := b.Undo(t.Context(), made.ID, "ann", false); err != nil {
			t.Fatal(err)
		}
	}
	b.turnQueued(t, made.ID, "after undo")
	said, accounts := b.heard(t, made.ID)
	equal(t, "heard", said, "stopped", "again", "knows it", "after undo")
	if accounts != 3 {
		t.Errorf("%d accounts, want all but that of the third turn", accounts)
	}
}
