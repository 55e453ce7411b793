package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// TestTitle holds that a session gets the title that is found for it, once, that it stays as it
// was if none is found, and that what a person calls it meanwhile stays.
func TestTitle(t *testing.T) {
	t.Parallel()
	name := "mine"
	for what, c := range map[string]struct {
		found string
		fails error
		named *string
		want  string
	}{
		"found":       {found: "\"Greet the World.\"\nand more", want: "Greet the World"},
		"none":        {fails: errors.New("no model"), want: "say hello"},
		"nothing":     {found: " \n", want: "say hello"},
		"by a person": {found: "Greet", named: &name, want: "mine"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				named := make(chan struct{})
				f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "one"}}, {{Text: "two"}}}}, func(cfg *engine.Config) {
					cfg.Secrets = map[string]string{"KEY": "hunter2hunter2"}
					cfg.Title = func(_ context.Context, prompt string) (string, error) {
						asked = append(asked, prompt)
						<-named
						return c.found, c.fails
					}
				})
				id := f.session(func(s *terret.Session) { s.Title = "" })
				f.run(id, "say hello\nwith hunter2hunter2")
				if c.named != nil {
					if err := f.Update(t.Context(), id, terret.SessionUpdated{Title: c.named}, "ann"); err != nil {
						t.Error(err)
					}
				}
				close(named)
				synctest.Wait()
				f.run(id, "again")
				s, err := f.store.Session(t.Context(), id)
				if err != nil || s.Title != c.want {
					t.Errorf("%q, %v", s.Title, err)
				}
				if len(asked) != 1 || asked[0] != "say hello\nwith [redacted:KEY]" {
					t.Errorf("asked %q", asked)
				}
				f.close()
			})
		})
	}
}
