package drivertest

import (
	"github.com/terret-dev/terret"
)

// Target is an agent that the suite is run on.
type Target struct {
	Name    string // of the agent
	Title   string // in the table, if it is not the name
	Version string // as it is shown in the table
	Part    Part   // of the suite that is run
	// Driver makes the driver, for one engine at that place.
	Driver func(Place) terret.Driver
	// Env is the environment that the agent's process may see at that place. The
	// path and the home folder are added.
	Env func(Place) []string
	// Model is what sessions use, and Other is a second one. Wire is what the model's
	// API is sent for a name; nil means the same.
	Model, Other string
	Wire         func(name string) string
	Tools        Tools
	// Session changes each session before it is made; nil leaves it as it is.
	Session func(*terret.Session)
	// Program is the agent's executable; empty if it works in this process.
	Program string
	// Quiet says why nothing that the program prints matters to us; empty if it does.
	Quiet string
	// HidesStatus says that the agent does not tell the status of an error of the
	// model's API after which it tries again.
	HidesStatus bool
	// PerTurn says that each turn has a process of its own.
	PerTurn bool
	// Forget makes the agent lose all its sessions; nil if it has none of its own.
	Forget func(Place) error
	// Command puts a command of that name into the agent's own settings, whose text
	// is sent to the model when somebody types it; nil if there is no such thing.
	Command func(p Place, name, text string) error
	// ArgsApart says that the model is sent a command's text and its arguments one after
	// the other, and not the one within the other.
	ArgsApart bool
	// Poison puts settings into a project's folder that make the agent run a command
	// by itself; nil if it reads none there.
	Poison func(dir, command string) error
	// StructuredText says that structured output is the text of the last message.
	StructuredText bool
	// Await, if set, waits for a subagent that goes on by itself: AwaitID is the regular
	// expression, between slashes and with a group agent, that finds its id in the result
	// of the call that started it.
	Await   func(agent string) Call
	AwaitID string
	// PlanMode is the agent's own permission mode in which it only plans. Plans that
	// are kept in a file are written before they are presented: PlanFile is the
	// regular expression, between slashes and with a group plan_file, that finds its
	// path in the reminders that the agent sends.
	PlanMode, PlanFile string
	// PlanText is a plan as the model writes it, for agents that have no tool for that.
	PlanText func(plan string) string
	// Lacks is what the agent does not do or tell, where no capability says so.
	Lacks Lacks
}

// Lacks is what an agent does not do, or does not tell. Where a field is a reason, the
// scenarios that cannot go without are lacking for it; where it is a bool, scenarios
// look at less.
type Lacks struct {
	ToolNames    bool   // the list of its tools, when a session starts
	ToolOutput   bool   // what tools return
	ToolFailure  bool   // that a command failed
	ToolChoice   string // being told which tools it has
	SeveralAsks  string // asking for more than one thing at a time
	UntrustedMCP bool   // servers of a session in a folder that nobody trusts
	AskOutside   bool   // asking about files outside of its folders: it leaves them alone
	Retries      string // telling that the model is asked again
	LongPrompts  string // taking a prompt of 3 MB
	ModelSwitch  string // going to another model for good
	HeedsTrust   bool   // leaving the settings of a folder alone: it must not be started where there are any
	NewIDs       bool   // ids of sessions that are given only once
	ExactText    bool   // passing a prompt on to the model as it is
	DenialReason bool   // telling the model why a tool use was denied
	DenialGoesOn bool   // going on after a tool use was denied: it ends the turn
	DenialStops  bool   // stopping at once after a denial that ends the turn: it may ask the model once more
	PlanGoesOn   bool   // going on after a plan was not approved: it ends the turn
	// Statuses are those of the model's API that it does not tell, with the kind of
	// error that they become; zero stands for a model that cannot be reached.
	Statuses map[int]terret.ErrorCode
}

// Place is where a scenario happens.
type Place struct {
	Home string // of the agent, for this scenario alone
	URL  string // of the scripted model
	Key  string // for the model's API; empty if there is none
	// Program is what to start in place of the target's.
	Program string
}

// Call is a tool call, as the model makes it.
type Call struct {
	Name  string
	Input map[string]any
}

// Tools are the agent's tools, by what they do. A nil function says that there is
// no such tool.
type Tools struct {
	Shell      func(command string) Call
	Background func(command string) Call // a command that the agent does not wait for
	Write      func(path, content string) Call
	Edit       func(path, old, replacement string) Call
	Read       func(path string) Call
	Ask        func(question string, options ...string) Call
	Plan       func(plan string) Call
	Subagent   func(prompt string) Call
	Structured func(value map[string]any) Call
	MCP        func(server, tool string, input map[string]any) Call
}

// title is how the target is called in the table.
func (t Target) title() string {
	if t.Title == "" {
		return t.Name
	}
	return t.Title
}

// wire is what the model's API is sent for a name.
func (t Target) wire(name string) string {
	if t.Wire == nil {
		return name
	}
	return t.Wire(name)
}
