package acp

import (
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// Profile is what must be known of a program that speaks ACP beyond what it says of
// itself. Only Name and Argv are required.
type Profile struct {
	Name  string   // as users type it
	Title string   // as its makers call it; empty means the name
	Argv  []string // the program and its arguments
	// Env lists its own variables: who is signed in, and its settings. NAME* stands for
	// all that begin so.
	Env []string
	// Set is added to its environment; Trusted and Untrusted too, if a person trusts
	// the folder that it works in, or not.
	Set, Trusted, Untrusted []string
	// Files are what the program takes orders from in a project's folder, if a person
	// trusts that.
	Files []terret.ProjectFile
	// Follows are files of a folder, or with a slash at the end folders in it, that the
	// program follows whatever it is told. If there is one in a folder that nobody
	// trusts, the program is not started.
	Follows []string
	// Mode is its own mode in which it asks before it changes anything; empty means
	// the one that it begins in.
	Mode string
	// SignIn says how to tell whether somebody is signed in.
	SignIn SignIn
	// Install is the command that installs it, and Tested the version that this
	// profile was made for.
	Install, Tested string
	// Can is what it is known to do. Nil means what it says when it starts.
	Can *Features
	// Why says why it cannot do something, where that is not what the protocol or its
	// features say.
	Why map[terret.Capability]string
	// Idle is how long it may say nothing in the midst of a turn, while no tool runs
	// and nobody is asked; zero means ten minutes.
	Idle time.Duration

	quirks quirks
}

// SignIn says how to tell whether somebody is signed in, and how to do it.
type SignIn struct {
	Variables []string // one of them is set
	Files     []string // or one of them is there; in the home folder
	Command   string   // that signs in
}

// Features are what differs between agents.
type Features struct {
	Resume       bool // a session goes on after a restart
	Fork         bool
	Images       bool
	Models       bool   // the model can be chosen
	Reasoning    bool   // it tells what the model thinks
	Commands     bool   // its own, such as /init
	MCP          bool   // it starts servers that a session names
	Cost         bool   // it tells what a turn costs
	SystemPrompt bool   // text can be added to it
	Questions    bool   // it puts questions to people
	Plan         bool   // it presents plans for approval
	Compact      string // the command that compresses the context; empty if there is none
}

// quirks are habits that the protocol does not provide for.
type quirks struct {
	// usage says what the numbers in the answer to a prompt are about.
	usage usageScope
	// names are the names of tools by their kind, where the agent does not say them.
	names map[string]string
	// idName is what separates the name of a tool from the rest in the id of a call.
	idName string
	// titleName says that the first title of a call is the name of the tool, up to that
	// separator; a space stands for none.
	titleName string
	// kinds are what tools do, by their names, where the agent does not say it.
	kinds map[string]string
	// planTool is the tool that presents a plan, also when it does not say which.
	planTool string
	// ignore are methods and kinds of updates that tell nothing of interest.
	ignore []string
	// failure finds in the last words of a turn that ended well that it did not.
	failure *lazyregexp.Regexp
	// notice finds pieces of messages that are not the model's, but the agent's own; a
	// piece that matches failure is another message.
	notice *lazyregexp.Regexp
	// anonymous says that messages of the model have ids, and those of the agent none: one
	// that ends a turn in which the model was not heard of tells why.
	anonymous bool
	// load says that a session is better loaded than resumed: it is noticed then that the
	// agent has lost it.
	load bool
	// startAgain says that a start that fails is worth another one: two processes that
	// start at the same time, for the first time, get in each other's way.
	startAgain bool
	// dirs is the argument before each further folder that the agent may work in, for
	// agents that are told so only when they start.
	dirs string
	// heading stands before each thought, if the model gave it none of its own.
	heading string
	// beforeLoad, if set, makes a session ready to be loaded.
	beforeLoad func(env []string, session string, now time.Time) error
	// meta, if set, is what else a session is opened with, in _meta.
	meta func(l launch, trusted bool) object
}

// usageScope says what numbers are about.
type usageScope int

const (
	usageOfTurn    usageScope = iota // all of the turn
	usageOfCall                      // the last call of the model in the turn
	usageOfSession                   // all since the process began
)

// title is what people call the agent.
func (p Profile) title() string {
	if p.Title == "" {
		return p.Name
	}
	return p.Title
}

// idleDefault is how long an agent may say nothing.
const idleDefault = 10 * time.Minute

// notInACP are the capabilities that the protocol has no words for.
var notInACP = map[terret.Capability]string{
	terret.CanSteer:            "ACP has no way to add to a running turn",
	terret.CanHooks:            "ACP has no hooks",
	terret.CanSubagents:        "ACP does not tell subagents apart",
	terret.CanStructuredOutput: "ACP has no structured output",
	terret.CanEditInput:        "ACP lets a client allow or refuse a tool use, not change it",
}

// capabilities is what the agent can do with these features.
func (p Profile) capabilities(f Features) terret.Capabilities {
	c := f.capabilities()
	for name, why := range p.Why {
		c.Abilities[name] = terret.Ability{Reason: why}
	}
	return c
}

// capabilities is what an agent with these features can do.
func (f Features) capabilities() terret.Capabilities {
	c := terret.Capabilities{Oversight: terret.OversightAsked, Abilities: map[terret.Capability]terret.Ability{}}
	for name, reason := range notInACP {
		c.Abilities[name] = terret.Ability{Reason: reason}
	}
	for _, name := range []terret.Capability{terret.CanPermissions, terret.CanStream, terret.CanInterrupt, terret.CanMultiTurn, terret.CanPrewarm} {
		c.Abilities[name] = terret.Ability{OK: true, By: terret.ByAgent}
	}
	for _, name := range []terret.Capability{terret.CanUndo, terret.CanRedo, terret.CanQueue} {
		c.Abilities[name] = terret.Ability{OK: true, By: terret.ByHarness}
	}
	for _, one := range []struct {
		name   terret.Capability
		ok     bool
		reason string
	}{
		{terret.CanReconnect, f.Resume, "it cannot load a session again"},
		{terret.CanOneShot, f.Resume, "it cannot load a session again"},
		{terret.CanFork, f.Fork, "it cannot copy a session"},
		{terret.CanForkAt, false, "ACP copies a session only as a whole"},
		{terret.CanAttachments, f.Images, "it takes no images"},
		{terret.CanSelectModel, f.Models, "it offers no choice of models"},
		{terret.CanReasoning, f.Reasoning, "it does not tell what the model thinks"},
		{terret.CanCommands, f.Commands, "it offers no commands"},
		{terret.CanMCP, f.MCP, "it does not start servers that a session names"},
		{terret.CanCost, f.Cost, "it does not tell what a turn costs"},
		{terret.CanBudget, f.Cost, "it does not tell what a turn costs"},
		{terret.CanSystemPrompt, f.SystemPrompt, "its system prompt cannot be added to"},
		{terret.CanQuestions, f.Questions, "it does not put questions to its client"},
		{terret.CanPlan, f.Plan, "it does not present plans to its client"},
		{terret.CanCompact, f.Compact != "", "it has no command that compresses the context"},
	} {
		if one.ok {
			c.Abilities[one.name] = terret.Ability{OK: true, By: terret.ByAgent}
		} else {
			c.Abilities[one.name] = terret.Ability{Reason: one.reason}
		}
	}
	if f.Cost {
		c.Abilities[terret.CanBudget] = terret.Ability{OK: true, By: terret.ByHarness}
	}
	return c
}

// features is what an agent can do by what it says of itself.
func (a about) features(s opened) Features {
	return Features{
		Resume: a.Capabilities.LoadSession || has(a.Capabilities.Session.Resume),
		Fork:   has(a.Capabilities.Session.Fork),
		Images: a.Capabilities.Prompt.Image,
		Models: s.Models != nil || s.option("model") != nil,
		// These are part of the protocol, and nothing says that an agent lacks them.
		Reasoning: true, Commands: true, MCP: true,
	}
}

// option is the first one of that category.
func (s opened) option(category string) *option {
	for i, o := range s.Options {
		if o.Category == category {
			return &s.Options[i]
		}
	}
	return nil
}
