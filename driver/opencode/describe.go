package opencode

import "github.com/terret-dev/terret"

// Describe implements terret.Describer. Its modes are its own roles, build and plan among
// them; the rules decide in all of them.
func (d *Driver) Describe() terret.Description {
	can := capabilities()
	return terret.Description{
		Title: "OpenCode", Aliases: []string{"open-code"}, Env: providers, Program: true, Install: install, Can: &can,
		Modes: map[string]terret.Policy{"build": terret.PolicyAsk, "plan": terret.PolicyPlan}, Asking: "build",
		ProjectFiles: []terret.ProjectFile{
			{Path: "opencode.json", Why: "settings of OpenCode"},
			{Path: "opencode.jsonc", Why: "settings of OpenCode"},
			{Path: ".opencode/", Why: "settings and plugins of OpenCode"},
			{Path: ".agents/", Why: "skills and plugins that agents read"},
		},
	}
}
