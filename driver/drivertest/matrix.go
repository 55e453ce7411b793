package drivertest

import (
	"fmt"
	"os"
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
	return os.WriteFile(path, []byte(table), 0o644) //nolint:gosec // it is for everybody
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
	return out.String(), nil
}
