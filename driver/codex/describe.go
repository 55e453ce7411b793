package codex

import "github.com/terret-dev/terret"

// Describe implements terret.Describer.
func (d *Driver) Describe() terret.Description {
	can := capabilities(hooksWork)
	return terret.Description{
		Title: "Codex", Aliases: []string{"codex-cli", "openai-codex"}, Env: ownVariables, Program: true, Install: install, Can: &can,
		Modes: map[string]terret.Policy{
			// Its modes are sandboxes: none of them decides what it asks us.
			readOnly: terret.PolicyAsk, workspaceWrite: terret.PolicyAsk, noSandbox: terret.PolicyAsk, planMode: terret.PolicyPlan,
		},
		Asking:       noSandbox, // as it starts
		ProjectFiles: []terret.ProjectFile{{Path: ".codex/", Why: "settings of Codex"}, {Path: ".agents/", Why: "skills and plugins that agents read"}},
	}
}
