package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

func TestPersonDecides(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{ask("make all")}}})
	id := f.session()
	turn := f.prompt(id, "go")
	r := f.request(id, 1)
	if r.State != terret.RequestOpen || r.Gate != terret.GatePermission || r.ExpiresAt != nil || r.Turn != turn.ID {
		t.Errorf("request %+v", r)
	}
	wantKind(t, f.Decide(t.Context(), terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorAnswer}), terret.CodeInvalidRequest)
	wantKind(t, f.Decide(t.Context(), terret.Decision{RequestID: "req_none", Behavior: terret.BehaviorAllow}), terret.CodeNotFound)
	f.decide(terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorDeny, By: "ann", Reason: "not now", Rule: "Bash"})
	events := f.ended(id, turn.ID)
	d := last[terret.PermissionDecision](t, events)
	if d.Source != terret.ByUser || d.By != "ann" || d.Reason != "not now" || d.Scope != terret.ScopeOnce || d.Rule != "" || d.InputHash == "" {
		t.Errorf("decision %+v", d)
	}
	if end := last[terret.TurnComplete](t, events); len(end.Denials) != 1 || end.Denials[0].Reason != "not now" {
		t.Errorf("denials %+v", end.Denials)
	}
	err := f.Decide(t.Context(), terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorAllow})
	wantKind(t, err, terret.CodeAlreadyDecided)
	if !strings.Contains(err.Error(), "ann") {
		t.Errorf("%q does not say who", err)
	}
	f.close()
	stored, err := f.store.Request(t.Context(), r.RequestID)
	if err != nil || !stored.Delivered || stored.Decision.By != "ann" {
		t.Errorf("stored %+v, %v", stored, err)
	}
	checkLog(t, f.store, id)
}

// An answer that was stored although the store could not say so reaches the agent.
func TestAnswerOfUnknownFate(t *testing.T) {
	t.Parallel()
	f, faults := faultyFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{ask("make")}}}))
	id := f.session()
	turn := f.prompt(id, "go")
	r := f.request(id, 1)
	looked := make(chan struct{}, 1)
	faults.set(func() {
		faults.looked = looked
		faults.answer = func(d terret.Decision) error {
			if err := f.store.Answer(context.Background(), d); err != nil {
				return err
			}
			for range 2 { // the watcher sees it, and leaves it to Decide
				engine.LookAgain(f.Engine)
				receive(t, looked)
			}
			return errDisk
		}
	})
	err := f.Decide(t.Context(), terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorAllow, By: "ann"})
	if !errors.Is(err, errDisk) {
		t.Errorf("the decision: %v", err)
	}
	if d := last[terret.PermissionDecision](t, f.ended(id, turn.ID)); d.By != "ann" {
		t.Errorf("decision %+v", d)
	}
}

// A decision for more than once makes a rule before the agent hears of it, so that
// the next request is decided by that.
func TestScopes(t *testing.T) {
	t.Parallel()
	p := mock.Script{Turns: [][]mock.Step{{ask("go vet ./..."), ask("go vet ./...")}}}
	for _, scope := range []terret.Scope{terret.ScopeSession, terret.ScopeAlways} {
		f, faults := faultyFixture(t, mock.New(p))
		slow, answered, looked := make(chan struct{}), make(chan struct{}, 1), make(chan struct{}, 1)
		faults.set(func() {
			faults.put = func(terret.Rule) {
				answered <- struct{}{}
				<-slow
			}
		})
		id, other := f.session(), f.session()
		turn := f.prompt(id, "go")
		r := f.request(id, 1)
		decided := make(chan error, 1)
		go func() {
			decided <- f.Decide(context.Background(), terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorAllow, Scope: scope, By: "ann"})
		}()
		receive(t, answered)
		faults.set(func() { faults.looked = looked })
		for range 2 { // meanwhile the watcher sees the answer in the store
			late := terret.InboxItem{ID: terret.NewID(terret.PrefixControl), Session: other, Kind: terret.InboxClose, Body: terret.JSON(`{}`)}
			if err := faults.Send(t.Context(), late); err != nil {
				t.Fatal(err)
			}
			receive(t, looked)
		}
		faults.set(func() { faults.looked = nil })
		close(slow)
		if err := <-decided; err != nil {
			t.Fatal(err)
		}
		events := f.ended(id, turn.ID)
		ds := all[terret.PermissionDecision](events)
		if len(ds) != 2 || ds[0].Rule == "" || ds[1].Source != terret.ByRule || ds[1].Rule != ds[0].Rule {
			t.Errorf("%s: decisions %+v", scope, ds)
		}
		rules, err := f.store.ListRules(t.Context(), id)
		if err != nil || len(rules) != 1 || rules[0].Hits != 1 || rules[0].MadeBy != "ann" || rules[0].Scope != scope {
			t.Errorf("%s: rules %+v, %v", scope, rules, err)
		}
		f.prompt(other, "go")
		elsewhere := f.until(other, 0, func(ev terret.Event) bool {
			return ev.Kind() == "permission.decision" || isState(terret.SessionWaiting)(ev)
		})
		if _, asked := elsewhere[len(elsewhere)-1].Data.(terret.SessionStateChange); asked != (scope == terret.ScopeSession) {
			t.Errorf("%s: another session is asked: %v", scope, asked)
		}
	}
}

func TestScopeNeedsARule(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{ask("eval $X")}}})
	id := f.session()
	f.prompt(id, "go")
	r := f.request(id, 1)
	d := terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorAllow, Scope: terret.ScopeAlways}
	wantKind(t, f.Decide(t.Context(), d), terret.CodeInvalidRequest)
	d.Rule = "Bash(("
	wantKind(t, f.Decide(t.Context(), d), terret.CodeInvalidRequest)
	if rules, err := f.store.ListRules(t.Context(), id); err != nil || len(rules) > 0 {
		t.Errorf("rules %+v, %v", rules, err)
	}
	d.Rule, d.Behavior = "Bash(eval *)", terret.BehaviorDeny
	f.decide(d)
	if rules, _ := f.store.ListRules(t.Context(), ""); len(rules) != 1 || rules[0].Effect != terret.EffectDeny {
		t.Errorf("rules %+v", rules)
	}
}

// Rules that were suggested allow the same again only together.
func TestSeveralSuggestions(t *testing.T) {
	t.Parallel()
	both := mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"go vet ./... && npm test"}`), Ask: true}}
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{both, both}}})
	id := f.session()
	turn := f.prompt(id, "go").ID
	r := f.request(id, 1)
	d := terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorDeny, Scope: terret.ScopeSession}
	err := f.Decide(t.Context(), d)
	wantKind(t, err, terret.CodeInvalidRequest) // which of them?
	if err == nil || !strings.Contains(err.Error(), "Bash(go vet") || !strings.Contains(err.Error(), "Bash(npm test") {
		t.Errorf("error %v", err)
	}
	d.Behavior = terret.BehaviorAllow
	f.decide(d)
	ds := all[terret.PermissionDecision](f.ended(id, turn))
	if len(ds) != 2 || ds[1].Source != terret.ByRule {
		t.Errorf("decisions %+v", ds)
	}
	rules, err := f.store.ListRules(t.Context(), id)
	if err != nil || len(rules) != 2 || ds[0].Rule != rules[0].Pattern+", "+rules[1].Pattern {
		t.Errorf("rules %+v, %v of %q", rules, err, ds[0].Rule)
	}
}

// A suggestion of an agent that is no rule makes none.
func TestBadSuggestion(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{
		{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"eval $x"}`), Ask: true, Suggest: []string{"Bash(x)", "Bash(("}}},
	}}})
	id := f.session()
	f.prompt(id, "go")
	r := f.request(id, 1)
	d := terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorAllow, Scope: terret.ScopeAlways}
	wantKind(t, f.Decide(t.Context(), d), terret.CodeInvalidRequest)
	if rules, err := f.store.ListRules(t.Context(), id); err != nil || len(rules) > 0 {
		t.Errorf("rules %+v, %v", rules, err)
	}
}

func TestInputIsBound(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{ask("make all")}}})
	f.rule(terret.EffectDeny, "Bash(rm *)")
	id := f.session()
	turn := f.prompt(id, "go")
	r := f.request(id, 1)
	hash := terret.InputHash(terret.JSON(`{"command":"make all"}`))
	wrong := terret.InputHash(terret.JSON(`{"command":"make none"}`))
	d := terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorAllow, InputHash: wrong}
	wantKind(t, f.Decide(t.Context(), d), terret.CodeConflict)
	d.InputHash, d.UpdatedInput = hash, terret.JSON(`{"command":"rm -rf /"}`)
	wantKind(t, f.Decide(t.Context(), d), terret.CodeInvalidRequest)
	d.UpdatedInput = terret.JSON(`{"command": "make one"}`)
	f.decide(d)
	events := f.ended(id, turn.ID)
	if got := terret.TextOf(last[terret.ToolPost](t, events).Content); !strings.Contains(got, "make one") {
		t.Errorf("the agent was given %q", got)
	}
}

// Of many answers exactly one wins.
func TestManyDecide(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{ask("make")}}})
	id := f.session()
	turn := f.prompt(id, "go")
	r := f.request(id, 1)
	var won atomic.Int32
	var winner atomic.Value
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			d := terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorAllow, By: string(rune('A' + i))}
			if i%2 == 0 {
				d.Behavior = terret.BehaviorDeny
			}
			switch err := f.Decide(context.Background(), d); {
			case err == nil:
				won.Add(1)
				winner.Store(d.By)
			case !errors.Is(err, terret.ErrAlreadyDecided):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 {
		t.Errorf("%d winners", won.Load())
	}
	if d := last[terret.PermissionDecision](t, f.ended(id, turn.ID)); d.By != winner.Load() {
		t.Errorf("decided by %q, but %q was told so", d.By, winner.Load())
	}
	f.close()
	checkLog(t, f.store, id)
}

// A decision may stop the turn as well.
func TestDecideAndInterrupt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{ask("make"), {Hang: true}}}})
	id := f.session()
	turn := f.prompt(id, "go")
	f.decide(terret.Decision{RequestID: f.request(id, 1).RequestID, Behavior: terret.BehaviorDeny, Interrupt: true, By: "ann"})
	e := last[terret.TurnError](t, f.ended(id, turn.ID)).Error
	if e.Code != terret.CodeInterrupted || !strings.Contains(e.Message, "ann") {
		t.Errorf("end %+v", e)
	}
}

// An answer given through another store on the same file reaches the agent; so do
// prompts, interrupts, updates and closing.
func TestOtherEngine(t *testing.T) {
	t.Parallel()
	script := mock.New(mock.Script{Turns: [][]mock.Step{{ask("make"), {Text: "thanks"}}, {{Text: "x"}, {Hang: true}}, {{Text: "ok"}}}})
	a := fileFixture(t, "", script)
	b := fileFixture(t, a.path, script)
	id := a.session()
	turn := a.prompt(id, "go")
	b.allow(b.request(id, 1).RequestID)
	if got := last[terret.TurnComplete](t, b.ended(id, turn.ID)).Text; got != "thanks" {
		t.Errorf("text %q", got)
	}
	foreign := b.promptWhen(id, "hang", engine.WhenReject)
	if foreign.State != terret.TurnQueued {
		t.Errorf("a prompt to another process is %s", foreign.State)
	}
	seen := b.until(id, 0, func(ev terret.Event) bool { return ev.Turn == foreign.ID && ev.Kind() == "message.complete" })
	if origin := last[terret.TurnStart](t, seen).Origin; origin != terret.OriginUser {
		t.Errorf("a prompt that did not wait came from %s", origin)
	}
	_, err := b.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("x")})
	wantKind(t, err, terret.CodeSessionBusy)
	wantKind(t, b.Delete(t.Context(), id, false), terret.CodeSessionBusy)
	wantKind(t, b.Delete(t.Context(), id, true), terret.CodeConflict)
	title := "from b"
	if err := b.Update(t.Context(), id, terret.SessionUpdated{Title: &title}, "bob"); err != nil {
		t.Fatal(err)
	}
	b.until(id, 0, func(ev terret.Event) bool { return ev.By == "bob" && ev.Kind() == "session.updated" })
	if err := b.Interrupt(t.Context(), id, "bob"); err != nil {
		t.Fatal(err)
	}
	if e := last[terret.TurnError](t, b.ended(id, foreign.ID)).Error; !strings.Contains(e.Message, "bob") {
		t.Errorf("end %+v", e)
	}
	_, err = b.Undo(t.Context(), id, "", false)
	wantKind(t, err, terret.CodeConflict)
	if err := b.CloseSession(t.Context(), id, "bob"); err != nil {
		t.Fatal(err)
	}
	b.until(id, 0, isKind("session.end"))
	b.ended(id, b.promptWhen(id, "mine now", engine.WhenQueue).ID)
	a.close()
	b.close()
	checkLog(t, a.store, id)
}

// What was meant for a turn that is over does not hit the next one.
func TestLateInterrupt(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "a"}}, {g.step()}}})
	id := f.session()
	old := f.prompt(id, "1").ID
	f.ended(id, old)
	for _, kind := range []terret.InboxKind{terret.InboxInterrupt, terret.InboxKill, terret.InboxClose} {
		item := terret.InboxItem{ID: terret.NewID(terret.PrefixControl), Session: id, Kind: kind, Body: terret.JSON(`{"turn":"` + old + `"}`)}
		if err := f.store.Send(t.Context(), item); err != nil {
			t.Fatal(err)
		}
	}
	turn := f.prompt(id, "2")
	g.wait(t)
	for { // until they have been dealt with
		items, err := f.store.Pending(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(items) == 0 {
			break
		}
		if _, err := f.store.Wait(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	close(g.open)
	if events := f.ended(id, turn.ID); len(all[terret.TurnComplete](events)) != 1 {
		t.Errorf("the turn ended with %v", kindsOf(events))
	}
}
