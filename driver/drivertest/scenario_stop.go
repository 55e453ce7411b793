package drivertest

import (
	"strings"

	"github.com/terret-dev/terret"
)

// stopping are scenarios in which a turn is stopped. After each of them the session
// goes on.
var stopping = []scenario{
	{name: "interrupt in text", needs: terret.CanInterrupt, run: interruptText},
	{name: "interrupt in a tool", needs: terret.CanInterrupt, run: interruptTool},
	{name: "interrupt in an open request", needs: terret.CanInterrupt, also: []terret.Capability{terret.CanPermissions}, run: interruptRequest},
	{name: "interrupt at once", needs: terret.CanInterrupt, run: interruptAtOnce},
	{name: "kill in a tool", run: killTool},
	{name: "close in a tool", run: closeTool},
}

// forever is a command that says when it runs, and does not end by itself.
const forever = "touch begun; tail -f /dev/null"

// dying answers an agent that is ended: its tools may end before it does, and then it
// asks the model what to do.
var dying = step{Text: "Never mind.", Repeat: true}

func (f *fixture) interrupt(session string) {
	f.Helper()
	if err := f.e.Interrupt(f.Context(), session, tester); err != nil {
		f.Fatalf("interrupt: %v", err)
	}
}

// goesOn is that the session works after a stop, with the same agent.
func (f *fixture) goesOn(session string) {
	f.Helper()
	f.says(session, "go on", "Gone on.")
	events, err := f.read(session)
	if err != nil {
		f.Fatalf("%v", err)
	}
	if n := len(all[terret.SessionStart](events)); n != 1 && !f.target.PerTurn {
		f.Errorf("%d agents were started", n)
	}
}

func interruptText(f *fixture) {
	f.play(
		step{User: "go on", Anywhere: true, Text: "Gone on."},
		step{User: "talk", Pieces: []string{"I begin ", "to talk ", "without end."}, Hold: "never"},
	)
	id := f.session()
	turn := f.prompt(id, "talk")
	if f.has(terret.CanStream) {
		f.until(id, "beginning of the answer", func(ev terret.Event) bool {
			_, ok := ev.Data.(terret.MessageDelta)
			return ok
		})
	} else {
		f.await("the model was asked", func() bool { return len(f.model.requests()) > 0 })
	}
	f.interrupt(id)
	end := f.failed(f.end(id, turn), terret.CodeInterrupted)
	if f.has(terret.CanStream) && !strings.Contains(end.Text, "I begin") {
		f.Errorf("what was said is not kept: %q", end.Text)
	}
	f.goesOn(id)
}

func interruptTool(f *fixture) {
	f.play(
		step{User: "go on", Anywhere: true, Text: "Gone on."},
		step{User: "work", Calls: []Call{f.target.Tools.Shell(forever)}},
	)
	id := f.session()
	turn := f.prompt(id, "work")
	f.await("the tool runs", func() bool { return f.file("begun") == "" })
	f.interrupt(id)
	events := f.end(id, turn)
	f.failed(events, terret.CodeInterrupted)
	if failure := last[terret.ToolFailure](f, events); !failure.Interrupted || failure.Denied {
		f.Errorf("%+v", failure)
	}
	f.await("the command is gone", func() bool {
		for _, line := range alive(f.t, f.place.Home) {
			if strings.Contains(line, "tail -f") {
				return false
			}
		}
		return true
	})
	f.goesOn(id)
}

func interruptRequest(f *fixture) {
	f.play(f.tooLate(
		step{User: "go on", Anywhere: true, Text: "Gone on."},
		step{User: "work", Calls: []Call{f.target.Tools.Shell("touch made.txt")}},
	)...)
	id := f.session(withPolicy(terret.PolicyAsk))
	turn := f.prompt(id, "work")
	ev, _ := f.permission(id, turn)
	f.interrupt(id)
	events := f.end(id, turn)
	f.failed(events, terret.CodeInterrupted)
	if d := decisionFor(f, events, ev.Expects.RequestID); d.Source != terret.ByInterrupt || d.Behavior != terret.BehaviorDeny {
		f.Errorf("decided: %+v", d)
	}
	f.holds("made.txt", "(no file)")
	f.goesOn(id)
}

// interruptAtOnce stops a turn that the agent may not have begun with. Its end may
// also have come before.
func interruptAtOnce(f *fixture) {
	f.play(
		step{User: "go on", Anywhere: true, Text: "Gone on."},
		step{User: "talk", Pieces: []string{"I begin ", "to talk."}, Hold: "never", Repeat: true},
	)
	id := f.session()
	turn := f.prompt(id, "talk")
	f.interrupt(id)
	f.failed(f.end(id, turn), terret.CodeInterrupted)
	f.says(id, "go on", "Gone on.")
}

// killTool is that nothing of the agent is left, and the session goes on.
func killTool(f *fixture) {
	f.play(
		step{User: "go on", Anywhere: true, Text: "Gone on."},
		step{User: "work", Calls: []Call{f.target.Tools.Shell(forever)}},
		dying,
	)
	id := f.session()
	turn := f.prompt(id, "work")
	f.await("the tool runs", func() bool { return f.file("begun") == "" })
	if err := f.e.Kill(f.Context(), id, tester); err != nil {
		f.Fatalf("kill: %v", err)
	}
	if left := alive(f.t, f.place.Home); len(left) > 0 {
		f.Errorf("processes are left: %s", strings.Join(left, "\n"))
	}
	f.failed(f.end(id, turn), terret.CodeKilled)
	f.says(id, "go on", "Gone on.")
}

func closeTool(f *fixture) {
	f.play(
		step{User: "go on", Anywhere: true, Text: "Gone on."},
		step{User: "work", Calls: []Call{f.target.Tools.Shell(forever)}},
		dying,
	)
	id := f.session()
	turn := f.prompt(id, "work")
	f.await("the tool runs", func() bool { return f.file("begun") == "" })
	if err := f.e.CloseSession(f.Context(), id, tester); err != nil {
		f.Fatalf("close: %v", err)
	}
	if left := alive(f.t, f.place.Home); len(left) > 0 {
		f.Errorf("processes are left: %s", strings.Join(left, "\n"))
	}
	last[terret.TurnError](f, f.end(id, turn))
	f.says(id, "go on", "Gone on.")
}
