package assemble

import (
	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/project"
)

// byHand is a driver that knows how a person does a turn without Terret.
type byHand interface {
	// ByHand is the command line, for the session's folder, that sends a message with the
	// system prompt in a file there to the agent.
	ByHand(s terret.Session, message, promptFile string) (argv []string)
}

// ByHand is a shell command, for the session's folder, that sends a message with the saved
// system prompt to the agent without Terret in between: it shows whose fault something is.
// It is unsupported if the agent has none, and if no prompt was saved.
func (a *Agents) ByHand(s terret.Session, message string) (string, error) {
	for _, d := range a.Drivers() {
		hand, ok := d.(byHand)
		if !ok || d.Name() != s.Agent {
			continue
		}
		file := project.SavedPrompt(s)
		if file == "" {
			return "", terret.Errorf(terret.CodeUnsupported, "no command does this turn without Terret: no system prompt of session %s was saved", s.ID)
		}
		return project.ShellCommand(hand.ByHand(s, message, file)), nil
	}
	return "", terret.Errorf(terret.CodeUnsupported, "no command does this turn without Terret: the agent %s has none", s.Agent)
}
