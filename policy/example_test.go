package policy_test

import (
	"fmt"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy"
)

// Rules are in the agents' own language, and commands are read as the shell reads them.
func ExampleJudge() {
	rules := []terret.Rule{
		{Effect: terret.EffectAllow, Pattern: "Bash(git *)"},
		{Effect: terret.EffectDeny, Pattern: "Bash(rm *)"},
	}
	for _, command := range []string{"git status", "git status; rm -rf build", "make"} {
		v := policy.Judge(policy.Subject{
			Tool: "Bash", Class: terret.ClassExecute, Input: fmt.Appendf(nil, `{"command": %q}`, command), Cwd: "/project",
		}, rules, terret.PolicyAsk)
		fmt.Printf("%s: %s\n", command, v.Behavior)
	}
	// Output:
	// git status: allow
	// git status; rm -rf build: deny
	// make: ask
}
