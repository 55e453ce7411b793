package hooks

import (
	"cmp"
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
	// person's own too, not the project's; nil if there is none like that.
	user, project []string
	homeEnv       string        // names the folder of the user's file, if set
	wholeHome     bool          // or that of the person's home
	unit          time.Duration // of limits in the file
	Interactions  []Interaction
}

// patience is how long the agent waits for what only reports.
const patience = 10 * time.Second

// Agents lists the agents whose hooks Terret can use.
func Agents() []Agent {
	return []Agent{
		{
			Name: "claude", user: []string{".claude", "settings.json"}, project: []string{".claude", "settings.local.json"}, homeEnv: "CLAUDE_CONFIG_DIR", unit: time.Second,
			Interactions: interactions(
				Interaction{Event: "PermissionRequest", Kind: terret.KindPermissionRequest, Decides: true, Limit: 24 * time.Hour, Fallback: "the dialog in the terminal stays"},
				Interaction{Event: "Stop", Kind: terret.KindStopRequest, Decides: true, Limit: 11 * time.Minute, Fallback: "the agent stops; it waits only if somebody wants to decide"},
			),
		},
		{
			Name: "qwen", user: []string{".qwen", "settings.json"}, homeEnv: "QWEN_HOME", unit: time.Second,
			Interactions: interactions(
				Interaction{Event: "PermissionRequest", Kind: terret.KindToolPre, Decides: true, Fallback: "the dialog in the terminal is shown; only rules that deny decide before it"},
				Interaction{Event: "Stop", Kind: terret.KindTurnComplete},
			),
		},
		{
			Name: "gemini", user: []string{".gemini", "settings.json"}, homeEnv: "GEMINI_CLI_HOME", wholeHome: true, unit: time.Millisecond,
			Interactions: complete([]Interaction{
				{Event: "SessionStart", Kind: terret.KindSessionStart},
				{Event: "BeforeAgent", Kind: terret.KindUserPrompt},
				{Event: "BeforeTool", Kind: terret.KindToolPre, Decides: true, Fallback: "the agent goes on, and asks in the terminal; only rules that deny decide before it"},
				{Event: "AfterTool", Kind: terret.KindToolPost},
				{Event: "Notification", Kind: terret.KindNotification},
				{Event: "AfterAgent", Kind: terret.KindTurnComplete},
				{Event: "SessionEnd", Kind: terret.KindSessionEnd},
			}),
		},
	}
}

const goesOn = "the agent goes on"

// interactions are those of Claude Code and of agents whose hooks have its names: the given
// ones, and others that only report.
func interactions(given ...Interaction) []Interaction {
	list := []Interaction{
		{Event: "SessionStart", Kind: terret.KindSessionStart},
		{Event: "UserPromptSubmit", Kind: terret.KindUserPrompt},
		{Event: "MessageDisplay", Kind: terret.KindMessageDelta},
		{Event: "PreToolUse", Kind: terret.KindToolPre},
		{Event: "PermissionRequest"},
		{Event: "PostToolUse", Kind: terret.KindToolPost},
		{Event: "PostToolUseFailure", Kind: terret.KindToolFailure},
		{Event: "SubagentStart", Kind: terret.KindSubagentStart},
		{Event: "SubagentStop", Kind: terret.KindSubagentStop},
		{Event: "Notification", Kind: terret.KindNotification},
		{Event: "Stop"},
		{Event: "StopFailure", Kind: terret.KindTurnError},
		{Event: "PreCompact", Kind: terret.KindHookEvent},
		{Event: "SessionEnd", Kind: terret.KindSessionEnd},
	}
	for _, g := range given {
		list[slices.IndexFunc(list, func(i Interaction) bool { return i.Event == g.Event })] = g
	}
	return complete(list)
}

// complete fills in what most have.
func complete(list []Interaction) []Interaction {
	for i := range list {
		r := &list[i]
		r.Limit, r.Fallback = cmp.Or(r.Limit, patience), cmp.Or(r.Fallback, goesOn)
		r.Seconds = int(r.Limit / time.Second)
	}
	return list
}

// AgentNamed finds an agent by its name.
func AgentNamed(name string) (Agent, error) {
	all := Agents()
	i := slices.IndexFunc(all, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return Agent{}, terret.Invalid("agent", "Terret knows no hooks of %q; it knows those of %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}

// Names lists the agents' names.
func Names() (out []string) {
	for _, a := range Agents() {
		out = append(out, a.Name)
	}
	return out
}

// UserFile is the agent's settings of a person with that home folder.
func (a Agent) UserFile(home string, getenv func(string) string) (string, error) {
	switch dir := getenv(a.homeEnv); {
	case dir != "" && a.wholeHome:
		home = dir
	case dir != "":
		return filepath.Join(dir, a.user[len(a.user)-1]), nil
	case home == "":
		return "", terret.Invalid("user", "HOME is not set, and neither is %s; set one of them", a.homeEnv)
	}
	return filepath.Join(append([]string{home}, a.user...)...), nil
}

// ProjectFile is the agent's settings in a project's folder.
func (a Agent) ProjectFile(dir string) (string, error) {
	if a.project == nil {
		return "", terret.Invalid("project", "%s keeps no settings of your own in a project, only those that all share; install its hooks without --project", a.Name)
	}
	return filepath.Join(append([]string{dir}, a.project...)...), nil
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
