package access

import (
	"fmt"
	"testing"

	"github.com/terret-dev/terret"
)

func TestMay(t *testing.T) {
	t.Parallel()
	const other = "0190b3a0-0000-7000-8000-000000000002"
	scopes := []Scope{View, Prompt, Decide, Admin}
	for has, of := range scopes {
		for needs, scope := range scopes {
			for _, bound := range []string{"", someSession} {
				for _, session := range []string{"", someSession, other} {
					id := Identity{Name: "x", Scope: of, Session: bound}
					want := terret.ErrorCode("")
					if has < needs || bound != "" && bound != session {
						want = terret.CodeForbidden
					}
					wantKind(t, fmt.Sprintf("%s of %q: %s of %q", of, bound, scope, session), id.May(scope, session), want)
				}
			}
		}
	}
}

func TestNobodyMayNothing(t *testing.T) {
	t.Parallel()
	for _, id := range []Identity{{}, {Name: "admin"}, {Session: someSession}, From(t.Context())} {
		for _, s := range []Scope{"", View, Prompt, Decide, Admin} {
			wantKind(t, fmt.Sprintf("%+v: %s", id, s), id.May(s, ""), terret.CodeUnauthorized)
			wantKind(t, fmt.Sprintf("%+v: %s", id, s), id.May(s, someSession), terret.CodeUnauthorized)
		}
		if id.sees("") || id.sees(someSession) || !id.anonymous() {
			t.Errorf("%+v sees something", id)
		}
	}
}

// A scope that a route misspells is one that nobody has.
func TestUnknownScope(t *testing.T) {
	t.Parallel()
	id := Identity{Name: "x", Scope: Admin}
	for _, s := range []Scope{"", "read", "ADMIN"} {
		wantKind(t, string(s), id.May(s, ""), terret.CodeForbidden)
		if _, err := ParseScope(string(s)); kindOf(err) != terret.CodeInvalidRequest {
			t.Errorf("parse %q: %v", s, err)
		}
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	id := Identity{Name: "x", Scope: View, Session: someSession}
	if got := From(With(t.Context(), id)); got != id {
		t.Errorf("%+v", got)
	}
}
