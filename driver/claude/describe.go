package claude

import "github.com/terret-dev/terret"

// Describe implements terret.Describer.
func (d *Driver) Describe() terret.Description {
	can := capabilities()
	return terret.Description{
		Title:   "Claude Code",
		Aliases: []string{"claude-code", "agent-sdk", "sdk"},
		Env:     ownVariables(d.cfg.Environ),
		Modes: map[string]terret.Policy{
			"default": terret.PolicyAsk, "plan": terret.PolicyPlan, "dontAsk": terret.PolicyDenyUnlessAllowed,
			"acceptEdits": terret.PolicyAcceptEdits, "auto": terret.PolicyAutoApprove, bypass: terret.PolicyAutoApprove,
		},
		Asking:  "default",
		OneShot: terret.OversightNone,
		Program: true,
		Can:     &can,
	}
}
