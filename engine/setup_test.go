package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// TestSetup runs the command in the first turn, before the agent, and goes on if it fails.
func TestSetup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails error
		want  string
	}{
		"succeeds": {nil, "tool.pre tool.progress tool.post session.start turn.complete"},
		"fails":    {errors.New("exit code 3:\nno npm"), "tool.pre tool.progress tool.failure session.start turn.complete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := 0
			f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "one"}}, {{Text: "two"}}}}, func(c2 *engine.Config) {
				c2.Setup = func(terret.Session) *engine.Setup {
					if ran > 0 {
						return nil
					}
					return &engine.Setup{Command: "npm ci", Run: func(_ context.Context, output func(string)) error {
						ran++
						output("added 1 package")
						return c.fails
					}}
				}
			})
			id := f.session()
			events := f.run(id, "go")
			var got []string
			for _, ev := range events {
				switch ev.Data.(type) {
				case terret.ToolPre, terret.ToolProgress, terret.ToolPost, terret.ToolFailure, terret.SessionStart, terret.TurnComplete:
					got = append(got, string(ev.Kind()))
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("events %v, want %s", got, c.want)
			}
			if pre := last[terret.ToolPre](t, events); string(pre.Input) != `{"command":"npm ci"}` || pre.Class != terret.ClassExecute {
				t.Errorf("%+v", pre)
			}
			if c.fails != nil && !slices.ContainsFunc(all[terret.DiagWarning](events), func(w terret.DiagWarning) bool { return strings.Contains(w.Text, "npm ci") }) {
				t.Error("nobody is told what failed")
			}
			f.run(id, "again")
			if ran != 1 {
				t.Errorf("it ran %d times", ran)
			}
		})
	}
}

// TestSetupIsStopped holds that stopping the turn stops the command, which runs again before
// the next turn.
func TestSetupIsStopped(t *testing.T) {
	t.Parallel()
	began, done := make(chan struct{}, 2), false
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "one"}}}}, func(c *engine.Config) {
		c.Setup = func(terret.Session) *engine.Setup {
			return &engine.Setup{Command: "sleep 1000", Run: func(ctx context.Context, _ func(string)) error {
				began <- struct{}{}
				if done {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}}
		}
	})
	id := f.session()
	turn := f.prompt(id, "go")
	<-began
	if err := f.Interrupt(t.Context(), id, "ada"); err != nil {
		t.Fatal(err)
	}
	events := f.ended(id, turn.ID)
	if end := last[terret.TurnError](t, events); end.Error.Code != terret.CodeInterrupted {
		t.Errorf("it ended with %+v", end.Error)
	}
	if !last[terret.ToolFailure](t, events).Interrupted {
		t.Error("the command is not said to be stopped")
	}
	done = true
	f.run(id, "again")
}
