package httpapi_test

import (
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

// TestSearch finds a prompt by its words, for whoever may see its session.
func TestSearch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, two := f.session(), f.session()
	for _, s := range []terret.Session{one, two} {
		f.prompt(s.ID, "marmalade in "+s.ID)
		f.wait(s.ID, terret.KindTurnComplete)
	}
	find := func(f *fixture, query string) (sessions []string) {
		t.Helper()
		var p terret.Page[terret.Found]
		f.do("GET", "/v1/search?q="+query, nil).want(200, &p)
		for _, found := range p.Items {
			if found.Role == terret.RoleUser {
				sessions = append(sessions, found.Session)
			}
		}
		return sessions
	}
	if got := find(f, "marmal"); len(got) != 2 || got[0] != two.ID || got[1] != one.ID {
		t.Errorf("found %v", got)
	}
	if got := find(f, "marmalade&session="+one.ID); len(got) != 1 || got[0] != one.ID {
		t.Errorf("in one session: %v", got)
	}
	guest := f.holding("guest", access.View, one.ID)
	if got := find(guest, "marmalade"); len(got) != 1 || got[0] != one.ID {
		t.Errorf("with a token for one session: %v", got)
	}
	guest.do("GET", "/v1/search?q=marmalade&session="+two.ID, nil).problem(403, terret.CodeForbidden, "")
	f.do("GET", "/v1/search?q=marmalade&session="+terret.NewID(""), nil).problem(404, terret.CodeSessionNotFound, "")
	f.do("GET", "/v1/search?q=%25", nil).problem(422, terret.CodeInvalidRequest, "q")
}
