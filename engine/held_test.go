package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// shownAs waits until the log shows that queue, as "text", or "(text)" of a held prompt,
// and returns what the log said last.
func (f *fixture) shownAs(session string, want ...string) terret.QueueChange {
	f.t.Helper()
	events := f.until(session, 0, func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.QueueChange)
		return ok && cmp.Equal(want, wordsOf(d.Queue))
	})
	return last[terret.QueueChange](f.t, events)
}

func wordsOf(queue []terret.QueuedPrompt) (out []string) {
	for _, q := range queue {
		if q.Held {
			q.Text = "(" + q.Text + ")"
		}
		out = append(out, q.Text)
	}
	return out
}

// changes lists what the log says happened to the queue, and by whom.
func (f *fixture) changes(session string) (out []string) {
	f.t.Helper()
	for _, ev := range f.log(session) {
		if d, ok := ev.Data.(terret.QueueChange); ok {
			out = append(out, string(d.Change)+" by "+ev.By)
		}
	}
	return out
}

func (f *fixture) started(session string) (out []string) {
	f.t.Helper()
	for _, s := range all[terret.TurnStart](f.log(session)) {
		out = append(out, terret.TextOf(s.Prompt))
	}
	return out
}

// TestStopHoldsTheQueue stops a turn while others wait: they are held until somebody sends
// them on, whatever is prompted meanwhile.
func TestStopHoldsTheQueue(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		g := newGate()
		f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}, {{Text: "ok"}}}})
		id := f.session()
		first := f.prompt(id, "first")
		g.wait(t)
		a := f.promptWhen(id, "a", engine.WhenQueue)
		f.shownAs(id, "a")
		b := f.promptWhen(id, "b", engine.WhenQueue)
		f.shownAs(id, "a", "b")
		stop := f.Interrupt
		if kill {
			stop = f.Kill
		}
		if err := stop(t.Context(), id, "bo"); err != nil {
			t.Fatal(err)
		}
		if held := f.shownAs(id, "(a)", "(b)"); held.Change != terret.QueueHeld || held.Reason != "stopped by bo" || held.Count != 2 {
			t.Errorf("said %+v", held)
		}
		f.ended(id, first.ID)
		f.run(id, "meanwhile")
		f.ended(id, f.promptWhen(id, "and this", engine.WhenQueue).ID)
		queue, err := f.Queue(t.Context(), id)
		if err != nil || len(queue) != 2 || !queue[0].Held || !queue[1].Held {
			t.Fatalf("queue %+v, %v", queue, err)
		}
		edited := text("a2")
		if err := f.EditQueued(t.Context(), engine.QueueEdit{Session: id, Turn: a.ID, Prompt: &edited, By: "eve"}); err != nil {
			t.Fatal(err)
		}
		f.shownAs(id, "(a2)", "(b)")
		if err := f.SendQueued(t.Context(), id, b.ID, "cy"); err != nil {
			t.Fatal(err)
		}
		f.ended(id, b.ID)
		wantKind(t, f.SendQueued(t.Context(), id, b.ID, "cy"), terret.CodeConflict)
		if err := f.DropQueued(t.Context(), id, a.ID, "di"); err != nil {
			t.Fatal(err)
		}
		f.close()
		if diff := cmp.Diff([]string{"first", "meanwhile", "and this", "b"}, f.started(id)); diff != "" {
			t.Errorf("ran (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"queued by tester", "queued by tester", "held by bo", "edited by eve", "dropped by di"}, f.changes(id)); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		checkLog(t, f.store, id)
	}
}

// TestHeldQueueStaysHeld gives the session to another process: what was held still is, and
// what only waited for its turn runs behind the next prompt, as it always did.
func TestHeldQueueStaysHeld(t *testing.T) {
	t.Parallel()
	g := newGate()
	script := mock.New(mock.Script{Turns: [][]mock.Step{{g.step()}, {{Text: "ok"}}}})
	f := fileFixture(t, "", script)
	id := f.session()
	first := f.prompt(id, "first")
	g.wait(t)
	f.promptWhen(id, "held", engine.WhenQueue)
	if err := f.Interrupt(t.Context(), id, "bo"); err != nil {
		t.Fatal(err)
	}
	f.ended(id, first.ID)
	f.shownAs(id, "(held)")
	f.close()
	f.dir = t.TempDir()
	left := terret.NewID(terret.PrefixTurn)
	if err := f.store.Send(t.Context(), inQueue(id, left)); err != nil {
		t.Fatal(err)
	}
	next := fileFixture(t, f.path, mock.New(mock.Script{Turns: [][]mock.Step{{{Text: "ok"}}}}))
	queue, err := next.Queue(t.Context(), id) // of a session that nobody owns
	if err != nil || len(queue) != 2 || !queue[0].Held || queue[1].Held {
		t.Fatalf("queue %+v, %v", queue, err)
	}
	next.run(id, "go")
	next.ended(id, left)
	if err := next.SendQueued(t.Context(), id, "", "cy"); err != nil {
		t.Fatal(err)
	}
	next.ended(id, queue[0].ID)
	if diff := cmp.Diff([]string{"first", "go", "x", "held"}, next.started(id)); diff != "" {
		t.Errorf("ran (-want +got):\n%s", diff)
	}
}

// TestQueueFromElsewhere has another process queue, edit, move, drop and send on: the log
// says each, although only the owner writes to it.
func TestQueueFromElsewhere(t *testing.T) {
	t.Parallel()
	g, h := newGate(), newGate()
	owner := fileFixture(t, "", mock.New(mock.Script{Turns: [][]mock.Step{{g.step()}, {h.step()}, {{Text: "ok"}}}}))
	other := fileFixture(t, owner.path, mock.New(mock.Script{Turns: [][]mock.Step{{{Text: "ok"}}}}))
	id := owner.session()
	first := owner.prompt(id, "first")
	g.wait(t)
	a := other.promptWhen(id, "a", engine.WhenQueue)
	owner.shownAs(id, "a")
	b := other.promptWhen(id, "b", engine.WhenQueue)
	owner.shownAs(id, "a", "b")
	edited := text("A")
	if err := other.EditQueued(t.Context(), engine.QueueEdit{Session: id, Turn: a.ID, Prompt: &edited}); err != nil {
		t.Fatal(err)
	}
	owner.shownAs(id, "A", "b")
	if err := other.EditQueued(t.Context(), engine.QueueEdit{Session: id, Turn: b.ID, Before: a.ID}); err != nil {
		t.Fatal(err)
	}
	owner.shownAs(id, "b", "A")
	if err := other.Interrupt(t.Context(), id, "bo"); err != nil {
		t.Fatal(err)
	}
	owner.shownAs(id, "(b)", "(A)")
	owner.ended(id, first.ID)
	owner.prompt(id, "second")
	h.wait(t)
	if err := other.SendQueued(t.Context(), id, a.ID, "cy"); err != nil {
		t.Fatal(err)
	}
	owner.shownAs(id, "(b)", "A")
	if err := other.DropQueued(t.Context(), id, b.ID, "di"); err != nil {
		t.Fatal(err)
	}
	owner.shownAs(id, "A")
	close(h.open)
	owner.ended(id, a.ID)
	if diff := cmp.Diff([]string{"first", "second", "A"}, owner.started(id)); diff != "" {
		t.Errorf("ran (-want +got):\n%s", diff)
	}
}

// TestQueueOfNobody changes the queue of a session that nobody owns: the log says so.
func TestQueueOfNobody(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "ok"}}}})
	id := f.session()
	f.run(id, "first")
	left := terret.NewID(terret.PrefixTurn)
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Send(t.Context(), inQueue(id, left)); err != nil {
		t.Fatal(err)
	}
	edited := text("y")
	if err := f.EditQueued(t.Context(), engine.QueueEdit{Session: id, Turn: left, Prompt: &edited, By: "eve"}); err != nil {
		t.Fatal(err)
	}
	f.shownAs(id, "y")
	if err := f.DropQueued(t.Context(), id, left, "di"); err != nil {
		t.Fatal(err)
	}
	if got := f.shownAs(id); got.Change != terret.QueueDropped {
		t.Errorf("said %+v", got)
	}
}

// TestStopLeavesTheBus holds that what a team's agents say is not held: the team waits for
// the answer.
func TestStopLeavesTheBus(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}, {{Text: "ok"}}}})
	id := f.session()
	f.prompt(id, "first")
	g.wait(t)
	r := engine.PromptRequest{Session: id, Prompt: text("from bob"), When: engine.WhenQueue, By: "bob", Origin: terret.OriginBus}
	said, err := f.Prompt(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Interrupt(t.Context(), id, "bo"); err != nil {
		t.Fatal(err)
	}
	f.ended(id, said.ID)
}

// TestHarnessStopsRun holds that a stop by nobody, as those of a team, holds nothing.
func TestHarnessStopsRun(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}, {{Text: "ok"}}}})
	id := f.session()
	f.prompt(id, "first")
	g.wait(t)
	a := f.promptWhen(id, "a", engine.WhenQueue)
	if err := f.Interrupt(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	f.ended(id, a.ID)
}
