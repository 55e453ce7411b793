package team_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/work/team"
)

var (
	ls   = &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Result: "a.go"}
	full = mock.Script{Turns: [][]mock.Step{{{Text: "Looking."}, {Tool: ls}, {Text: "One file."}}}}
)

// TestHandleMessage is the flow from a caller through the agent and back, in both modes:
// O28, O30, O31, O90.
func TestHandleMessage(t *testing.T) {
	t.Parallel()
	want := []string{
		"chat assistant_text Looking.", "system tool_use Using tool: Bash", "system tool_result a.go",
		"chat assistant_text One file.", "chat result One file.",
	}
	for _, mode := range []string{"", "query", "client"} {
		f := newFixture(t, claude{mock.NewFunc("claude", func(terret.Session) mock.Script { return full })})
		c := team.Config{Name: "rev", Credentials: map[string]any{"mode": mode}}
		if mode == "" {
			c.Credentials = nil
		}
		a := f.agent("sdk", c)
		if a.Name() != "rev" || a.Type() != "sdk" || a.State() != terret.AgentIdle {
			t.Errorf("%q: %s %s %s", mode, a.Name(), a.Type(), a.State())
		}
		all, err := said(t.Context(), a, team.NewMessage("ann", "list the files", "rev"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		ids := map[string]bool{}
		for _, m := range all {
			kind, _ := m.Metadata["sdk_type"].(string)
			got = append(got, string(m.Type)+" "+kind+" "+m.Content)
			if err := m.Validate(); err != nil || m.Sender != "rev" || !slices.Equal(m.Recipients, []string{"all"}) || m.Timestamp.Location() != time.UTC || ids[m.ID] {
				t.Errorf("%q: %v: %+v", mode, err, m)
			}
			ids[m.ID] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: -want +got\n%s", mode, diff)
		}
		session, _ := all[len(all)-1].Metadata["session"].(string)
		turns, err := f.store.Turns(t.Context(), session)
		if err != nil || len(turns) != 1 || terret.TextOf(turns[0].Prompt) != "list the files" || turns[0].Origin != terret.OriginBus {
			t.Errorf("%q: turns %+v: %v", mode, turns, err)
		}
	}
}

// TestQueryMode holds that calls are independent, and leave no process: O30.
func TestQueryMode(t *testing.T) {
	t.Parallel()
	d := &opened{Driver: mock.New(mock.Script{})}
	f := newFixture(t, d)
	a := f.agent("mock", team.Config{Name: "q"})
	for range 2 {
		if _, err := said(t.Context(), a, team.NewMessage("ann", "hi", "q")); err != nil {
			t.Fatal(err)
		}
	}
	all := d.requests()
	if len(all) != 2 || all[0].Session.ID == all[1].Session.ID {
		t.Errorf("opened %d agents", len(all))
	}
	if n := d.alive(); n != 0 {
		t.Errorf("%d agents are still open", n)
	}
}

// TestClientMode holds that the agent is opened with the first message, used again, and
// closed by Shutdown: O29, O31, O50, O67.
func TestClientMode(t *testing.T) {
	t.Parallel()
	d := &opened{Driver: mock.New(mock.Script{Turns: [][]mock.Step{{{Text: "one"}}, {{Text: "two"}}}})}
	f := newFixture(t, d)
	a := f.agent("mock", client("c"))
	if len(d.requests()) != 0 {
		t.Error("the agent was started before the first message")
	}
	for _, want := range []string{"one", "two"} {
		all, err := said(t.Context(), a, team.NewMessage("ann", "go on", "c"))
		if err != nil || all[len(all)-1].Content != want {
			t.Errorf("%+v: %v, want %s", all, err, want)
		}
	}
	if len(d.requests()) != 1 || d.alive() != 1 {
		t.Errorf("opened %d agents, %d are open", len(d.requests()), d.alive())
	}
	if err := a.Shutdown(t.Context()); err != nil || d.alive() != 0 || a.State() != terret.AgentTerminated {
		t.Errorf("after Shutdown: %v, %d are open, state %s", err, d.alive(), a.State())
	}
	if _, err := said(t.Context(), a, team.NewMessage("ann", "hi", "c")); !errors.Is(err, terret.ErrClosed) {
		t.Errorf("a message after Shutdown: %v", err)
	}
}

// TestShutdownStopsTheTurn holds that an agent is shut down while it works.
func TestShutdownStopsTheTurn(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"query", "client"} {
		d := &opened{Driver: mock.New(mock.Script{Turns: [][]mock.Step{{{Text: "working"}, {Hang: true}}}})}
		f := newFixture(t, d)
		a := f.agent("mock", team.Config{Name: "c", Credentials: map[string]any{"mode": mode}})
		var failed error
		for m, err := range a.HandleMessage(t.Context(), team.NewMessage("ann", "hi", "c")) {
			if m.Content == "working" {
				if a.State() != terret.AgentProcessing {
					t.Errorf("state %s", a.State())
				}
				if err := a.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			}
			failed = err
		}
		if !errors.Is(failed, terret.ErrInterrupted) || a.State() != terret.AgentTerminated || d.alive() != 0 {
			t.Errorf("%s: %v, state %s, %d are open", mode, failed, a.State(), d.alive())
		}
	}
}

// TestStates is O65, O66 and X2.
func TestStates(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{
		{{Text: "one"}}, {{Fail: &terret.Error{Code: terret.CodeModelError, Message: "no"}}}, {{Text: "three"}},
	}}))
	a := f.agent("mock", client("c"))
	for i, want := range []terret.AgentState{terret.AgentIdle, terret.AgentFailed, terret.AgentIdle} {
		for _, err := range a.HandleMessage(t.Context(), team.NewMessage("ann", "hi", "c")) {
			if got := a.State(); err == nil && got != terret.AgentProcessing {
				t.Errorf("while it handles message %d: state %s", i, got)
			}
		}
		if got := a.State(); got != want {
			t.Errorf("after message %d: state %s, want %s", i, got, want)
		}
	}
}

// TestReadToTheEnd holds that a caller who stops early does not cut the response: O78.
func TestReadToTheEnd(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	wait := func(context.Context, string) error { <-left; return nil }
	f := newFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{{Text: "Looking."}, {Do: wait}, {Tool: ls}, {Text: "One file."}}}}))
	a := f.agent("mock", client("c"))
	m := team.NewMessage("ann", "hi", "c")
	for range a.HandleMessage(t.Context(), m) {
		close(left) // so that the rest is said when nobody listens any more
		break
	}
	if a.State() != terret.AgentIdle {
		t.Errorf("state %s", a.State())
	}
	page, err := f.store.ListSessions(t.Context(), terret.SessionFilter{})
	if err != nil || len(page.Items) != 1 {
		t.Fatal(page, err)
	}
	turns, err := f.store.Turns(t.Context(), page.Items[0].ID)
	if err != nil || len(turns) != 1 || turns[0].State != terret.TurnCompleted {
		t.Errorf("%+v: %v", turns, err)
	}
}

// TestHandledOnce holds that handling a message again says the same and does nothing.
func TestHandledOnce(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"query", "client"} {
		f := newFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{{Text: "one"}}, {{Text: "two"}}}}))
		a := f.agent("mock", team.Config{Name: "c", Credentials: map[string]any{"mode": mode}})
		m := team.NewMessage("ann", "hi", "c")
		first, err := said(t.Context(), a, m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := said(t.Context(), a, m)
		if diff := cmp.Diff(first, again); diff != "" || err != nil {
			t.Errorf("%s: %v -first +again\n%s", mode, err, diff)
		}
	}
}

// TestHandledWithoutIDs holds that messages without ids are not taken for one another.
func TestHandledWithoutIDs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{{Text: "one"}}, {{Text: "two"}}}}))
	a := f.agent("mock", client("c"))
	for _, want := range []string{"one", "two"} {
		all, err := said(t.Context(), a, team.Message{Sender: "ann", Content: "go on"})
		if err != nil || all[len(all)-1].Content != want {
			t.Errorf("%+v: %v, want %s", all, err, want)
		}
	}
}

// TestLeftInTheQueue holds that a message whose process died before its turn began is
// handled.
func TestLeftInTheQueue(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{{Hang: true}}, {{Text: "at last"}}}}))
	a := f.agent("mock", client("c"))
	m := team.NewMessage("ann", "hi", "c")
	page, err := f.store.ListSessions(t.Context(), terret.SessionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	session := page.Items[0].ID
	if _, err := f.engine.Prompt(t.Context(), engine.PromptRequest{Session: session, Prompt: terret.Prompt{Blocks: []terret.Block{terret.Text("x")}}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // the message is queued behind the person's, and then its reader dies
		for since := int64(0); ; {
			since, _ = f.store.WaitForeign(ctx, since)
			if q, err := f.engine.Queue(ctx, session); err != nil || len(q) > 0 {
				cancel()
				return
			}
		}
	}()
	if _, err := said(ctx, a, m); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := f.engine.CloseSession(t.Context(), session, "ann"); err != nil {
		t.Fatal(err)
	}
	all, err := said(t.Context(), a, m)
	if err != nil || all[len(all)-1].Content != "at last" {
		t.Errorf("%+v: %v", all, err)
	}
}

// TestErrors is the error tree, O43 to O47 and X29, by what the agent ended with.
func TestErrors(t *testing.T) {
	t.Parallel()
	three := 3
	auth := func(err error) bool { _, ok := errors.AsType[*team.ProviderAuthError](err); return ok }
	api := func(status int) func(error) bool {
		return func(err error) bool {
			e, ok := errors.AsType[*team.ProviderAPIError](err)
			return ok && e.StatusCode == status
		}
	}
	plain := func(err error) bool { return !auth(err) && !api(3)(err) && !api(-1)(err) }
	for _, c := range []struct {
		id   string
		err  terret.Error
		open bool // the agent does not even start
		want func(error) bool
	}{
		{"O43 not found", terret.Error{Code: terret.CodeAgentNotFound, Message: "install it"}, true, auth},
		{"O43 signed out", terret.Error{Code: terret.CodeNotAuthenticated, Message: "sign in"}, false, auth},
		{"O44", terret.Error{Code: terret.CodeConnectionFailed, Message: "cut off"}, true, plain},
		{"O45", terret.Error{Code: terret.CodeProcessFailed, Message: "exit 3", ExitCode: &three}, false, api(3)},
		{"O45 signal", terret.Error{Code: terret.CodeProcessFailed, Message: "killed", Signal: "KILL"}, false, api(-1)},
		{"O46 X29", terret.Error{Code: terret.CodeMalformedOutput, Message: "bad line"}, false, plain},
		{"O47", terret.Error{Code: terret.CodeOverloaded, Message: "later"}, false, plain},
	} {
		script := mock.Script{Turns: [][]mock.Step{{{Fail: &c.err}}}}
		if c.open {
			script = mock.Script{OpenError: &c.err}
		}
		a := newFixture(t, mock.New(script)).agent("mock", team.Config{Name: "c"})
		all, err := said(t.Context(), a, team.NewMessage("ann", "hi", "c"))
		base, ok := errors.AsType[*team.ProviderError](err)
		if !ok || !c.want(err) || base.Provider != "mock" || !strings.Contains(err.Error(), c.err.Message) || terret.AsError(err).Code != c.err.Code {
			t.Errorf("%s: %T %v", c.id, err, err)
		}
		last := all[len(all)-1]
		if last.Type != team.System || last.Metadata["subtype"] != "error" || a.State() != terret.AgentFailed {
			t.Errorf("%s: %+v, state %s", c.id, last, a.State())
		}
	}
}

// TestHooks holds that hooks reach the agents of a team: one waits at a gate where
// somebody wants to decide, and hears what was decided.
func TestHooks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{{Gate: terret.GateStop}, {Text: "done"}}}}))
	defer f.engine.Want("", terret.GateStop)()
	c := client("rev")
	c.Session = terret.NewSessionID()
	a := f.agent("mock", c)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() {
		for entry, err := range f.engine.Events(ctx, engine.EventQuery{Session: c.Session, Follow: true}) {
			if err != nil {
				t.Error(err)
				return
			}
			ev, err := entry.Decode()
			if err != nil || ev.Expects == nil {
				continue
			}
			err = f.engine.Decide(ctx, terret.Decision{RequestID: ev.Expects.RequestID, Gate: terret.GateStop, Behavior: terret.BehaviorBlock, Reason: "tests are missing", By: "ann"})
			if err != nil {
				t.Error(err)
			}
			return
		}
	})
	all, err := said(ctx, a, team.NewMessage("ann", "go", "rev"))
	if err != nil || all[0].Content != "Blocked: tests are missing" {
		t.Errorf("%+v: %v", all, err)
	}
	decided := false
	for entry, err := range f.engine.Events(ctx, engine.EventQuery{Session: c.Session}) {
		decided = decided || err == nil && entry.Kind == terret.KindStopDecision && strings.Contains(string(entry.Body), `"by":"ann"`)
	}
	if !decided {
		t.Error("nobody decided")
	}
}
