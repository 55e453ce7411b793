package engine_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// rewinding works in a folder with two files, with an agent that can go back.
func rewinding(t *testing.T, s mock.Script) (*fixture, string) {
	t.Helper()
	s.Rewinds = true
	f := newFixture(t, s, func(c *engine.Config) { c.Home = t.TempDir() })
	f.put("a", "a0")
	f.put("b", "b0")
	return f, f.session()
}

// went is what undo or redo did, in short.
func went(t *testing.T) func(engine.Rewound, error) string {
	return func(r engine.Rewound, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		out := strings.Join(r.Files, " ")
		if r.Conversation {
			out += "+talk"
		}
		if r.Note != "" {
			out += " (" + r.Note + ")"
		}
		return out
	}
}

func wantEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestUndoConversation(t *testing.T) {
	t.Parallel()
	f, id := rewinding(t, mock.Script{Turns: [][]mock.Step{
		{write("a", "a1"), {Text: "one"}}, {{Text: "two"}}, {write("a", "a3"), {Text: "three"}}, {{Text: "four"}},
	}})
	ctx := t.Context()
	f.run(id, "1")
	f.run(id, "2")
	f.run(id, "3")
	wantEqual(t, "undo of 3", went(t)(f.Undo(ctx, id, "ann", false)), "a+talk")
	wantEqual(t, "undo of 2", went(t)(f.Undo(ctx, id, "ann", false)), "+talk")
	wantEqual(t, "undo of 1", went(t)(f.Undo(ctx, id, "ann", false)), "a+talk")
	f.wantFiles("a=a0 b=b0")
	wantKind(t, second(f.Undo(ctx, id, "ann", false)), terret.CodeConflict)
	wantEqual(t, "redo of 1", went(t)(f.Redo(ctx, id, "ann", false)), "a+talk")
	if err := f.CloseSession(ctx, id, ""); err != nil { // the agent and the log remember
		t.Fatal(err)
	}
	wantEqual(t, "redo of 2", went(t)(f.Redo(ctx, id, "ann", false)), "+talk")
	if r := f.stored(id).Revert; r == nil || !r.CanUndo || !r.CanRedo {
		t.Errorf("revert %+v", r)
	}
	wantEqual(t, "redo of 3", went(t)(f.Redo(ctx, id, "ann", false)), "a+talk")
	wantKind(t, second(f.Redo(ctx, id, "ann", false)), terret.CodeConflict)
	f.wantFiles("a=a3 b=b0")
	wantEqual(t, "undo again", went(t)(f.Undo(ctx, id, "ann", false)), "a+talk")
	wantEqual(t, "undo of 2 again", went(t)(f.Undo(ctx, id, "ann", false)), "+talk")
	if got := last[terret.TurnComplete](t, f.run(id, "2, in other words")).Text; got != "two" {
		t.Errorf("the agent said %q, as if it had said it before", got)
	}
	wantKind(t, second(f.Redo(ctx, id, "ann", false)), terret.CodeConflict)
	wantEqual(t, "undo of the new turn", went(t)(f.Undo(ctx, id, "ann", false)), "+talk")
	wantEqual(t, "undo of 1 again", went(t)(f.Undo(ctx, id, "ann", false)), "a+talk")
	f.wantFiles("a=a0 b=b0")
	f.close()
	turns, err := f.store.Turns(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range all[terret.CheckpointRewound](f.log(id))[:3] {
		want := turns[2-i]
		if !d.Conversation || d.Note != "" || d.Files == nil || d.MessageID == "" || d.MessageID != want.MessageID || !cmp.Equal(d.Turns, []string{want.ID}) {
			t.Errorf("event %+v of turn %+v", d, want)
		}
	}
	checkLog(t, f.store, id)
}

// An agent that refuses keeps its conversation; the result and the log say so. If
// there are no files to take back, nothing has happened.
func TestUndoIsRefused(t *testing.T) {
	t.Parallel()
	var why atomic.Pointer[terret.Error]
	script := mock.Script{Rewinds: true, Turns: [][]mock.Step{{write("a", "a1")}, {{Text: "two"}}, {write("a", "a3")}}}
	d := mock.NewFunc("mock", func(terret.Session) mock.Script {
		s := script
		s.RewindError = why.Load()
		return s
	})
	f := openFixture(t, ":memory:", d, func(c *engine.Config) { c.Home = t.TempDir() })
	f.put("a", "a0")
	id, ctx := f.session(), t.Context()
	reopen := func(e *terret.Error) {
		why.Store(e)
		if err := f.CloseSession(ctx, id, ""); err != nil {
			t.Fatal(err)
		}
	}
	f.run(id, "1")
	f.run(id, "2")
	f.run(id, "3")
	refusal := terret.Errorf(terret.CodeUnsupported, "not today")
	reopen(refusal)
	wantEqual(t, "undo of 3", went(t)(f.Undo(ctx, id, "", false)), "a (the conversation was left unchanged: not today)")
	f.wantFiles("a=a1")
	wantKind(t, second(f.Undo(ctx, id, "", false)), terret.CodeUnsupported) // of 2, which is only words
	reopen(nil)
	wantEqual(t, "undo of 2", went(t)(f.Undo(ctx, id, "", false)), "+talk") // and of what was said in 3
	reopen(refusal)
	wantKind(t, second(f.Redo(ctx, id, "", false)), terret.CodeUnsupported)
	reopen(nil)
	wantEqual(t, "redo of 2", went(t)(f.Redo(ctx, id, "", false)), "+talk")
	wantEqual(t, "redo of 3", went(t)(f.Redo(ctx, id, "", false)), "a") // its words were never gone
	f.wantFiles("a=a3")
	f.close()
	var notes []string
	for _, d := range all[terret.CheckpointRewound](f.log(id)) {
		notes = append(notes, d.Direction+" "+d.Note)
	}
	wantEqual(t, "notes", notes, []string{"undo the conversation was left unchanged: not today", "undo ", "redo ", "redo "})
	checkLog(t, f.store, id)
}

// A conflict of files leaves the conversation alone.
func TestUndoConflictKeepsConversation(t *testing.T) {
	t.Parallel()
	f, id := rewinding(t, mock.Script{Turns: [][]mock.Step{{write("a", "a1"), {Text: "one"}}, {{Text: "two"}}}})
	f.run(id, "1")
	f.put("a", "mine")
	wantKind(t, second(f.Undo(t.Context(), id, "", false)), terret.CodeConflict)
	if got := last[terret.TurnComplete](t, f.run(id, "2")).Text; got != "two" {
		t.Errorf("the agent went back: %q", got)
	}
}

// Without snapshots the conversation goes back alone, and the result says so.
func TestUndoConversationOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Rewinds: true, Turns: [][]mock.Step{{write("a", "a1")}, {{Text: "two"}}}})
	id, ctx := f.session(), t.Context()
	wantKind(t, second(f.Undo(ctx, id, "", false)), terret.CodeConflict)
	f.run(id, "1")
	for _, rewind := range []func(context.Context, string, string, bool) (engine.Rewound, error){f.Undo, f.Redo} {
		got := went(t)(rewind(ctx, id, "", false))
		if !strings.HasPrefix(got, "+talk (files were left unchanged: ") || !strings.Contains(got, "undo is off") {
			t.Errorf("%q", got)
		}
	}
	f.wantFiles("a=a1")
	f.close()
	checkLog(t, f.store, id)
}

// Turns that the agent began by itself go with the prompt before.
func TestUndoOfBackgroundTurns(t *testing.T) {
	t.Parallel()
	f, id := rewinding(t, mock.Script{Turns: [][]mock.Step{
		{{Text: "one"}, {Background: []mock.Step{{Text: "by myself"}}}},
		{{Text: "two"}, {Background: []mock.Step{{Text: "again"}}}},
	}})
	ctx := t.Context()
	background := func(n int) {
		t.Helper()
		ends := 0
		f.until(id, 0, func(ev terret.Event) bool {
			if turnEnd(ev) {
				ends++
			}
			return ends == n
		})
	}
	f.run(id, "1")
	background(2)
	f.run(id, "2")
	background(4)
	turns, err := f.store.Turns(ctx, id)
	if err != nil || len(turns) != 4 {
		t.Fatal(turns, err)
	}
	wantEqual(t, "undo of 2", went(t)(f.Undo(ctx, id, "", false)), "+talk")
	wantEqual(t, "undo of 1", went(t)(f.Undo(ctx, id, "", false)), "+talk")
	wantKind(t, second(f.Undo(ctx, id, "", false)), terret.CodeConflict)
	wantEqual(t, "redo of 1", went(t)(f.Redo(ctx, id, "", false)), "+talk")
	f.close()
	r := all[terret.CheckpointRewound](f.log(id))
	wantEqual(t, "turns", [][]string{r[0].Turns, r[1].Turns, r[2].Turns},
		[][]string{{turns[2].ID, turns[3].ID}, {turns[0].ID, turns[1].ID}, {turns[0].ID, turns[1].ID}})
	checkLog(t, f.store, id)
}

// A prompt that the agent never got is no obstacle, and an agent that cannot be
// opened leaves the files to us.
func TestUndoWithoutTheAgent(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	d := mock.NewFunc("mock", func(terret.Session) mock.Script {
		s := mock.Script{Rewinds: true, Turns: [][]mock.Step{{write("a", "a1")}, {{Text: "two"}}}}
		if broken.Load() {
			s.OpenError = terret.Errorf(terret.CodeNotAuthenticated, "sign in")
		}
		return s
	})
	f := openFixture(t, ":memory:", d, func(c *engine.Config) { c.Home = t.TempDir() })
	f.put("a", "a0")
	id, ctx := f.session(), t.Context()
	f.run(id, "1")
	if err := f.CloseSession(ctx, id, ""); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	last[terret.TurnError](t, f.run(id, "2"))
	wantEqual(t, "undo of 1", went(t)(f.Undo(ctx, id, "", false)), "a (the conversation was left unchanged: the agent could not be opened: sign in)")
	f.wantFiles("a=a0")
	wantEqual(t, "redo of 1", went(t)(f.Redo(ctx, id, "", false)), "a")
	broken.Store(false)
	wantEqual(t, "undo of 2", went(t)(f.Undo(ctx, id, "", false)), " (the conversation was left unchanged: the agent does not know this prompt)")
	wantEqual(t, "undo of 1", went(t)(f.Undo(ctx, id, "", false)), "a+talk")
	wantEqual(t, "redo of 1", went(t)(f.Redo(ctx, id, "", false)), "a+talk")
	wantEqual(t, "redo of 2", went(t)(f.Redo(ctx, id, "", false)), "")
	f.close()
	checkLog(t, f.store, id)
}

func TestUndoElsewhere(t *testing.T) {
	t.Parallel()
	script := mock.New(mock.Script{Rewinds: true})
	f := fileFixture(t, "", script)
	id := f.session()
	f.run(id, "1")
	g := fileFixture(t, f.path, script)
	err := second(g.Undo(t.Context(), id, "", false))
	wantKind(t, err, terret.CodeConflict)
	if err == nil || !strings.Contains(err.Error(), "close it there") {
		t.Errorf("error %v", err)
	}
}

// slow is an agent that takes its time to go back.
type slow struct{ *mock.Driver }

func (s slow) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	a, err := s.Driver.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	return slowAgent{a, a.(terret.Rewinder)}, nil
}

type slowAgent struct {
	terret.Agent
	terret.Rewinder
}

func (s slowAgent) Rewind(ctx context.Context, message string) error {
	select {
	case <-time.After(20 * time.Second):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return s.Rewinder.Rewind(ctx, message)
}

// An agent that goes back is not idle, and is again after that.
func TestIdleWhileUndone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := openFixture(t, ":memory:", slow{mock.New(mock.Script{Rewinds: true})}, func(c *engine.Config) { c.IdleAfter = 15 * time.Second })
		f.limit = 24 * time.Hour
		id := f.session()
		f.run(id, "1")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel) // whoever asked for it is gone, but it has begun
		r, err := f.Undo(ctx, id, "", false)
		if err != nil || !r.Conversation {
			t.Errorf("%+v, %v", r, err)
		}
		if f.stored(id).Owner == "" {
			t.Error("the agent was closed in the middle")
		}
		time.Sleep(16 * time.Second)
		synctest.Wait()
		if f.stored(id).Owner != "" {
			t.Error("the agent is never closed")
		}
		f.close()
		checkLog(t, f.store, id)
	})
}

// An agent may speak, or ask, while its session goes back: what it says begins a turn
// afterwards, and is not lost.
func TestSpeaksWhileRewinding(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]bool{"says": false, "asks": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPuppet()
			f, s := faultyFixture(t, p)
			id := f.session()
			turn := f.prompt(id, "go").ID
			a := p.agent(t)
			a.prompted(t)
			a.complete(t, turn)
			f.ended(id, turn)
			var once sync.Once
			var work sync.WaitGroup
			speak := func() {
				if asks {
					work.Go(func() { _, _ = a.req.Host.Ask(t.Context(), hook("1", terret.GatePreTool)) })
					for range 10_000 { // let it get as far as it can
						runtime.Gosched()
					}
					return
				}
				a.say(t, terret.Notification{Text: "first"}, terret.MessageComplete{MessageID: "m", Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text("still here")}})
				a.say(t, terret.Notification{Text: "last"})
			}
			s.set(func() { s.turns = func() { once.Do(speak) } })
			if _, err := f.Undo(t.Context(), id, "", false); err == nil {
				t.Error("there was something to undo")
			}
			kind := terret.KindMessageComplete
			if asks {
				kind = terret.KindToolPre
			}
			f.until(id, 0, isKind(kind))
			work.Wait()
			a.complete(t, "")
			f.close()
			checkLog(t, f.store, id)
			said := ""
			for _, ev := range readLog(t, f.store, id) {
				if n, ok := ev.Data.(terret.Notification); ok {
					said += n.Text + " "
				}
			}
			if !asks && said != "first last " {
				t.Errorf("it said %q", said)
			}
		})
	}
}
