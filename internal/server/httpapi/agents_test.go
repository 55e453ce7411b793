package httpapi_test

import (
	"context"
	"errors"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

// program is an agent whose program does not answer, of which is known what it can do.
type program struct{ terret.Driver }

func (p program) Probe(context.Context) (terret.Probe, error) {
	return terret.Probe{Agent: p.Name()}, errors.New("the program was asked")
}

func (p program) Describe() terret.Description {
	return terret.Description{Program: true, Can: &terret.Capabilities{
		Abilities: map[terret.Capability]terret.Ability{terret.CanSteer: {OK: true}}, Oversight: terret.OversightAll,
	}}
}

// TestAgentsAtOnce holds that what agents can do is said without asking their programs, if
// the caller does not want to wait for them.
func TestAgentsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ *httpapi.Config, e *engine.Config) {
		e.Drivers = []terret.Driver{program{mock.New(mock.Script{})}}
	})
	var asked, known terret.Page[terret.Probe]
	f.do("GET", "/v1/agents", nil).want(200, &asked)
	f.do("GET", "/v1/agents?probe=0", nil).want(200, &known)
	if len(asked.Items) != 1 || asked.Items[0].Fix != "the program was asked" {
		t.Errorf("asked: %+v", asked.Items)
	}
	if len(known.Items) != 1 || known.Items[0].Fix != "" || !known.Items[0].Capabilities.Has(terret.CanSteer) {
		t.Errorf("not asked: %+v", known.Items)
	}
}

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
