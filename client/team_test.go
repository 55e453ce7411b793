package client_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/internal/server/installation"
	"github.com/terret-dev/terret/work/team"
)

// runTeam runs the team until the test ends.
func runTeam(t *testing.T, sessions *installation.Sessions) *team.Registry {
	t.Helper()
	r, err := sessions.Team(t.Context(), team.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		if err := r.Run(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); work.Wait(); r.Close() })
	return r
}

// TestTeam spawns agents over HTTP, and has one write to the other and answer.
func TestTeam(t *testing.T) {
	t.Parallel()
	c, _, dir := setup(t, mock.Script{Turns: [][]mock.Step{{{Text: "@bob are you there?"}}, {{Text: "he is"}}}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ann, err := c.Spawn(ctx, client.NewMember{Name: "ann", Cwd: dir, Topics: []string{"x"}})
	if err != nil || ann.Agent != "mock" || ann.State != terret.AgentIdle || ann.Mode != "client" || ann.Session == "" {
		t.Fatalf("%+v: %v", ann, err)
	}
	if _, err := c.Spawn(ctx, client.NewMember{Name: "bob", Agent: "person"}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		member client.NewMember
		want   terret.ErrorCode
	}{
		{client.NewMember{Name: "ann", Cwd: dir}, terret.CodeConflict},
		{client.NewMember{Name: "a b", Cwd: dir}, terret.CodeInvalidRequest},
		{client.NewMember{Name: "cid", Cwd: "/"}, terret.CodeForbidden},
		{client.NewMember{Name: "cid", Cwd: dir, Agent: "odd"}, terret.CodeAgentNotFound},
		{client.NewMember{Name: "cid", Cwd: dir, Credentials: map[string]any{"mode": "odd"}}, terret.CodeInvalidRequest},
	} {
		if m, err := c.Spawn(ctx, bad.member); err == nil || terret.AsError(err).Code != bad.want {
			t.Errorf("%+v: %+v: %v", bad.member, m, err)
		}
	}
	sent, err := c.SendMessage(ctx, client.TeamMessage{To: []string{"#x"}, Text: "look for bob"})
	if err != nil || !cmp.Equal(sent.To, []string{"ann"}) || sent.From == "" || sent.Type != "chat" {
		t.Fatalf("%+v: %v", sent, err)
	}
	if _, err := c.SendMessage(ctx, client.TeamMessage{To: []string{"nobody"}, Text: "hi"}); !errors.Is(err, terret.ErrNotFound) {
		t.Error(err)
	}
	var got []string
	for entry, err := range c.Events(ctx, client.EventQuery{Session: team.LogSession, After: sent.Seq, Kinds: []terret.Kind{terret.KindBusMessage}, Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		t.Log(string(entry.Body))
		break // ann has written to bob
	}
	for m, err := range c.TeamMessages(ctx, "ann", 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.From+" "+m.To[0]+" "+m.Text)
	}
	if diff := cmp.Diff([]string{sent.From + " ann look for bob", "ann bob are you there?"}, got); diff != "" {
		t.Error(diff)
	}
	bob, err := c.Member(ctx, "bob")
	if err != nil || bob.Mail != 1 || bob.Agent != "person" {
		t.Errorf("%+v: %v", bob, err)
	}
	if err := c.Shutdown(ctx, "ann"); err != nil {
		t.Error(err)
	}
	all, err := c.Team(ctx)
	if err != nil || len(all) != 1 || all[0].Name != "bob" {
		t.Errorf("%+v: %v", all, err)
	}
}

// TestHandoff hands a session over, and reads what the next agent was told.
func TestHandoff(t *testing.T) {
	t.Parallel()
	c, _, dir := setup(t, mock.Script{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	old, err := c.CreateSession(ctx, client.NewSession{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Handoff(ctx, old.ID, "mock", "", "what now?")
	if err != nil || made.ForkedFrom != old.ID || made.First.Session != made.ID || !strings.HasSuffix(terret.TextOf(made.First.Prompt), "what now?") {
		t.Fatalf("%+v: %v", made, err)
	}
	if old.Session, err = c.Session(ctx, old.ID); err != nil || old.HandedTo != made.ID {
		t.Errorf("it went to %q: %v", old.HandedTo, err)
	}
	if _, err := c.Handoff(ctx, old.ID, "odd", "", ""); terret.AsError(err).Code != terret.CodeAgentNotFound {
		t.Error(err)
	}
}

// TestWorkflow runs a workflow over HTTP, and decides about a step that fails.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	c, _, dir := setup(t, mock.Script{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run, err := c.StartWorkflow(ctx, "steps: [{id: one, prompt: 'say {{input}}'}, {id: two, prompt: go, check: 'false', on_failure: ask}]", dir, "hi")
	if err != nil || run.State != "running" {
		t.Fatalf("%+v: %v", run, err)
	}
	until := func(state string) client.Run {
		t.Helper()
		for _, err := range c.Events(ctx, client.EventQuery{Session: run.ID, Follow: true}) { // its log says what happens
			if err != nil {
				t.Fatal(err)
			}
			if run, err = c.Workflow(ctx, run.ID); err != nil {
				t.Fatal(err)
			}
			if run.State == state {
				break
			}
		}
		if run.State != state {
			t.Fatalf("%+v: %v", run, err)
		}
		return run
	}
	if run := until("waiting"); run.Steps[0].Output != "You said: say hi" || !strings.Contains(run.Detail, "step two failed") {
		t.Errorf("%+v", run)
	}
	if _, err := c.ResumeWorkflow(ctx, run.ID, ""); err == nil || terret.AsError(err).Code != terret.CodeInvalidRequest {
		t.Errorf("nobody said what to do: %v", err)
	}
	if resumed, err := c.ResumeWorkflow(ctx, run.ID, "skip"); err != nil || resumed.State == "interrupted" {
		t.Fatalf("%+v: %v", resumed, err)
	}
	until("completed")
	if _, err := c.ResumeWorkflow(ctx, run.ID, ""); !errors.Is(err, terret.ErrConflict) {
		t.Errorf("it went on after its end: %v", err)
	}
	if all, err := c.Workflows(ctx); err != nil || len(all) != 1 || all[0].ID != run.ID {
		t.Errorf("%+v: %v", all, err)
	}
}

// TestReviewAndRace reviews a change and runs a race over HTTP.
func TestReviewAndRace(t *testing.T) {
	t.Parallel()
	c, _, dir := setup(t, mock.Script{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "one"}} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if got, err := c.StartReview(ctx, client.NewReview{Cwd: dir}); err != nil || !got.Empty {
		t.Errorf("%+v: %v", got, err)
	}
	if all, err := c.Reviews(ctx); err != nil || len(all) != 0 {
		t.Errorf("%+v: %v", all, err)
	}
	if _, err := c.Review(ctx, terret.NewSessionID()); terret.AsError(err).Code != terret.CodeNotFound {
		t.Error(err)
	}
	x, err := c.StartRace(ctx, client.NewRace{Cwd: dir, Task: "go", Agents: []string{"mock", "mock"}})
	if err != nil || x.State != "running" {
		t.Fatalf("%+v: %v", x, err)
	}
	for _, err := range c.Events(ctx, client.EventQuery{Session: x.ID, Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if x, err = c.Race(ctx, x.ID); err != nil {
			t.Fatal(err)
		}
		if x.State == "finished" {
			break
		}
	}
	if x.Racers[1].Answer != "You said: go" {
		t.Errorf("%+v", x)
	}
	if _, err := c.KeepRacer(ctx, x.ID, "nobody", "patch"); terret.AsError(err).Code != terret.CodeInvalidRequest {
		t.Error(err)
	}
	if x, err = c.DropRace(ctx, x.ID); err != nil || x.State != "dropped" {
		t.Errorf("%+v: %v", x, err)
	}
	if all, err := c.Races(ctx); err != nil || len(all) != 1 {
		t.Errorf("%+v: %v", all, err)
	}
}
