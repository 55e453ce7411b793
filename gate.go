package terret

import (
	"maps"
	"slices"
)

// maxTimeout bounds the time limit of a request, in seconds: a year.
const maxTimeout = 366 * 24 * 60 * 60

// Gates lists all gates.
func Gates() []Gate {
	return []Gate{GatePermission, GatePreTool, GatePrompt, GateQuestion, GatePlan, GateStop, GateSubagentStop, GateCompact, GateTrust}
}

// HookGates lists the gates where agents wait only if somebody wants to decide. At the
// others they always wait.
func HookGates() []Gate {
	return []Gate{GatePreTool, GatePrompt, GateStop, GateSubagentStop, GateCompact}
}

// CheckGates checks a list of wanted gates. The error names the field.
func CheckGates(field string, gates []Gate) error {
	for _, g := range gates {
		switch {
		case slices.Contains(HookGates(), g):
		case slices.Contains(Gates(), g):
			return Invalid(field, "an agent always waits at %s; leave it out", g)
		default:
			return Invalid(field, "there is no gate %.64q; use %s", g, oneOf(HookGates()))
		}
	}
	return nil
}

// CheckTimeouts checks time limits of gates, in seconds. The error names the field.
func CheckTimeouts(field string, limits map[Gate]int) error {
	for _, g := range slices.Sorted(maps.Keys(limits)) {
		switch seconds := limits[g]; {
		case !slices.Contains(Gates(), g):
			return Invalid(field, "there is no gate %.64q; use %s", g, oneOf(Gates()))
		case seconds < 0:
			return Invalid(field, "%s must not be negative; 0 means no limit", g)
		case seconds > maxTimeout:
			return Invalid(field, "%s is longer than a year; 0 means no limit", g)
		}
	}
	return nil
}
