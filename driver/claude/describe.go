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
		Install: install,
		Can:     &can,
		ProjectFiles: []terret.ProjectFile{
			{Path: ".mcp.json", Why: "servers that agents start"},
			{Path: ".claude/settings.json", Why: "settings of Claude Code, with hooks and permissions"},
			{Path: ".claude/settings.local.json", Why: "settings of Claude Code, with hooks and permissions"},
			{Path: ".claude/agents/", Why: "agents of Claude Code"},
			{Path: ".claude/commands/", Why: "commands of Claude Code"},
			{Path: ".claude/hooks/", Why: "programs that Claude Code runs"},
			{Path: ".claude/output-styles/", Why: "system prompts of Claude Code"},
			{Path: ".claude/plugins/", Why: "plugins of Claude Code"},
			{Path: ".claude/skills/", Why: "skills of Claude Code"},
			{Path: ".claude/workflows/", Why: "workflows of Claude Code"},
		},
	}
}
