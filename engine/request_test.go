package engine_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// asked has the agent ask, and returns what it hears.
func (a *puppetAgent) asked(t *testing.T, q terret.Ask) <-chan terret.Decision {
	t.Helper()
	heard := make(chan terret.Decision, 1)
	go func() {
		d, err := a.req.Host.Ask(t.Context(), q)
		if err != nil {
			t.Error(err)
		}
		heard <- d
	}()
	return heard
}

// An input that was edited at the gate before a tool is checked like one that was edited
// at the permission gate.
func TestEditBeforeATool(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id := f.session(wantGates(terret.GatePreTool), func(s *terret.Session) { s.Options.Deny = []string{"Bash(rm *)"} })
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	heard := a.asked(t, hook("1", terret.GatePreTool)) // make
	r := f.request(id, 1)
	d := terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorAllow, UpdatedInput: terret.JSON(`{"command":"rm -rf /"}`)}
	wantKind(t, f.Decide(t.Context(), d), terret.CodeInvalidRequest)
	d.UpdatedInput, d.InputHash = terret.JSON(`{"command":"make all"}`), terret.InputHash(terret.JSON(`{"command":"make none"}`))
	wantKind(t, f.Decide(t.Context(), d), terret.CodeConflict)
	d.InputHash, d.Scope = "", terret.ScopeSession // no rule could come of it
	wantKind(t, f.Decide(t.Context(), d), terret.CodeInvalidRequest)
	d.Scope = terret.ScopeOnce
	f.decide(d)
	if d := receive(t, heard); d.Behavior != terret.BehaviorAllow || !strings.Contains(string(d.UpdatedInput), "make all") {
		t.Errorf("the agent heard %+v", d)
	}
	a.complete(t, turn)
	f.ended(id, turn)
}

// Agents get answers by the ids of their questions, whatever they were given by: some know
// nothing else.
func TestAnswersByID(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id := f.session()
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	heard := a.asked(t, terret.Ask{Key: "1", Gate: terret.GateQuestion, Event: terret.Event{Data: terret.QuestionRequest{Questions: []terret.Question{
		{ID: "q1", Header: "Color", Text: "Which color?"}, {ID: "q2", Header: "Size", Text: "Which size?"}, {ID: "q3", Text: "Which shape?"}, {ID: "q4", Text: "And else?"},
	}}}})
	d := terret.Decision{RequestID: f.request(id, 1).RequestID, Behavior: terret.BehaviorAnswer}
	for _, unknown := range []string{"q5", ""} {
		d.Answers = map[string]terret.Choice{"q1": {"red"}, unknown: {"blue"}}
		wantKind(t, f.Decide(t.Context(), d), terret.CodeInvalidRequest)
	}
	d.Answers = map[string]terret.Choice{"q1": {"red"}, "Color": {"blue"}, "Size": {"L"}, "Which shape?": {"round"}}
	f.decide(d)
	want := map[string]terret.Choice{"q1": {"red"}, "q2": {"L"}, "q3": {"round"}}
	if got := receive(t, heard).Answers; !reflect.DeepEqual(got, want) {
		t.Errorf("the agent heard %v, want %v", got, want)
	}
	a.complete(t, turn)
	f.ended(id, turn)
}

// The suggested rules are about the input that the agent gave. Whoever edits it has
// allowed something else.
func TestScopeOfAnEditedInput(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id := f.session()
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	heard := make(chan terret.Decision, 1)
	go func() {
		d, _ := a.ask("1", "git push --force")
		heard <- d
	}()
	d := terret.Decision{
		RequestID: f.request(id, 1).RequestID, Behavior: terret.BehaviorAllow, Scope: terret.ScopeSession, UpdatedInput: terret.JSON(`{"command":"git status"}`),
	}
	wantKind(t, f.Decide(t.Context(), d), terret.CodeInvalidRequest)
	d.Rule = "Bash(git status)"
	f.decide(d)
	receive(t, heard)
	rules, err := f.store.ListRules(t.Context(), id)
	if err != nil || len(rules) != 1 || rules[0].Pattern != "Bash(git status)" {
		t.Errorf("rules %+v: %v", rules, err)
	}
	a.complete(t, turn)
	f.ended(id, turn)
}

// No tool is allowed in a turn that was stopped, whatever rules, policies and programs
// say.
func TestNoToolsAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id := f.session(withPolicy(terret.PolicyAutoApprove), func(s *terret.Session) { s.Options.Allow = []string{"Bash(make)"} })
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	if err := f.Interrupt(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	receive(t, a.interrupts) // the agent does not notice
	if d, err := a.ask("1", "rm -rf build"); err != nil || d.Behavior != terret.BehaviorDeny || d.Source != terret.ByInterrupt {
		t.Errorf("the agent heard %+v: %v", d, err)
	}
	for key, command := range map[string]string{"2": "make", "3": "ls"} { // a rule, and what the agent may decide by itself
		q := hook(key, terret.GatePreTool)
		q.Event.Data = terret.ToolPre{ToolID: key, Name: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"` + command + `"}`)}
		if d := receive(t, a.asked(t, q)); d.Behavior != terret.BehaviorDeny || d.Source != terret.ByInterrupt {
			t.Errorf("%s: the agent heard %+v", command, d)
		}
	}
	a.complete(t, turn)
	f.ended(id, turn)
}

// A request that was decided keeps nothing of its input, which may be large, in memory.
func TestDecidedRequestsAreSmall(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id := f.session(withPolicy(terret.PolicyAutoApprove))
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	ask := func() (input, raw weak.Pointer[byte]) {
		in, line := terret.JSON(`{"file_path":"x","content":"`+strings.Repeat("x", 1<<16)+`"}`), []byte(strings.Repeat("y", 1<<16))
		_, err := a.req.Host.Ask(t.Context(), terret.Ask{Key: "1", Gate: terret.GatePermission, Event: terret.Event{
			Raw: line, Data: terret.PermissionRequest{ToolID: "1", Tool: "Write", Class: terret.ClassEdit, Input: in},
		}})
		if err != nil {
			t.Error(err)
		}
		return weak.Make(&in[0]), weak.Make(&line[0])
	}
	input, raw := ask()
	for deadline := time.Now().Add(patience); input.Value() != nil || raw.Value() != nil; {
		if time.Now().After(deadline) {
			t.Fatal("it is still in memory")
		}
		runtime.GC()
	}
	a.complete(t, turn)
	f.ended(id, turn)
}

// An agent that asks just as the only decider leaves does not wait for it. The moment is
// met by chance, a few times in this many rounds.
func TestDeciderLeavesAsAnAgentAsks(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p, func(c *engine.Config) {
		c.Timeouts = map[terret.Gate]time.Duration{terret.GateStop: time.Minute}
	})
	id := f.session()
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	for i := range 3000 {
		release := f.Want(id, terret.GateStop)
		begin := make(chan struct{})
		var group sync.WaitGroup
		group.Go(func() {
			<-begin
			for range i % 50 {
				runtime.Gosched()
			}
			release()
		})
		var d terret.Decision
		var err error
		group.Go(func() {
			<-begin
			d, err = a.req.Host.Ask(t.Context(), hook(fmt.Sprint(i), terret.GateStop))
		})
		close(begin)
		group.Wait()
		if err != nil || d.Source == terret.ByTimeout {
			t.Fatalf("round %d: the agent heard %+v: %v", i, d, err)
		}
	}
	a.complete(t, turn)
	f.ended(id, turn)
}

// halfway is a store that does something once, between the first and the second look for
// requests.
type halfway struct {
	Store
	mu  sync.Mutex
	run func()
}

func (h *halfway) once() {
	h.mu.Lock()
	run := h.run
	h.run = nil
	h.mu.Unlock()
	if run != nil {
		run()
	}
}

func (h *halfway) ListRequests(ctx context.Context, q terret.RequestFilter) (terret.Page[terret.Request], error) {
	page, err := h.Store.ListRequests(ctx, q)
	h.once()
	return page, err
}

func (h *halfway) Answered(ctx context.Context) ([]terret.Request, error) {
	found, err := h.Store.Answered(ctx)
	h.once()
	return found, err
}

// An answer that is given while the session's next owner looks for requests is in the log.
func TestAnswerDuringTakeover(t *testing.T) {
	t.Parallel()
	p, q := newPuppet(), newPuppet()
	first := fileFixture(t, "", p)
	store := &halfway{}
	second := fileFixture(t, first.path, q, func(c *engine.Config) {
		store.Store = c.Store.(Store)
		c.Store = store
	})
	id := first.session()
	first.prompt(id, "go")
	a := p.agent(t)
	a.prompted(t)
	go func() { _, _ = a.ask("1", "make") }()
	r := first.request(id, 1)
	engine.Fence(first.Engine, id) // as if its lease were lost
	if err := first.store.Release(t.Context(), id, first.stored(id).Epoch); err != nil {
		t.Fatal(err)
	}
	store.mu.Lock()
	store.run = func() {
		if err := first.store.Answer(context.Background(), terret.Decision{
			RequestID: r.RequestID, Gate: r.Gate, Behavior: terret.BehaviorAllow, Source: terret.ByUser, Scope: terret.ScopeOnce, By: "ann",
		}); err != nil {
			t.Error(err)
		}
	}
	store.mu.Unlock()
	turn := second.prompt(id, "again").ID
	b := q.agent(t)
	b.prompted(t)
	b.complete(t, turn)
	second.ended(id, turn)
	second.close()
	var decisions []string
	for _, ev := range readLog(t, first.store, id) {
		if d, ok := terret.DecisionOf(ev.Data); ok && d.RequestID == r.RequestID {
			decisions = append(decisions, fmt.Sprint(d.Behavior, " by ", d.By))
		}
	}
	if len(decisions) != 1 || decisions[0] != "allow by ann" {
		t.Errorf("the log has %q", decisions)
	}
}

// A turn that is stopped ends, though rules are being compared that would take hours.
func TestStopWhileJudging(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	var deny []string
	for i := range 500 {
		deny = append(deny, fmt.Sprintf("Edit(%s%d)", strings.Repeat("{*,a*}", 320), i))
	}
	id := f.session(withPolicy(terret.PolicyAutoApprove), func(s *terret.Session) { s.Options.Deny = deny })
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	heard := make(chan terret.Decision, 1)
	go func() {
		input := terret.JSON(`{"file_path":"` + strings.Repeat("a", 3000) + `","content":""}`)
		d, _ := a.req.Host.Ask(context.Background(), terret.Ask{Key: "1", Gate: terret.GatePermission, Event: terret.Event{
			Data: terret.PermissionRequest{ToolID: "1", Tool: "Write", Class: terret.ClassEdit, Input: input},
		}})
		heard <- d
	}()
	if err := f.Interrupt(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	if d := receive(t, heard); d.Behavior != terret.BehaviorDeny {
		t.Errorf("the agent heard %+v", d)
	}
	a.complete(t, turn)
	f.ended(id, turn)
}
