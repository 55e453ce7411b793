package team_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/work/team"
)

func (c *crew) list() []team.Member {
	c.t.Helper()
	all, err := c.List(c.ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

func names(all []team.Member) (out []string) {
	for _, m := range all {
		out = append(out, m.Name)
	}
	return out
}

// A team without what it needs is refused.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, o := range []team.Options{{}, {Host: team.Host{Engine: &engine.Engine{}}}} {
		if _, err := team.Open(t.Context(), o); !errors.Is(err, terret.ErrInvalid) {
			t.Error(err)
		}
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	d := &opened{Driver: counting(0)}
	c := newCrew(t, newFixture(t, d))
	if all := c.list(); all == nil || len(all) != 0 {
		t.Errorf("%+v", all)
	}
	if _, err := f0(c); err != nil {
		t.Error("looking at a team must not make one")
	}
	c.spawn(team.Config{Name: "b", Credentials: map[string]any{"mode": "client", "api_key": "secret-key"}}, team.Config{Name: "a"})
	if got := names(c.list()); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("%v", got)
	}
	for _, bad := range []struct {
		config team.Config
		want   error
	}{
		{team.Config{Name: "a", Type: "talker"}, terret.ErrConflict},
		{team.Config{Name: "d", Type: "odd"}, &terret.Error{Code: terret.CodeAgentNotFound}},
		{team.Config{Name: "d", Type: "talker", Cwd: "/does/not/exist", Credentials: map[string]any{"mode": "client"}}, terret.ErrInvalid},
		{team.Config{Name: "d", Type: "talker", ReportsTo: "nobody"}, terret.ErrInvalid},
		{team.Config{Name: "d e", Type: "talker"}, terret.ErrInvalid},
	} {
		if m, err := c.Spawn(c.ctx, "ann", bad.config); !errors.Is(err, bad.want) {
			t.Errorf("%+v: %+v: %v", bad.config, m, err)
		}
	}
	stop := c.run()
	c.ask("number 0", "b")
	b, err := c.Get(c.ctx, "b")
	if err != nil || b.State != terret.AgentIdle || b.Session == "" || b.Type != "talker" || b.Config.Credentials["api_key"] != nil {
		t.Errorf("%+v: %v", b, err)
	}
	later := newCrew(t, c.fixture) // as a process that starts later
	if diff := cmp.Diff(c.list(), later.list()); diff != "" {
		t.Errorf("-here +later\n%s", diff)
	}
	if err := c.Shutdown(c.ctx, "ann", "b"); err != nil || d.alive() != 0 {
		t.Fatalf("%v, %d agents are open", err, d.alive())
	}
	if _, err := c.Get(c.ctx, "b"); !errors.Is(err, terret.ErrNotFound) {
		t.Error(err)
	}
	if err := c.Shutdown(c.ctx, "ann", "b"); !errors.Is(err, terret.ErrNotFound) {
		t.Error(err)
	}
	if _, err := c.Bus.Send(c.ctx, team.NewMessage("ann", "number 0", "b")); !errors.Is(err, terret.ErrNotFound) {
		t.Error(err)
	}
	if m := c.send("number 0", team.All); !slices.Equal(m.Recipients, []string{"a"}) {
		t.Errorf("a message to all went to %v", m.Recipients)
	} else if _, err := c.Bus.Await(c.ctx, m.ID); err != nil {
		t.Fatal(err)
	}
	c.spawn(team.Config{Name: "b"}) // the name is free again
	if again, _ := c.Get(c.ctx, "b"); again.Session == b.Session {
		t.Error("the new b has the old one's session")
	}
	c.ask("number 0", "b")
	stop() // no worker of this process has the agents, which are still open
	if d.alive() != 2 {
		t.Errorf("%d agents are open", d.alive())
	}
	if err := c.ShutdownAll(c.ctx, "ann"); err != nil || len(c.list()) != 0 || d.alive() != 0 {
		t.Errorf("%v: %v, %d agents are open", c.list(), err, d.alive())
	}
}

// f0 reports whether nothing is stored.
func f0(c *crew) (terret.Page[terret.Session], error) {
	page, err := c.store.ListSessions(c.ctx, terret.SessionFilter{})
	if err == nil && len(page.Items) > 0 {
		err = errors.New("there are sessions")
	}
	return page, err
}

// TestShutdownWhileBusy holds that an agent is stopped in the middle of its work, and
// that its mail waits for the next one with its name.
func TestShutdownWhileBusy(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	reached := make(chan struct{})
	c := newCrew(t, newFixture(t, talker(func(ctx context.Context, _, _ string) (string, error) {
		if calls.Add(1) == 1 {
			close(reached)
			<-ctx.Done()
			return "", terret.Errorf(terret.CodeInterrupted, "stopped")
		}
		return "back again", nil
	})))
	c.spawn(team.Config{Name: "a"})
	c.run()
	m := c.send("work", "a")
	<-reached
	if a, _ := c.Get(c.ctx, "a"); a.State != terret.AgentProcessing {
		t.Errorf("%+v", a)
	}
	if err := c.Shutdown(c.ctx, "ann", "a"); err != nil {
		t.Fatal(err)
	}
	c.spawn(team.Config{Name: "a"})
	answers, err := c.Bus.Await(c.ctx, m.ID)
	if err != nil || len(answers) != 1 || answers[0].Content != "back again" {
		t.Errorf("%+v: %v", answers, err)
	}
}

// states are the states of an agent in the team's log.
func (c *crew) states(name string) (out []string) {
	c.t.Helper()
	for entry, err := range c.engine.Events(c.ctx, engine.EventQuery{Session: team.LogSession}) {
		if err != nil {
			c.t.Fatal(err)
		}
		ev, _ := entry.Decode()
		if d, ok := ev.Data.(terret.AgentStateChange); ok && d.Name == name {
			out = append(out, strings.TrimSpace(string(d.State)+" "+d.Detail))
		}
	}
	return out
}

// TestSupervision holds that a failed agent is started again by its policy, and says so.
func TestSupervision(t *testing.T) {
	t.Parallel()
	fast := func(p team.RestartPolicy, limit int) team.Restart {
		return team.Restart{Policy: p, Limit: limit, BackoffMS: 1}
	}
	broken := terret.Errorf(terret.CodeOverloaded, "no luck")
	for _, q := range []struct {
		name    string
		fails   int32
		err     error
		restart team.Restart
		answer  string
		states  []string
	}{
		{"twice", 2, broken, fast("", 0), "at last", []string{
			"idle", "processing", "restarting attempt 1 failed, next in 1ms: talker: no luck", "processing", "restarting attempt 2 failed, next in 2ms: talker: no luck", "processing", "idle",
		}},
		{"limit", 9, broken, fast(team.RestartOnFailure, 1), "a could not answer: talker: no luck", []string{
			"idle", "processing", "restarting attempt 1 failed, next in 1ms: talker: no luck", "processing", "failed gave up after attempt 2: talker: no luck",
		}},
		{"never", 9, broken, fast(team.RestartNever, 0), "a could not answer: talker: no luck", []string{"idle", "processing", "failed gave up after attempt 1: talker: no luck"}},
		{"refused", 9, &terret.Error{Code: terret.CodeModelError, Message: "bad request", HTTPStatus: 400}, fast("", 0), "a could not answer: talker: bad request", []string{"idle", "processing", "failed gave up after attempt 1: talker: bad request"}},
		{"overloaded", 1, &terret.Error{Code: terret.CodeOverloaded, Message: "later", HTTPStatus: 429, Retryable: true}, fast("", 0), "at last", []string{
			"idle", "processing", "restarting attempt 1 failed, next in 1ms: talker: later", "processing", "idle",
		}},
		{"signed out", 9, terret.Errorf(terret.CodeNotAuthenticated, "sign in"), fast("", 0), "a could not answer: talker: sign in", []string{"idle", "processing", "failed gave up after attempt 1: talker: sign in"}},
		{"stopped by a person", 9, terret.Errorf(terret.CodeInterrupted, "by ann"), fast("", 0), "a could not answer: talker: by ann", []string{"idle", "processing", "failed gave up after attempt 1: talker: by ann"}},
	} {
		var calls atomic.Int32
		d := &opened{Driver: talker(func(_ context.Context, _, prompt string) (string, error) {
			n := calls.Add(1)
			if again := strings.HasPrefix(prompt, "You were interrupted"); again != (n > 1) && n <= 3 {
				t.Errorf("%s: attempt %d reads %q", q.name, n, prompt)
			}
			if n <= q.fails {
				return "", q.err
			}
			return "at last", nil
		})}
		c := newCrew(t, newFixture(t, d))
		c.spawn(team.Config{Name: "a", Restart: q.restart})
		stop := c.run()
		answers := c.ask("go", "a")
		if len(answers) != 1 || answers[0].Content != q.answer {
			t.Errorf("%s: %+v", q.name, answers)
		}
		if diff := cmp.Diff(q.states, c.states("a")); diff != "" {
			t.Errorf("%s: -want +got\n%s", q.name, diff)
		}
		if n := int(calls.Load()); len(d.requests()) != n || d.alive() != 1 {
			t.Errorf("%s: %d attempts, %d agents were started, %d are open", q.name, n, len(d.requests()), d.alive())
		}
		if q.fails == 9 { // X2
			calls.Store(9)
			c.ask("go", "a")
			if a, _ := c.Get(c.ctx, "a"); a.State != terret.AgentIdle {
				t.Errorf("%s: after a success: %+v", q.name, a)
			}
		}
		stop()
	}
}

// TestFailedAttemptsCost holds that what failed attempts cost counts towards the limit of
// the conversation.
func TestFailedAttemptsCost(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	f := newFixture(t, talker(func(context.Context, string, string) (string, error) {
		if calls.Add(1) <= 2 {
			return "", terret.Errorf(terret.CodeOverloaded, "no luck")
		}
		return "at last", nil
	}))
	c := newCrew(t, f, func(o *team.Options) { o.Limits.CostUSD = terret.USD / 4 }) // a turn costs ten cents
	c.spawn(team.Config{Name: "a", Restart: team.Restart{BackoffMS: 1}})
	c.run()
	if got := c.ask("go", "a"); len(got) != 1 || got[0].Content != "the conversation was stopped: it has cost $0.3" {
		t.Errorf("%+v", got)
	}
}

// TestOneRunsAtATime holds that of several processes one runs the agents, and that the
// next takes over.
func TestOneRunsAtATime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, counting(3))
	locked := func(o *team.Options) { o.Lock = f.home + "/team.lock" }
	one, two := newCrew(t, f, locked), newCrew(t, f, locked)
	one.spawn(team.Config{Name: "a"}, team.Config{Name: "b"})
	stop := one.run()
	two.run()
	one.ask("number 0", "a")
	stop()
	two.ask("number 2", "a")
	want := []string{
		"ann>a number 0", "a>b number 1", "b>a number 2", "a>b number 3", "b>a that was number 3", "a>ann that was number 3",
		"ann>a number 2", "a>b number 3", "b>a that was number 3", "a>ann that was number 3",
	}
	if diff := cmp.Diff(want, two.heard(team.HistoryQuery{})); diff != "" {
		t.Error(diff)
	}
}
