package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// edits names a file in a tool use and writes it.
func edits(name string) []mock.Step {
	return []mock.Step{{Tool: &mock.Tool{Name: "Edit", Class: terret.ClassEdit, Input: terret.JSON(`{"file_path":"` + name + `"}`)}}, write(name, "new")}
}

// TestUndoLeavesOthers holds that undo takes back only what the turn may have changed itself,
// if other sessions worked in the folder meanwhile.
func TestUndoLeavesOthers(t *testing.T) {
	t.Parallel()
	command := mock.Step{Tool: &mock.Tool{Name: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"make"}`)}}
	for name, c := range map[string]struct {
		theirs []mock.Step
		want   string
		left   string
	}{
		"another file":       {edits("b"), "a=a0 b=new", "b"},
		"the same file":      {edits("a"), "a=new b=b0", "a"},
		"by a command":       {[]mock.Step{command, write("c", "new")}, "a=a0 b=b0 c=new", "c"},
		"only looked around": {[]mock.Step{{Tool: &mock.Tool{Name: "Read", Class: terret.ClassRead, Input: terret.JSON(`{"file_path":"a"}`)}}}, "a=a0 b=b0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began, done := make(chan struct{}), make(chan struct{})
			wait := mock.Step{Do: func(ctx context.Context, _ string) error {
				close(began)
				select {
				case <-done:
				case <-ctx.Done():
				}
				return nil
			}}
			mine := append(edits("a"), wait)
			turns := [][]mock.Step{mine}
			f := newFixture(t, mock.Script{Turns: turns}, func(c2 *engine.Config) {
				c2.Home = t.TempDir()
				c2.Drivers = append(c2.Drivers, other{mock.New(mock.Script{Turns: [][]mock.Step{c.theirs}})})
			})
			f.put("a", "a0")
			f.put("b", "b0")
			allowed := withPolicy(terret.PolicyAutoApprove)
			one := f.session(allowed)
			two := f.session(allowed, func(s *terret.Session) { s.Agent = "other" })
			turn := f.prompt(one, "go")
			<-began
			f.run(two, "go")
			close(done)
			f.ended(one, turn.ID)
			out, err := f.Undo(t.Context(), one, "ada", false)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.files(); got != c.want {
				t.Errorf("the folder holds %s, want %s; %+v", got, c.want, out)
			}
			if got := strings.Join(out.Kept, " "); got != c.left || strings.Contains(out.Note, two) != (c.left != "") {
				t.Errorf("left %q, want %q: %s", got, c.left, out.Note)
			}
			if _, err := f.Redo(t.Context(), one, "ada", false); err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(filepath.Join(f.dir, "a")); err != nil || string(b) != "new" {
				t.Errorf("after redo: %s, %v", b, err)
			}
		})
	}
}

// other is a second agent.
type other struct{ terret.Driver }

func (other) Name() string { return "other" }
