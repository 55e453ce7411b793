package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// At the limit a permission is denied, anything else takes its fallback, and the
// log says so. Time is that of the bubble.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		f := openFixture(t, ":memory:", p, func(c *engine.Config) {
			c.Timeouts = map[terret.Gate]time.Duration{terret.GatePlan: time.Hour, terret.GatePermission: 5 * time.Minute}
		})
		f.limit = 24 * time.Hour
		id := f.session()
		turn := f.prompt(id, "go")
		a := <-p.opened
		<-a.prompts
		for _, c := range []struct {
			ask   terret.Ask
			after time.Duration
			want  terret.Behavior
		}{
			{askFor("1", "make"), 5 * time.Minute, terret.BehaviorDeny},
			{withFallback(askFor("1b", "make"), terret.BehaviorAllow), 5 * time.Minute, terret.BehaviorDeny},
			{terret.Ask{Key: "2", Gate: terret.GatePlan, Event: terret.Event{Data: terret.PlanRequest{Plan: "p"}}}, time.Hour, terret.BehaviorRevise},
			{terret.Ask{Key: "3", Gate: terret.GateQuestion, Timeout: time.Second, Event: terret.Event{Data: terret.QuestionRequest{}}}, time.Second, terret.BehaviorReject},
			{terret.Ask{Key: "4", Gate: terret.GateTrust, Timeout: time.Minute, Fallback: terret.BehaviorAllow, Event: terret.Event{Data: terret.HookEvent{Hook: "trust"}}}, time.Minute, terret.BehaviorAllow},
		} {
			began := time.Now()
			d, err := a.req.Host.Ask(t.Context(), c.ask)
			if err != nil || d.Behavior != c.want || d.Source != terret.ByTimeout {
				t.Errorf("%s: %+v, %v", c.ask.Gate, d, err)
			}
			if took := time.Since(began); took != c.after {
				t.Errorf("%s: decided after %v, want %v", c.ask.Gate, took, c.after)
			}
			if x := expects(f.log(id), d.RequestID); x.Gate != c.ask.Gate || x.Fallback != c.want || x.ExpiresAt == nil || x.ExpiresAt.Sub(began) != c.after {
				t.Errorf("%s: its event says %+v", c.ask.Gate, x)
			}
			wantKind(t, f.Decide(t.Context(), terret.Decision{RequestID: d.RequestID, Behavior: c.want}), terret.CodeAlreadyDecided)
		}
		a.complete(t, turn.ID)
		f.ended(id, turn.ID)
		f.close()
		checkLog(t, f.store, id)
	})
}

// expects is what the event of a request says about its decision.
func expects(events []terret.Event, request string) terret.Expects {
	for _, ev := range events {
		if ev.Expects != nil && ev.Expects.RequestID == request {
			return *ev.Expects
		}
	}
	return terret.Expects{}
}

func withFallback(q terret.Ask, b terret.Behavior) terret.Ask {
	q.Fallback = b
	return q
}

// A gate that is open when the turn is stopped is refused: its fallback is for when
// nobody answers.
func TestStopTakesNoFallback(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id := f.session(wantGates(terret.GatePreTool))
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	answer := make(chan terret.Decision, 1)
	go func() {
		d, err := a.req.Host.Ask(context.Background(), withFallback(hook("1", terret.GatePreTool), terret.BehaviorAllow))
		if err != nil {
			t.Error(err)
		}
		answer <- d
	}()
	f.request(id, 1)
	if err := f.Interrupt(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if d := receive(t, answer); d.Behavior != terret.GatePreTool.Refusal() || d.Source != terret.ByInterrupt {
		t.Errorf("decision %+v", d)
	}
	a.complete(t, turn)
	f.ended(id, turn)
}

// What a person is asked waits for as long as it takes, unless somebody sets a limit.
func TestNoTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		steps := []mock.Step{ask("make"), {Question: &terret.Question{ID: "q", Text: "which?"}}, {Plan: "p"}}
		f := newFixture(t, mock.Script{Turns: [][]mock.Step{steps}}, func(c *engine.Config) { c.IdleAfter = -1 })
		f.limit = 24 * time.Hour
		id := f.session()
		turn := f.prompt(id, "go")
		for i, b := range []terret.Behavior{terret.BehaviorDeny, terret.BehaviorReject, terret.BehaviorApprove} {
			r := f.request(id, i+1)
			if r.ExpiresAt != nil {
				t.Errorf("%s expires at %v", r.Gate, r.ExpiresAt)
			}
			time.Sleep(2 * time.Hour)
			f.decide(terret.Decision{RequestID: r.RequestID, Behavior: b, Reason: "no"})
		}
		f.ended(id, turn.ID)
	})
}

// A session's own limit beats the engine's; zero means that there is none.
func TestSessionTimeouts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		f := openFixture(t, ":memory:", p, func(c *engine.Config) {
			c.Timeouts = map[terret.Gate]time.Duration{terret.GatePermission: time.Minute, terret.GateQuestion: time.Minute}
		})
		f.limit = 24 * time.Hour
		id := f.session(func(s *terret.Session) {
			s.Options.Timeouts = map[terret.Gate]int{terret.GatePermission: 7, terret.GateQuestion: 0}
		})
		turn := f.prompt(id, "go")
		a := p.agent(t)
		a.prompted(t)
		began := time.Now()
		d, err := a.req.Host.Ask(t.Context(), askFor("1", "make"))
		if took := time.Since(began); err != nil || d.Source != terret.ByTimeout || took != 7*time.Second {
			t.Errorf("%+v, %v after %v", d, err, took)
		}
		go func() {
			time.Sleep(time.Hour)
			f.decide(terret.Decision{RequestID: f.request(id, 2).RequestID, Behavior: terret.BehaviorReject})
		}()
		d, err = a.req.Host.Ask(t.Context(), terret.Ask{Key: "2", Gate: terret.GateQuestion, Event: terret.Event{Data: terret.QuestionRequest{}}})
		if err != nil || d.Source != terret.ByUser {
			t.Errorf("%+v, %v", d, err)
		}
		a.complete(t, turn.ID)
		f.ended(id, turn.ID)
		f.close()
	})
}

// An agent that does not react to an interrupt is killed after the grace period.
func TestInterruptGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "x"}, {Deaf: true}}, {{Text: "ok"}}}}, func(c *engine.Config) { c.InterruptGrace = time.Minute })
		f.limit = 24 * time.Hour
		id := f.session()
		turn := f.prompt(id, "go")
		f.until(id, 0, isKind("message.complete"))
		began := time.Now()
		if err := f.Interrupt(t.Context(), id, "me"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("interrupting took %v", took)
		}
		e := last[terret.TurnError](t, f.ended(id, turn.ID)).Error
		if took := time.Since(began); took != time.Minute || e.Code != terret.CodeInterrupted {
			t.Errorf("ended after %v with %+v", took, e)
		}
		f.run(id, "again")
		f.close()
		checkLog(t, f.store, id)
	})
}

// Agents that are idle are closed, their sessions given back, and opened again when
// somebody prompts.
func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "one"}}, {{Delay: mock.Duration(time.Hour)}, {Text: "two"}}}},
			func(c *engine.Config) { c.IdleAfter = 10 * time.Minute })
		f.limit = 24 * time.Hour
		id := f.session()
		f.run(id, "1")
		if f.stored(id).Owner == "" {
			t.Error("the session is not ours")
		}
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		if end := last[terret.SessionEnd](t, f.log(id)); end.Reason != "idle_reaped" {
			t.Errorf("end %+v", end)
		}
		if owner := f.stored(id).Owner; owner != "" {
			t.Errorf("owner %q", owner)
		}
		events := f.run(id, "2") // which takes longer than that, but is not idle
		if got := last[terret.TurnComplete](t, events).Text; got != "two" {
			t.Errorf("the script did not go on: %q", got)
		}
		if s := last[terret.SessionStart](t, events); s.Source != "resume" {
			t.Errorf("start %+v", s)
		}
		title := "t"
		if err := f.Update(t.Context(), f.session(), terret.SessionUpdated{Title: &title}, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		page, err := f.store.ListSessions(t.Context(), terret.SessionFilter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Items {
			if s.Owner != "" {
				t.Errorf("session %s is still held", s.ID)
			}
		}
		f.close()
		checkLog(t, f.store, id)
	})
}

// An agent whose work goes on in the background is not idle.
func TestIdleWithTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		f := openFixture(t, ":memory:", p, func(c *engine.Config) { c.IdleAfter = 10 * time.Minute })
		f.limit = 24 * time.Hour
		id := f.session()
		turn := f.prompt(id, "1").ID
		a := p.agent(t)
		a.prompted(t)
		a.say(t, terret.TaskStart{ID: "server"}, terret.TaskStart{ID: "build"})
		a.complete(t, turn)
		f.ended(id, turn)
		time.Sleep(time.Hour)
		a.say(t, terret.TaskUpdate{ID: "build", Status: "running"}, terret.TaskEnd{ID: "build"}, terret.TaskEnd{ID: "unknown"})
		time.Sleep(time.Hour)
		select {
		case <-a.closed:
			t.Fatal("the agent was closed in the middle of its work")
		default:
		}
		a.say(t, terret.TaskEnd{ID: "server"})
		time.Sleep(9 * time.Minute)
		if f.stored(id).Owner == "" {
			t.Error("the agent was closed too early")
		}
		time.Sleep(2 * time.Minute)
		<-a.closed
		synctest.Wait()
		if end := last[terret.SessionEnd](t, f.log(id)); end.Reason != "idle_reaped" {
			t.Errorf("end %+v", end)
		}
		f.close()
		checkLog(t, f.store, id)
	})
}

// An agent that says and asks nothing is stopped, and the log says why. While a person is
// asked it may wait, and a word of it begins the time anew.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		f := openFixture(t, ":memory:", p, func(c *engine.Config) { c.Silence, c.IdleAfter = time.Hour, -1 })
		f.limit = 24 * time.Hour
		id := f.session()
		turn := f.prompt(id, "go")
		a := <-p.opened
		<-a.prompts
		time.Sleep(50 * time.Minute)
		a.say(t, terret.Notification{Text: "still here"})
		time.Sleep(50 * time.Minute)
		var group sync.WaitGroup
		group.Go(func() {
			if d, err := a.ask("1", "make"); err != nil || d.Behavior != terret.BehaviorAllow {
				t.Errorf("%+v, %v", d, err)
			}
		})
		r := f.request(id, 1)
		time.Sleep(5 * time.Hour)
		f.allow(r.RequestID)
		group.Wait()
		began := time.Now()
		if got := <-a.interrupts; got != turn.ID {
			t.Errorf("interrupted %s", got)
		}
		if took := time.Since(began); took != time.Hour {
			t.Errorf("stopped after %s", took)
		}
		events := f.ended(id, turn.ID)
		if end := last[terret.TurnError](t, events); end.Error.Code != terret.CodeTimeout {
			t.Errorf("ended with %+v", end.Error)
		}
		if w := last[terret.DiagWarning](t, events); !strings.Contains(w.Text, "said nothing for 1h0m0s") {
			t.Errorf("said %q", w.Text)
		}
		f.close()
		checkLog(t, f.store, id)
	})
}
