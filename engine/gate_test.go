package engine_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

// hookGates are those that an agent passes by itself unless somebody wants to decide.
var hookGates = []terret.Gate{terret.GatePreTool, terret.GatePrompt, terret.GateStop, terret.GateSubagentStop, terret.GateCompact}

// hook is a request at a gate of that kind.
func hook(key string, g terret.Gate) terret.Ask {
	q := terret.Ask{Key: key, Gate: g, Event: terret.Event{Data: terret.HookEvent{Hook: string(g)}}}
	switch g {
	case terret.GatePreTool:
		q.Event.Data = terret.ToolPre{ToolID: key, Name: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"make"}`)}
	case terret.GateStop:
		q.Event.Data = terret.StopRequest{LastMessage: "done"}
	default:
	}
	return q
}

// wantGates makes a session's agent wait at these gates.
func wantGates(gates ...terret.Gate) func(*terret.Session) {
	return func(s *terret.Session) { s.Options.Gates = gates }
}

// A hook waits for a decision where the session wants one, and what is decided is what
// the agent hears: that it must not stop, that a prompt is not for it.
func TestWantedGateWaits(t *testing.T) {
	t.Parallel()
	for _, g := range hookGates {
		t.Run(string(g), func(t *testing.T) {
			t.Parallel()
			p := newPuppet()
			f := openFixture(t, ":memory:", p)
			id := f.session(wantGates(g))
			turn := f.prompt(id, "go").ID
			a := p.agent(t)
			a.prompted(t)
			if got := a.req.Settings.Gates; !slices.Equal(got, []terret.Gate{g}) {
				t.Errorf("the driver was told of gates %v", got)
			}
			got := make(chan terret.Decision, 1)
			go func() {
				d, err := a.req.Host.Ask(t.Context(), hook("1", g))
				if err != nil {
					t.Error(err)
				}
				got <- d
			}()
			r := f.request(id, 1)
			if r.State != terret.RequestOpen || r.Gate != g || r.ExpiresAt == nil {
				t.Errorf("request %+v", r)
			}
			if s := f.stored(id); s.State != terret.SessionWaiting || s.OpenRequests != 1 {
				t.Errorf("the session is %s with %d open requests", s.State, s.OpenRequests)
			}
			f.decide(terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorBlock, Reason: "not yet", By: "ann"})
			if d := receive(t, got); d.Behavior != terret.BehaviorBlock || d.Reason != "not yet" || d.Source != terret.ByUser {
				t.Errorf("the agent heard %+v", d)
			}
			a.complete(t, turn)
			f.ended(id, turn)
			f.close()
			checkLog(t, f.store, id)
		})
	}
}

// A hook that nobody wants to decide is answered at once, without waiting for the
// disk, and is in the log all the same.
func TestUnwantedGateDoesNotWait(t *testing.T) {
	t.Parallel()
	for _, g := range hookGates {
		t.Run(string(g), func(t *testing.T) {
			t.Parallel()
			p := newPuppet()
			f, faults := faultyFixture(t, p)
			id := f.session()
			turn := f.prompt(id, "go").ID
			a := p.agent(t)
			a.prompted(t)
			disk := make(chan struct{})
			faults.set(func() { faults.commit = func([]terret.Batch) error { <-disk; return nil } })
			d, err := a.req.Host.Ask(t.Context(), hook("1", g)) // while the disk hangs
			if want := g.Refusal(); err != nil || d.Source != terret.ByPolicy || d.Behavior != want && d.Behavior != terret.BehaviorPassthrough {
				t.Errorf("%+v, %v", d, err)
			}
			close(disk)
			a.complete(t, turn)
			events := f.ended(id, turn)
			asked := slices.IndexFunc(events, func(ev terret.Event) bool { return ev.Expects != nil })
			decided := slices.IndexFunc(events, func(ev terret.Event) bool { _, ok := terret.DecisionOf(ev.Data); return ok })
			if asked < 0 || decided < asked {
				t.Errorf("request at %d, decision at %d", asked, decided)
			}
			f.close()
			checkLog(t, f.store, id)
		})
	}
}

// A rule has its say before whoever wants to decide.
func TestRuleBeforeWantedGate(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id := f.session(wantGates(terret.GatePreTool), func(s *terret.Session) { s.Options.Deny = []string{"Bash(make)"} })
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	d, err := a.req.Host.Ask(t.Context(), hook("1", terret.GatePreTool))
	if err != nil || d.Behavior != terret.BehaviorDeny || d.Source != terret.ByRule {
		t.Errorf("%+v, %v", d, err)
	}
	a.complete(t, turn)
	f.ended(id, turn)
}

// A wanted gate has a limit and falls back to no opinion; a person who is late gets a
// conflict.
func TestWantedGateFallsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		f := openFixture(t, ":memory:", p)
		f.limit = 24 * time.Hour
		id := f.session(wantGates(terret.GateStop, terret.GatePreTool), func(s *terret.Session) {
			s.Options.Timeouts = map[terret.Gate]int{terret.GateStop: 30}
		})
		turn := f.prompt(id, "go").ID
		a := p.agent(t)
		a.prompted(t)
		for _, c := range []struct {
			gate  terret.Gate
			after time.Duration
			want  terret.Behavior
		}{
			{terret.GateStop, 30 * time.Second, terret.BehaviorPassthrough},
			{terret.GatePreTool, 10 * time.Minute, terret.BehaviorAsk},
		} {
			began := time.Now()
			d, err := a.req.Host.Ask(t.Context(), hook(string(c.gate), c.gate))
			if took := time.Since(began); err != nil || took != c.after || d.Behavior != c.want || d.Source != terret.ByTimeout {
				t.Errorf("%s: %+v, %v after %v", c.gate, d, err, took)
			}
		}
		a.complete(t, turn)
		f.ended(id, turn)
		f.close()
		checkLog(t, f.store, id)
	})
}

// A program that is connected wants to decide for as long as it is: the agent waits
// for it, and no longer once it has left.
func TestConnectedDecider(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]bool{"one session": false, "all sessions": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPuppet()
			f := openFixture(t, ":memory:", p)
			id := f.session()
			of := id
			if all {
				of = ""
			}
			release := f.Want(of, terret.GateStop, terret.GatePrompt)
			turn := f.prompt(id, "go").ID
			a := p.agent(t)
			a.prompted(t)
			if got := a.req.Settings.Gates; !slices.Equal(got, []terret.Gate{terret.GatePrompt, terret.GateStop}) {
				t.Errorf("the driver was told of gates %v", got)
			}
			got := make(chan terret.Decision, 1)
			ask := func(key string) {
				d, err := a.req.Host.Ask(t.Context(), hook(key, terret.GateStop))
				if err != nil {
					t.Error(err)
				}
				got <- d
			}
			go ask("1")
			f.decide(terret.Decision{RequestID: f.request(id, 1).RequestID, Behavior: terret.BehaviorBlock, Reason: "go on"})
			if d := receive(t, got); d.Behavior != terret.BehaviorBlock {
				t.Errorf("the agent heard %+v", d)
			}
			go ask("2")
			f.request(id, 2)
			release()
			if d := receive(t, got); d.Behavior != terret.BehaviorPassthrough || d.Source != terret.ByChannel {
				t.Errorf("after the decider left the agent heard %+v", d)
			}
			go ask("3")
			if d := receive(t, got); d.Behavior != terret.BehaviorPassthrough || d.Source != terret.ByPolicy {
				t.Errorf("without a decider the agent heard %+v", d)
			}
			a.complete(t, turn)
			f.ended(id, turn)
			f.close()
			checkLog(t, f.store, id)
		})
	}
}

// Of two programs that want to decide the same, one may leave: the agent waits for the
// other. It waits in no other session than the one they want to decide in.
func TestDeciderStays(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id, other := f.session(), f.session()
	leave := f.Want(id, terret.GateStop)
	defer f.Want(id, terret.GateStop)()
	begin := func(session string) (*puppetAgent, string) {
		turn := f.prompt(session, "go").ID
		a := p.agent(t)
		a.prompted(t)
		return a, turn
	}
	a, turn := begin(id)
	b, otherTurn := begin(other)
	if got := b.req.Settings.Gates; len(got) > 0 {
		t.Errorf("the other session's agent was told of gates %v", got)
	}
	got := make(chan terret.Decision, 1)
	ask := func(a *puppetAgent) {
		d, err := a.req.Host.Ask(t.Context(), hook("1", terret.GateStop))
		if err != nil {
			t.Error(err)
		}
		got <- d
	}
	go ask(b)
	if d := receive(t, got); d.Source != terret.ByPolicy {
		t.Errorf("the other session's agent heard %+v", d)
	}
	go ask(a)
	r := f.request(id, 1)
	leave()
	if r, err := f.store.Request(t.Context(), r.RequestID); err != nil || r.State != terret.RequestOpen {
		t.Errorf("after one of two deciders left: %+v, %v", r, err)
	}
	f.decide(terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorBlock, Reason: "go on"})
	if d := receive(t, got); d.Behavior != terret.BehaviorBlock {
		t.Errorf("the agent heard %+v", d)
	}
	a.complete(t, turn)
	f.ended(id, turn)
	b.complete(t, otherTurn)
	f.ended(other, otherTurn)
}

// One decision lets one agent go on, and no other request.
func TestOneDecisionOneRequest(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id := f.session(wantGates(terret.GateStop))
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	got := make(chan string, 2)
	for _, key := range []string{"1", "2"} {
		go func() {
			if _, err := a.req.Host.Ask(t.Context(), hook(key, terret.GateStop)); err != nil {
				t.Error(err)
			}
			got <- key
		}()
		f.request(id, len(key)) // so that they come one after the other
	}
	second := f.request(id, 2)
	f.decide(terret.Decision{RequestID: second.RequestID, Behavior: terret.BehaviorAllow})
	receive(t, got)
	page, err := f.store.ListRequests(t.Context(), terret.RequestFilter{Session: id, State: terret.RequestOpen})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%d requests are open, %v", len(page.Items), err)
	}
	select {
	case key := <-got:
		t.Errorf("request %s went on without a decision", key)
	default:
	}
	f.decide(terret.Decision{RequestID: page.Items[0].RequestID, Behavior: terret.BehaviorAllow})
	receive(t, got)
	a.complete(t, turn)
	f.ended(id, turn)
}
