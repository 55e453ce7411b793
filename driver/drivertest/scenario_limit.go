package drivertest

import (
	"github.com/terret-dev/terret"
)

// limits are those that sessions have.
var limits = []scenario{
	{name: "max turns", run: maxTurns},
	{name: "max turns of one turn", run: maxTurnsOnce},
	{name: "budget", needs: terret.CanBudget, run: budget},
}

func maxTurns(f *fixture) {
	f.play(
		step{User: "go on", Anywhere: true, Text: "Gone on."},
		step{Calls: []Call{f.target.Tools.Shell("echo step")}, Repeat: true},
	)
	id := f.session(withOptions(terret.SessionOptions{MaxTurns: 2}))
	f.failed(f.run(id, "work"), terret.CodeMaxTurns)
	if n := len(f.model.requests()); n > 4 { // some agents are stopped when they take one more, which takes a moment
		f.Errorf("the model was asked %d times", n)
	}
	f.says(id, "go on", "Gone on.")
}

func maxTurnsOnce(f *fixture) {
	shell := f.target.Tools.Shell
	f.play(
		step{User: "more", Anywhere: true, Calls: []Call{shell("echo the other")}}, step{Result: "the other", Anywhere: true, Text: "Done."},
		step{Calls: []Call{shell("echo step")}, Repeat: true},
	)
	id := f.session()
	p := words("work")
	p.Options.MaxTurns = 1
	f.failed(f.end(id, f.promptWith(id, p, "")), terret.CodeMaxTurns)
	f.says(id, "more", "Done.")
}

// budget is that a turn over the budget ends, and that no other one begins.
func budget(f *fixture) {
	f.play(step{User: "work", Calls: []Call{f.target.Tools.Shell("echo step")}, Input: 1_000_000}, step{Text: "x", Input: 1_000_000, Repeat: true})
	id := f.session(withOptions(terret.SessionOptions{MaxCostUSD: terret.USD / 100}))
	f.failed(f.run(id, "work"), terret.CodeMaxBudget)
	asked := len(f.model.requests())
	f.failed(f.run(id, "more"), terret.CodeMaxBudget)
	if n := len(f.model.requests()); n != asked {
		f.Errorf("the model was asked %d times over the budget", n-asked)
	}
}
