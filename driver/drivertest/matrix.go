package drivertest

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

const preamble = `# Conformance

Made by ` + "`make conformance`" + `; do not edit. Each agent ran the scenarios of [driver/drivertest](../driver/drivertest) as the real program, with a scripted model behind it, through an engine and a store as users have them. After each scenario the log was in order, no process was left and the key had not been seen.

✓ it works. – it does not apply, or the agent does not declare it; then it was tried where that is possible, and did not work. The reasons are below.

`

// Write writes the table of all results. It refuses to if some scenario did not run.
func Write(path string, results ...*Result) error {
	table, err := tableOf(results)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(table), 0o644) // it is for everybody
}

func tableOf(results []*Result) (string, error) {
	var out, notes strings.Builder
	out.WriteString(preamble)
	out.WriteString("| agent | version | tool uses that pass us |\n|---|---|---|\n")
	head, rule := "| scenario | capability |", "|---|---|"
	for _, r := range results {
		if r == nil {
			return "", fmt.Errorf("drivertest: not every agent ran")
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", r.target.title(), r.target.Version, r.oversight)
		head += " " + r.target.title() + " |"
		rule += "---|"
	}
	fmt.Fprintf(&out, "\n%s\n%s\n", head, rule)
	numbers := map[string]int{}
	for _, s := range scenarios() {
		fmt.Fprintf(&out, "| %s | %s |", s.name, s.needs)
		for _, r := range results {
			c, ran := r.cells[s.name]
			if !ran {
				return "", fmt.Errorf("drivertest: %s did not run on %s", s.name, r.target.title())
			}
			mark := string(c.mark)
			if c.reason != "" {
				key := r.target.title() + ": " + c.reason
				if numbers[key] == 0 {
					numbers[key] = len(numbers) + 1
					fmt.Fprintf(&notes, "%d. %s\n", numbers[key], key)
				}
				mark += fmt.Sprintf(" %d", numbers[key])
			}
			out.WriteString(" " + mark + " |")
		}
		out.WriteString("\n")
	}
	if notes.Len() > 0 {
		out.WriteString("\n" + notes.String())
	}
	out.WriteString("\n## Where a ✓ means less\n\nWhat an agent does not do or does not tell, so that its scenarios did not look at it.\n\n")
	for _, r := range results {
		if less := r.target.Lacks.notes(); len(less) > 0 {
			fmt.Fprintf(&out, "- %s: %s\n", r.target.title(), strings.Join(less, "; "))
		}
	}
	return out.String(), nil
}

// notes says where scenarios look at less.
func (l Lacks) notes() []string {
	var out []string
	for _, each := range []struct {
		lacks bool
		note  string
	}{
		{l.ToolNames, "it does not list its tools when a session starts"},
		{l.ToolOutput, "it does not tell what tools return"},
		{l.ToolFailure, "it does not tell that a command failed"},
		{l.UntrustedMCP, "it starts no MCP server in a folder that nobody trusts"},
		{l.HeedsTrust, "it follows the settings of a folder whatever it is told, so it is not started where nobody trusts them"},
		{l.AskOutside, "it does not ask about files outside its folders: it leaves them alone"},
		{l.NewIDs, "it may give a session's id again"},
		{l.ExactText, "it changes the prompt before the model gets it"},
		{l.DenialReason, "it does not tell the model why a tool use was denied"},
		{l.DenialGoesOn, "a denied tool use ends its turn"},
		{l.DenialStops, "after a denial that ends the turn it may ask the model once more"},
		{l.PlanGoesOn, "a plan that is not approved ends its turn"},
	} {
		if each.lacks {
			out = append(out, each.note)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(l.Statuses)) {
		what := "a model that cannot be reached"
		if status != 0 {
			what = fmt.Sprintf("status %d of the model's API", status)
		}
		out = append(out, fmt.Sprintf("%s becomes %s", what, l.Statuses[status]))
	}
	return out
}
