package httpapi_test

import (
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/access"
)

// TestOnlyTheOwnerAddsAgents holds that no other token makes the machine run a program:
// neither one that may decide, nor one for a session.
func TestOnlyTheOwnerAddsAgents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := map[string]any{"name": "mine", "argv": []string{"/bin/sh"}}
	for name, who := range map[string]struct {
		scope   access.Scope
		session string
	}{
		"viewer": {scope: access.View}, "program": {scope: access.Prompt}, "phone": {scope: access.Decide},
		"one": {scope: access.Decide, session: f.session().ID},
	} {
		header, secret := f.as(name, who.scope, who.session)
		f.do("POST", "/v1/agents", mine, header, secret).problem(403, terret.CodeForbidden, "")
		f.do("DELETE", "/v1/agents/mine", nil, header, secret).problem(403, terret.CodeForbidden, "")
	}
	f.do("POST", "/v1/agents", mine, "Authorization", "").problem(401, terret.CodeUnauthorized, "")
	f.do("POST", "/v1/agents", mine).problem(501, terret.CodeUnsupported, "") // this server has no file to add them to
	f.do("DELETE", "/v1/agents/mock", nil).problem(409, terret.CodeConflict, "")
	f.do("DELETE", "/v1/agents/mine", nil).problem(404, terret.CodeNotFound, "")
}
