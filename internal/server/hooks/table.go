package hooks

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// Interaction says what becomes of one of an agent's hooks.
type Interaction struct {
	Event string `json:"event"` // as the agent calls it
	// Kind is the event in Terret's log.
	Kind terret.Kind `json:"kind"`
	// Decides says that the agent waits for a decision, for as long as Limit; if none
	// comes, Fallback says what happens.
	Decides  bool          `json:"decides"`
	Limit    time.Duration `json:"-"`
	Seconds  int           `json:"limit_seconds"`
	Fallback string        `json:"fallback"`
}

// Agent is an agent whose hooks Terret can use.
type Agent struct {
	Name string // as users type it
	// The file with its hooks: in a person's home, and in a project, where it is the
	// person's own too, not the project's.
	user, project []string
	homeEnv       string // names the folder of the user's file, if set
	Interactions  []Interaction
}

// patience is how long the agent waits for what only reports.
const patience = 10 * time.Second

// Agents lists the agents whose hooks Terret can use.
func Agents() []Agent {
	on := "the agent goes on"
	reports := func(event string, kind terret.Kind) Interaction {
		return Interaction{Event: event, Kind: kind, Limit: patience, Fallback: on}
	}
	list := []Interaction{
		reports("SessionStart", terret.KindSessionStart),
		reports("UserPromptSubmit", terret.KindUserPrompt),
		reports("MessageDisplay", terret.KindMessageDelta),
		reports("PreToolUse", terret.KindToolPre),
		{Event: "PermissionRequest", Kind: terret.KindPermissionRequest, Decides: true, Limit: 24 * time.Hour, Fallback: "the dialog in the terminal stays"},
		reports("PostToolUse", terret.KindToolPost),
		reports("PostToolUseFailure", terret.KindToolFailure),
		reports("SubagentStart", terret.KindSubagentStart),
		reports("SubagentStop", terret.KindSubagentStop),
		reports("Notification", terret.KindNotification),
		{Event: "Stop", Kind: terret.KindStopRequest, Decides: true, Limit: 11 * time.Minute, Fallback: "the agent stops; it waits only if somebody wants to decide"},
		reports("StopFailure", terret.KindTurnError),
		reports("PreCompact", terret.KindHookEvent),
		reports("SessionEnd", terret.KindSessionEnd),
	}
	for i := range list {
		list[i].Seconds = int(list[i].Limit / time.Second)
	}
	return []Agent{{
		Name: "claude", user: []string{".claude", "settings.json"}, project: []string{".claude", "settings.local.json"}, homeEnv: "CLAUDE_CONFIG_DIR",
		Interactions: list,
	}}
}

// AgentNamed finds an agent by its name.
func AgentNamed(name string) (Agent, error) {
	all := Agents()
	i := slices.IndexFunc(all, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		var names []string
		for _, a := range all {
			names = append(names, a.Name)
		}
		return Agent{}, terret.Invalid("agent", "Terret knows no hooks of %q; it knows those of %s", name, strings.Join(names, ", "))
	}
	return all[i], nil
}

// UserFile is the agent's settings of a person with that home folder.
func (a Agent) UserFile(home string, getenv func(string) string) string {
	if dir := getenv(a.homeEnv); dir != "" {
		return filepath.Join(dir, a.user[len(a.user)-1])
	}
	return filepath.Join(append([]string{home}, a.user...)...)
}

// ProjectFile is the agent's settings in a project's folder.
func (a Agent) ProjectFile(dir string) string {
	return filepath.Join(append([]string{dir}, a.project...)...)
}

// interaction finds the row of one of the agent's hooks. Those without a row only report.
func (a Agent) interaction(event string) Interaction {
	for _, i := range a.Interactions {
		if i.Event == event {
			return i
		}
	}
	return Interaction{Event: event, Kind: terret.KindHookEvent, Limit: patience}
}
