package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy"
)

const judgeRounds = 3000

func judgeSection() section {
	return section{
		name:  "Rules",
		intro: "`policy.Judge`, with six rules, on commands as agents send them. Each is read anew.",
		run:   benchJudge,
	}
}

// benchJudge takes the time that it takes to judge a command.
func benchJudge(context.Context, string) ([]row, error) {
	var rules []terret.Rule
	for effect, patterns := range map[terret.Effect][]string{
		terret.EffectAllow: {"Bash(git status *)", "Bash(go test *)", "Bash(npm run test *)", "Read(**)"},
		terret.EffectDeny:  {"Bash(rm *)", "Edit(.env)"},
	} {
		for _, p := range patterns {
			rules = append(rules, terret.Rule{Effect: effect, Pattern: p})
		}
	}
	var rows []row
	for _, c := range []struct{ what, command string }{
		{"a simple command", `git status --short`},
		{"a list with a pipe", `cd sub && go test ./... 2>&1 | tail -n 20`},
		{"a long one", `set -e; for f in a b c; do if grep -q "$f" list.txt; then go test -run "Test$f" ./... || exit 1; fi; done; git status --short && npm run test -- --watch=false`},
	} {
		s := policy.Subject{Tool: "Bash", Class: terret.ClassExecute, Input: []byte(fmt.Sprintf(`{"command":%q}`, c.command)), Cwd: "/repo", Home: "/home/dev"}
		took := make([]time.Duration, judgeRounds)
		for i := range took {
			began := time.Now()
			policy.Judge(s, rules, terret.PolicyAsk)
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		rows = append(rows, row{"judging " + c.what, fmt.Sprintf("median %.1f µs", float64(took[len(took)/2].Nanoseconds())/1e3), "50 µs"})
	}
	return rows, nil
}
