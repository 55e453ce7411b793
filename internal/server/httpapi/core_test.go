package httpapi_test

import (
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
)

func TestStory(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(
		mock.Step{Text: "I will run it."},
		mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true, Result: "a.go"}},
		mock.Step{Text: "Done."},
	))
	s := f.session()
	turn := f.prompt(s.ID, "go on")
	if turn.State != terret.TurnRunning {
		t.Errorf("turn %+v", turn)
	}
	f.wait(s.ID, "permission.request")
	var open terret.Page[terret.Request]
	f.do("GET", "/v1/decisions", nil).want(200, &open)
	if len(open.Items) != 1 {
		t.Fatalf("open requests: %+v", open)
	}
	var r terret.Request
	f.do("POST", "/v1/decisions/"+open.Items[0].RequestID, map[string]any{"behavior": "allow"}).want(200, &r)
	if r.Decision == nil || r.Decision.By != "admin" || r.Decision.Source != terret.ByUser {
		t.Errorf("decision %+v", r.Decision)
	}
	f.do("POST", "/v1/decisions/"+open.Items[0].RequestID, map[string]any{"behavior": "deny"}).problem(409, terret.CodeAlreadyDecided, "")
	f.wait(s.ID, "turn.complete")
}
