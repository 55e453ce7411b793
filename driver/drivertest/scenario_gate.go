package drivertest

import (
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// gating are scenarios in which somebody wants to decide about more than tools.
var gating = []scenario{
	{name: "hooks", needs: terret.CanHooks, run: hooks},
	{name: "stop blocked", needs: terret.CanHooks, run: stopBlocked},
	{name: "stop of a subagent blocked", needs: terret.CanHooks, also: []terret.Capability{terret.CanSubagents}, cannot: noSubagents, run: subagentStopBlocked},
	{name: "prompt blocked", needs: terret.CanHooks, run: promptBlocked},
	{name: "compaction blocked", needs: terret.CanHooks, also: []terret.Capability{terret.CanCompact}, run: compactionBlocked},
}

func wanting(gates ...terret.Gate) func(*terret.Session) {
	return withOptions(terret.SessionOptions{Gates: gates})
}

// waits waits for a request at the gate, other than those, and returns it.
func (f *fixture) waits(session, turn string, gate terret.Gate, but ...terret.Event) terret.Event {
	f.Helper()
	events := f.until(session, "request at the gate "+string(gate), func(ev terret.Event) bool {
		asks := ev.Expects != nil && ev.Expects.Gate == gate && !slices.ContainsFunc(but, func(b terret.Event) bool { return b.Seq == ev.Seq })
		return ev.Turn == turn && (asks || ev.Kind().EndsTurn())
	})
	request := events[len(events)-1]
	if request.Kind().EndsTurn() {
		f.Fatalf("the turn ended and nobody was asked at the gate %s", gate)
	}
	return request
}

func block(r terret.Event, why string) terret.Decision {
	return terret.Decision{Gate: r.Expects.Gate, Behavior: terret.BehaviorBlock, Reason: why}
}

// hooks is that the agent asks where somebody wants to decide, and nowhere else, and
// that a decider may come in the middle of a session.
func hooks(f *fixture) {
	f.play(step{User: "first", Text: "One."}, step{User: "second", Text: "Two."}, step{User: "third", Text: "Three."})
	id := f.session()
	atStop := func(ev terret.Event) bool { return ev.Expects != nil && ev.Expects.Gate == terret.GateStop }
	if events := f.says(id, "the first thing", "One."); slices.ContainsFunc(events, atStop) {
		f.Errorf("it asks whether it may stop, and nobody wants to know")
	}
	release := f.e.Want(id, terret.GateStop)
	turn := f.prompt(id, "the second thing")
	ev := f.waits(id, turn, terret.GateStop)
	f.decide(ev, allow(ev))
	events := f.end(id, turn)
	f.completed(events, "Two.")
	f.byPerson(events, ev, terret.BehaviorAllow)
	release()
	f.says(id, "the third thing", "Three.")
	f.heard("the third thing")
}

// stopBlocked is that the agent goes on, and is told why.
func stopBlocked(f *fixture) {
	f.play(step{User: "hi", Text: "Hello."}, step{User: "name the colour", Text: "It is blue."})
	id := f.session(wanting(terret.GateStop))
	turn := f.prompt(id, "hi")
	first := f.waits(id, turn, terret.GateStop)
	if d, ok := first.Data.(terret.StopRequest); !ok || d.LastMessage != "Hello." || d.Again {
		f.Errorf("%+v", first.Data)
	}
	f.decide(first, block(first, "name the colour as well"))
	again := f.waits(id, turn, terret.GateStop, first)
	if d, ok := again.Data.(terret.StopRequest); !ok || d.LastMessage != "It is blue." || !d.Again {
		f.Errorf("%+v", again.Data)
	}
	f.decide(again, allow(again))
	events := f.end(id, turn)
	f.completed(events, "It is blue.")
	f.byPerson(events, first, terret.BehaviorBlock)
	f.heard("name the colour as well")
}

// subagentStopBlocked is that a subagent goes on, and is told why.
func subagentStopBlocked(f *fixture) {
	f.play(append(
		f.awaiting(),
		step{First: "main task", User: "main task", Anywhere: true, Calls: []Call{f.target.Tools.Subagent("look around here")}},
		step{First: "look around", User: "look once more", Anywhere: true, Text: "There is a cat."},
		step{First: "look around", Anywhere: true, Text: "Nothing."},
		step{First: "main task", Result: "There is a cat.", Anywhere: true, Text: "A cat."},
	)...)
	id := f.session(wanting(terret.GateSubagentStop))
	turn := f.prompt(id, "the main task")
	first := f.waits(id, turn, terret.GateSubagentStop)
	f.decide(first, block(first, "look once more"))
	again := f.waits(id, turn, terret.GateSubagentStop, first)
	f.decide(again, allow(again))
	events := f.end(id, turn)
	f.completed(events, "A cat.")
	if stop := last[terret.SubagentStop](f, events); stop.Result != "There is a cat." {
		f.Errorf("%+v", stop)
	}
}

// promptBlocked is that the model never hears of the prompt.
func promptBlocked(f *fixture) {
	f.play(step{User: "good day", Text: "Good day."})
	id := f.session(wanting(terret.GatePrompt))
	turn := f.prompt(id, "hello")
	ev := f.waits(id, turn, terret.GatePrompt)
	f.decide(ev, block(ev, "not that word"))
	events := f.end(id, turn)
	if end := last[terret.TurnComplete](f, events); !strings.Contains(end.Text, "not that word") {
		f.Errorf("%+v", end)
	}
	turn = f.prompt(id, "good day")
	ev = f.waits(id, turn, terret.GatePrompt)
	f.decide(ev, allow(ev))
	f.completed(f.end(id, turn), "Good day.")
	if said := f.model.last(); strings.Contains(said.User, "hello") || strings.Contains(said.User, "not that word") {
		f.Errorf("the model was sent %q", said.User)
	}
}

// compactionBlocked is that the model is still sent everything.
func compactionBlocked(f *fixture) {
	f.play(step{User: "first", Text: "One."}, step{User: "second", Text: "Two."})
	id := f.session(wanting(terret.GateCompact))
	f.says(id, "the first thing", "One.")
	turn, err := f.e.Compact(f.Context(), engine.CompactRequest{Session: id, By: tester})
	if err != nil {
		f.Fatalf("compact: %v", err)
	}
	ev := f.waits(id, turn.ID, terret.GateCompact)
	f.decide(ev, block(ev, "keep it all"))
	if end := last[terret.TurnComplete](f, f.end(id, turn.ID)); !strings.Contains(end.Text, "keep it all") {
		f.Errorf("%+v", end)
	}
	f.says(id, "the second thing", "Two.")
	if said := f.model.last(); !strings.Contains(said.Said, "One.") {
		f.Errorf("the model was sent only %q", said.Said)
	}
}
