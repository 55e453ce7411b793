package terret

import (
	"maps"
	"slices"
)

// Describer is a Driver that describes its agent.
type Describer interface {
	Describe() Description
}

// Description is what everybody else must know about an agent before it runs, so that
// no other package needs words of a single agent. Every field may be empty.
type Description struct {
	// Title is what the agent's makers call it, such as "Claude Code".
	Title string
	// Aliases are other names of the agent, which users type and files of other systems
	// contain.
	Aliases []string
	// Env lists the agent's own variables, which it may see: they decide who is signed
	// in, and set it up. NAME* stands for all variables that begin with NAME.
	Env []string
	// Modes says, for each of the agent's own permission modes, which policy it amounts
	// to.
	Modes map[string]Policy
	// Asking is the permission mode in which the agent asks before it acts, to return to
	// after planning.
	Asking string
	// OneShot is the oversight of one-shot sessions, if it is less than that of others.
	// The agent itself must keep to its tools then.
	OneShot Oversight
	// Program says that the agent is a program, which may be missing.
	Program bool
	// Install is the command that installs the program at the newest version that was tested;
	// empty if there is none. It is a command of ours, never of anybody else.
	Install string
	// Can is what the agent can do, if that is known without asking its program.
	Can *Capabilities
	// Sandbox says that the agent's commands can run in a sandbox of Terret's.
	Sandbox bool
	// Watched says that people run the agent themselves. Its sessions begin there, and take
	// decisions but no prompts.
	Watched bool
	// ProjectFiles are what the agent takes orders from in a project's folder. They take
	// effect only where a person trusts the folder, and changing them needs a rule that
	// names them.
	ProjectFiles []ProjectFile
}

// ProjectFile is a file of a project's folder that an agent takes orders from: settings,
// hooks, servers, commands. Texts that only persuade are none.
type ProjectFile struct {
	// Path is relative to the folder, with slashes. With one at its end it stands for all
	// files below.
	Path string
	// Why says what it does, in a few words, such as "settings of Claude Code".
	Why string
}

// ProjectFiles lists those of all the drivers, each path once.
func ProjectFiles(drivers []Driver) []ProjectFile {
	var out []ProjectFile
	for _, d := range drivers {
		for _, f := range DescriptionOf(d).ProjectFiles {
			if !slices.ContainsFunc(out, func(o ProjectFile) bool { return o.Path == f.Path }) {
				out = append(out, f)
			}
		}
	}
	return out
}

// PlanMode is the agent's own permission mode for planning; empty if it has none.
func (d Description) PlanMode() string {
	for _, mode := range slices.Sorted(maps.Keys(d.Modes)) {
		if d.Modes[mode] == PolicyPlan {
			return mode
		}
	}
	return ""
}

// DescriptionOf returns what the driver says about its agent.
func DescriptionOf(d Driver) Description {
	describer, ok := d.(Describer)
	if !ok {
		return Description{}
	}
	return describer.Describe()
}

// AgentName returns the name of the driver that is known by name or alias. It returns
// the name itself if there is none.
func AgentName(drivers []Driver, name string) string {
	for _, d := range drivers {
		if d.Name() == name {
			return name
		}
	}
	for _, d := range drivers {
		if slices.Contains(DescriptionOf(d).Aliases, name) {
			return d.Name()
		}
	}
	return name
}

// Careful reports whether people are asked in this policy before anything changes.
func (p Policy) Careful() bool { return p != PolicyAcceptEdits && p != PolicyAutoApprove }
