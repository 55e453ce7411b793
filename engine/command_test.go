package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// able is an agent that can do all that can be asked of it.
func able(turns ...[]mock.Step) mock.Script {
	return mock.Script{
		Turns: turns, Models: []terret.Model{{ID: "m1"}}, Commands: []terret.Command{{Name: "review"}},
		Context: &terret.ContextUsage{Used: 10, Max: 100}, Compacts: true,
	}
}

func TestAskingTheAgent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, able())
	id := f.session()
	models, err := f.Models(t.Context(), id)
	if diff := cmp.Diff([]terret.Model{{ID: "m1"}}, models); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	commands, err := f.Commands(t.Context(), id)
	if diff := cmp.Diff([]terret.Command{{Name: "review"}}, commands); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	used, err := f.Context(t.Context(), id)
	if diff := cmp.Diff(terret.ContextUsage{Used: 10, Max: 100}, used); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	f.until(id, 0, isKind("session.start"))
	events := f.log(id)
	if len(all[terret.TurnStart](events)) != 0 || len(all[terret.SessionStart](events)) != 1 {
		t.Errorf("events %v", kindsOf(events))
	}
	for _, err := range []error{
		second(f.Models(t.Context(), "nobody")), second(f.Commands(t.Context(), "nobody")), second(f.Context(t.Context(), "nobody")),
	} {
		wantKind(t, err, terret.CodeSessionNotFound)
	}
}

func second[T any](_ T, err error) error { return err }

// What an agent cannot do is said, and leaves no turn behind.
func TestAskingAnAgentThatCannot(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Commands: []terret.Command{{Name: "x"}}})
	id := f.session()
	_, err := f.Compact(t.Context(), engine.CompactRequest{Session: id})
	wantKind(t, err, terret.CodeUnsupported)
	g := newFixture(t, mock.Script{Compacts: true})
	other := g.session()
	for _, err := range []error{
		second(f.Models(t.Context(), id)), second(f.Context(t.Context(), id)), second(g.Commands(t.Context(), other)),
		second(g.RunCommand(t.Context(), engine.CommandRequest{Session: other, Name: "x"})),
	} {
		wantKind(t, err, terret.CodeUnsupported)
	}
	if n := len(all[terret.TurnStart](append(f.log(id), g.log(other)...))); n != 0 {
		t.Errorf("%d turns", n)
	}
	g.run(other, "1")
	if used, err := g.Context(t.Context(), other); err == nil {
		t.Errorf("context %+v of an agent that said nothing of it", used)
	}
}

// What the log says of the context is better than nothing.
func TestContextFromTheLog(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{
		{Usage: &terret.UsageUpdate{ContextUsed: 5, ContextMax: 50}}, {Usage: &terret.UsageUpdate{ContextUsed: 7, ContextMax: 50}}, {Usage: &terret.UsageUpdate{}},
	}}})
	id := f.session()
	f.run(id, "1")
	used, err := f.Context(t.Context(), id)
	if diff := cmp.Diff(terret.ContextUsage{Used: 7, Max: 50}, used); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// Commands and compactions are turns like any other.
func TestCommandsAreTurns(t *testing.T) {
	t.Parallel()
	f := newFixture(t, able())
	id := f.session()
	turn, err := f.RunCommand(t.Context(), engine.CommandRequest{Session: id, Name: "/review", Args: "a b", By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	events := f.ended(id, turn.ID)
	start := last[terret.TurnStart](t, events)
	if got := terret.TextOf(start.Prompt); got != "/review a b" || start.Origin != terret.OriginUser || start.MessageID == "" || events[0].By != "ann" {
		t.Errorf("start %+v by %q", start, events[0].By)
	}
	if got := last[terret.TurnComplete](t, events).Text; got != "You said: /review a b" {
		t.Errorf("answer %q", got)
	}
	turn, err = f.Compact(t.Context(), engine.CompactRequest{Session: id, Instructions: "keep names"})
	if err != nil {
		t.Fatal(err)
	}
	events = f.ended(id, turn.ID)
	if got := terret.TextOf(last[terret.TurnStart](t, events).Prompt); got != "/compact keep names" {
		t.Errorf("prompt %q", got)
	}
	if got := last[terret.CompactPre](t, events).Instructions; got != "keep names" || len(all[terret.CompactPost](events)) != 1 {
		t.Errorf("instructions %q in %v", got, kindsOf(events))
	}
	if !slices.ContainsFunc(events, isState(terret.SessionCompacting)) || f.stored(id).State != terret.SessionIdle {
		t.Errorf("states %v", events)
	}
	turn, err = f.RunCommand(t.Context(), engine.CommandRequest{Session: id, Name: "unheard-of"})
	if err != nil {
		t.Fatal(err)
	}
	if got := last[terret.TurnError](t, f.ended(id, turn.ID)).Error.Code; got != terret.CodeNotFound {
		t.Errorf("end %s", got)
	}
	f.close()
	checkLog(t, f.store, id)
}

func TestCommandWhileBusy(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, able([]mock.Step{g.step()}, []mock.Step{{Text: "then"}}))
	id := f.session()
	f.prompt(id, "1")
	g.wait(t)
	for when, kind := range map[engine.When]terret.ErrorCode{"": terret.CodeSessionBusy, engine.WhenReject: terret.CodeSessionBusy, engine.WhenSteer: terret.CodeInvalidRequest, "now": terret.CodeInvalidRequest} {
		_, err := f.RunCommand(t.Context(), engine.CommandRequest{Session: id, Name: "review", When: when})
		wantKind(t, err, kind)
		_, err = f.Compact(t.Context(), engine.CompactRequest{Session: id, When: when})
		wantKind(t, err, kind)
	}
	for _, name := range []string{"", "/", "a b", "a\nb", "\x00"} {
		_, err := f.RunCommand(t.Context(), engine.CommandRequest{Session: id, Name: name, When: engine.WhenQueue})
		wantKind(t, err, terret.CodeInvalidRequest)
	}
	command, err := f.RunCommand(t.Context(), engine.CommandRequest{Session: id, Name: "review", When: engine.WhenQueue})
	if err != nil {
		t.Fatal(err)
	}
	compact, err := f.Compact(t.Context(), engine.CompactRequest{Session: id, When: engine.WhenQueue})
	if err != nil || command.State != terret.TurnQueued || compact.State != terret.TurnQueued {
		t.Fatal(command, compact, err)
	}
	if got := f.queue(id); !slices.Equal(got, []string{"/review", "/compact"}) {
		t.Errorf("queue %v", got)
	}
	close(g.open)
	if got := last[terret.TurnComplete](t, f.ended(id, command.ID)).Text; got != "then" {
		t.Errorf("answer %q", got)
	}
	if len(all[terret.CompactPost](f.ended(id, compact.ID))) != 1 {
		t.Error("it was not compacted")
	}
	f.close()
	checkLog(t, f.store, id)
}

// A session that another process owns takes commands; what only the agent knows is
// a conflict that says so.
func TestAskingAnotherEngine(t *testing.T) {
	t.Parallel()
	script := mock.New(able([]mock.Step{{Usage: &terret.UsageUpdate{ContextUsed: 3}}, {Text: "one"}}, []mock.Step{{Text: "two"}}))
	f := fileFixture(t, "", script)
	id := f.session()
	f.run(id, "1")
	g := fileFixture(t, f.path, script)
	turn, err := g.RunCommand(t.Context(), engine.CommandRequest{Session: id, Name: "review"})
	if err != nil {
		t.Fatal(err)
	}
	if got := last[terret.TurnComplete](t, g.ended(id, turn.ID)).Text; got != "two" {
		t.Errorf("answer %q", got)
	}
	_, err = g.Models(t.Context(), id)
	wantKind(t, err, terret.CodeConflict)
	if err == nil || !strings.Contains(err.Error(), "close it there") {
		t.Errorf("error %v", err)
	}
	commands, err := g.Commands(t.Context(), id)
	if err != nil || len(commands) != 1 {
		t.Errorf("commands %v, %v", commands, err)
	}
	used, err := g.Context(t.Context(), id)
	if err != nil || used.Used != 3 {
		t.Errorf("context %+v, %v", used, err)
	}
	f.close()
	checkLog(t, f.store, id)
}

func TestTrust(t *testing.T) {
	t.Parallel()
	for _, trust := range []func(string) bool{nil, func(string) bool { return false }, func(string) bool { return true }} {
		p := newPuppet()
		f := openFixture(t, ":memory:", p, func(c *engine.Config) { c.Trust = trust })
		id := f.session()
		f.prompt(id, "x")
		a := p.agent(t)
		if want := trust != nil && trust(f.dir); a.req.Trusted != want {
			t.Errorf("trusted %v, want %v", a.req.Trusted, want)
		}
		a.complete(t, a.prompted(t))
	}
}

// What could be taken for something else than it is said to be is refused, and the
// error names the field.
func TestCheckedFields(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	for field, change := range map[string]func(*terret.Session){
		"mode":                   func(s *terret.Session) { s.Mode = "party" },
		"permission_mode":        func(s *terret.Session) { s.PermissionMode = "--dangerous" },
		"model":                  func(s *terret.Session) { s.Model = "x\x1b[2J" },
		"options.effort":         func(s *terret.Session) { s.Options.Effort = "-" },
		"options.fallback_model": func(s *terret.Session) { s.Options.FallbackModel = "\n" },
		"options.allow":          func(s *terret.Session) { s.Options.Allow = []string{"Bash", "Bash("} },
		"options.deny":           func(s *terret.Session) { s.Options.Deny = []string{""} },
	} {
		s := terret.Session{Agent: "mock", Cwd: f.dir}
		change(&s)
		wantField(t, second(f.Create(t.Context(), s)), field)
	}
	for _, m := range []terret.Mode{terret.ModeWorkbench, terret.ModePipeline, terret.ModeDirect, ""} {
		if _, err := f.Create(t.Context(), terret.Session{
			Agent: "mock", Cwd: f.dir, Mode: m, PermissionMode: "acceptEdits",
			Options: terret.SessionOptions{Allow: []string{"Bash(git *)"}, Deny: []string{"mcp__x__*"}},
		}); err != nil {
			t.Errorf("mode %q: %v", m, err)
		}
	}
	id := f.session()
	bad, mode := "-x", terret.Mode("party")
	for field, u := range map[string]terret.SessionUpdated{
		"mode": {Mode: &mode}, "permission_mode": {PermissionMode: &bad}, "model": {Model: &bad},
	} {
		wantField(t, f.Update(t.Context(), id, u, ""), field)
	}
	for field, o := range map[string]terret.TurnOptions{
		"options.permission_mode": {PermissionMode: bad}, "options.model": {Model: bad}, "options.effort": {Effort: bad},
	} {
		_, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: terret.Prompt{Blocks: text("x").Blocks, Options: o}})
		wantField(t, err, field)
	}
}

func wantField(t *testing.T, err error, field string) {
	t.Helper()
	wantKind(t, err, terret.CodeInvalidRequest)
	if e, ok := errors.AsType[*terret.Error](err); !ok || e.Field != field {
		t.Errorf("error %v, want one that names %s", err, field)
	}
}

// The agent may be closed while somebody asks it: nobody hangs.
func TestAskingWhileClosing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, able())
	ids := []string{f.session(), f.session()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 20 {
			for _, id := range ids {
				_, _ = f.Models(context.Background(), id)
				_, _ = f.RunCommand(context.Background(), engine.CommandRequest{Session: id, Name: "review", When: engine.WhenQueue})
			}
		}
	}()
	for range 20 {
		for _, id := range ids {
			if err := f.CloseSession(t.Context(), id, ""); err != nil {
				t.Error(err)
			}
		}
	}
	receive(t, done)
	f.close()
	for _, id := range ids {
		checkLog(t, f.store, id)
	}
}
