package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/internal/guard"
	"github.com/terret-dev/terret/internal/proc"
)

// printSafety says what agents are kept from, and what they are not.
func (a *app) printSafety(verbose bool) {
	switch err := guard.Contained(); {
	case !guard.Guaranteed():
		fmt.Fprintln(a.out, "\non this system, ending all processes of an agent is best effort: one that detaches itself may be missed")
	case err != nil:
		fmt.Fprintf(a.out, "\nall processes of an agent end with it; cgroup v2 is not available (%v), so one that drops its environment and its parents is missed if Terret and the agent's guard are both killed with -9\n", err)
	default:
		fmt.Fprintln(a.out, "\nall processes of an agent end with it, whatever is killed: each agent has a control group (cgroup v2) of its own")
	}
	if by, err := native.SandboxMechanism(sandboxHelper(), a.environ); err != nil {
		fmt.Fprintf(a.out, "--sandbox does not work: %s\n", oneLine(err.Error()))
	} else {
		fmt.Fprintf(a.out, "--sandbox works for the native agent, by %s\n", by)
	}
	out := proc.KeptOut(a.environ)
	if !verbose {
		fmt.Fprintf(a.out, "agents do not see %d of the variables of this environment; `terret agents doctor -v` lists them\n", len(out))
		return
	}
	fmt.Fprintf(a.out, "\nkept out of the environment of agents and their commands: %s\n", nonEmpty(printable(strings.Join(out, ", ")), "nothing"))
	for _, d := range a.harness.Agents.Drivers() {
		may := slices.Concat(terret.DescriptionOf(d).Env, a.cfg.Agents[d.Name()].Env)
		seen := slices.DeleteFunc(slices.Clone(out), func(name string) bool { return slices.Contains(proc.KeptOut(a.environ, may...), name) })
		if len(seen) > 0 {
			fmt.Fprintf(a.out, "  %s sees of these: %s\n", d.Name(), printable(strings.Join(seen, ", ")))
		}
	}
	fmt.Fprintln(a.out, `if a command of an agent needs one, name it in the configuration: {"agents": {"claude": {"env": ["AWS_PROFILE", "MY_APP_*"]}}}; "*" lets it see all that do not look secret`)
}
