package drivertest

import (
	"context"
	"fmt"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// lists are the scenarios in which a session, its persona and a turn say which tools
// there are.
var lists = []scenario{
	{name: "tools by session, persona and turn", cannot: noToolChoice, run: toolLists},
	{name: "tools removed by session, persona and turn", cannot: noToolChoice, run: removedLists},
	{name: "tool that does not exist", run: missingTool},
}

// optional is a list that somebody gives or not.
func optional(list ...string) [][]string { return [][]string{nil, list} }

// shows is that the model was offered exactly those of the tools that the scenario is
// about.
func (f *fixture) shows(what string, wanted func(tool string) bool) {
	f.Helper()
	offered := f.model.last().Tools
	for _, tool := range f.subjects() {
		if got, want := slices.Contains(offered, tool), wanted(tool); got != want {
			f.Errorf("%s: %s is offered to the model: %v, want %v", what, tool, got, want)
		}
	}
}

// subjects are the tools that lists are about: one that reads, one that runs commands
// and one that writes.
func (f *fixture) subjects() []string {
	t := f.target.Tools
	return []string{t.Read("x").Name, t.Shell("x").Name, t.Write("x", "x").Name}
}

// withPersonas makes the engine know these personas.
func (f *fixture) withPersonas(all map[string]terret.Persona) {
	f.config = func(c *engine.Config) {
		c.Roles = func(_ context.Context, s terret.Session, _ terret.TurnOptions) (engine.Role, error) {
			p, ok := all[string(s.Persona)]
			if !ok {
				return engine.Role{}, nil
			}
			return engine.Role{Persona: &p}, nil
		}
	}
}

// replies are steps that answer so many prompts "turn 0", "turn 1" and so on.
func replies(n int) []step {
	var out []step
	for i := range n {
		out = append(out, step{User: fmt.Sprintf("turn %d.", i), Text: fmt.Sprintf("Done %d.", i)})
	}
	return out
}

// turn runs the turn of that number.
func (f *fixture) turn(session string, i int, o terret.TurnOptions) {
	f.Helper()
	p := words(fmt.Sprintf("turn %d.", i))
	p.Options = o
	f.completed(f.end(session, f.promptWith(session, p, "")), fmt.Sprintf("Done %d.", i))
}

// toolLists is that a tool exists for the agent if all who have a say have it: in
// every combination of the lists of a session, its persona, a turn, and a turn that
// overrides them. Turns of one session differ, so agents that take tools at their
// start must be started again.
func toolLists(f *fixture) {
	read, shell, write := f.subjects()[0], f.subjects()[1], f.subjects()[2]
	f.withPersonas(map[string]terret.Persona{"P": {ID: "P", Tools: []string{read, shell}}})
	f.play(replies(16)...)
	has := func(list []string, tool string) bool { return list == nil || slices.Contains(list, tool) }
	n := 0
	for _, session := range optional(read, write) {
		for _, persona := range optional(read, shell) {
			id := f.session(func(s *terret.Session) {
				s.Options.Tools = session
				if persona != nil {
					s.Persona = "P"
				}
			})
			for _, turn := range optional(shell, write) {
				for _, override := range optional(shell) {
					f.turn(id, n, terret.TurnOptions{Tools: turn, ToolsOverride: override})
					f.shows(fmt.Sprintf("session %v, persona %v, turn %v, override %v", session, persona, turn, override), func(tool string) bool {
						if override != nil {
							return has(override, tool)
						}
						return has(session, tool) && has(persona, tool) && (persona != nil || has(turn, tool))
					})
					n++
				}
			}
		}
	}
}

// removedLists is that a tool which anybody takes away is gone, for as long as they do.
func removedLists(f *fixture) {
	read, shell, write := f.subjects()[0], f.subjects()[1], f.subjects()[2]
	f.withPersonas(map[string]terret.Persona{"P": {ID: "P", DisallowedTools: []string{shell}}})
	f.play(replies(8)...)
	n := 0
	for _, session := range optional(write) {
		for _, persona := range optional(shell) {
			id := f.session(func(s *terret.Session) {
				s.Options.DisallowedTools = session
				if persona != nil {
					s.Persona = "P"
				}
			})
			for _, turn := range optional(read) {
				f.turn(id, n, terret.TurnOptions{DisallowedTools: turn})
				f.shows(fmt.Sprintf("removed by session %v, persona %v, turn %v", session, persona, turn), func(tool string) bool {
					return !slices.Contains(session, tool) && !slices.Contains(persona, tool) && !slices.Contains(turn, tool)
				})
				n++
			}
		}
	}
}

// missingTool is that a tool which does not exist in a turn cannot be used in it,
// whatever the model says.
func missingTool(f *fixture) {
	make := f.target.Tools.Shell("printf made > made.txt; echo made")
	steps := []step{{User: "without", Calls: []Call{make}}, {Text: "There is none."}, {User: "with", Calls: []Call{make}}, {Result: "made", Text: "Made."}}
	if f.target.Lacks.DenialGoesOn {
		steps = slices.Delete(steps, 1, 2) // it is not said
	}
	f.play(steps...)
	id := f.session(withOptions(terret.SessionOptions{Tools: f.subjects()[1:]}))
	p := words("without")
	p.Options.Tools = f.subjects()[2:]
	f.refused(f.end(id, f.promptWith(id, p, "")), "There is none.")
	f.holds("made.txt", "(no file)")
	f.says(id, "with", "Made.")
	f.holds("made.txt", "made")
}

// readsByShell says why reading cannot be told from running commands; empty if it can.
func readsByShell(t Target) string {
	if t.Tools.Read("x").Name == t.Tools.Shell("x").Name {
		return "it reads files with its shell: it has no other tool"
	}
	return ""
}
