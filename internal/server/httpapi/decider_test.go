package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/sse"
)

// A program that follows a stream with gates is asked there for as long as the stream
// is open, and what it decides is what the agent hears.
func TestDeciderOverHTTP(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]func(session string) string{
		"one session":  func(id string) string { return "/v1/sessions/" + id + "/events?gates=stop" },
		"all sessions": func(string) string { return "/v1/events?cursor=now&gates=stop" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, script(mock.Step{Text: "one"}, mock.Step{Gate: terret.GateStop}))
			s := f.session()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			res, err := f.client.Do(f.request(ctx, http.MethodGet, path(s.ID), nil, "Accept", sse.ContentType))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Fatalf("status %d", res.StatusCode)
			}
			f.prompt(s.ID, "go")
			asked := f.wait(s.ID, terret.KindStopRequest)
			f.do("POST", "/v1/decisions/"+asked.Expects.RequestID, map[string]any{"behavior": "block", "reason": "tests are missing"}).want(http.StatusOK, nil)
			end := f.wait(s.ID, terret.KindTurnComplete)
			if got := end.Data.(terret.TurnComplete).Text; !strings.Contains(got, "Blocked: tests are missing") {
				t.Errorf("the agent said %q", got)
			}
			leave()
			for range 100 { // until the server has noticed that it left
				f.prompt(s.ID, "again")
				end = f.waitAfter(s.ID, end.Seq, terret.KindTurnComplete)
				if d := lastDecision(t, f, s.ID); d.Source == terret.ByPolicy {
					return
				}
			}
			t.Error("the agent is still asked after the decider left")
		})
	}
}

// lastDecision is the last one in the session's log.
func lastDecision(t *testing.T, f *fixture, session string) terret.Decision {
	t.Helper()
	var out terret.Decision
	for _, e := range stored(t, f, session, 1<<40) {
		ev, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := terret.DecisionOf(ev.Data); ok {
			out = d
		}
	}
	return out
}

// Who may only look cannot make agents wait, and gates must be gates.
func TestDeciderMustBeAllowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, chatter)
	s := f.session()
	path := "/v1/sessions/" + s.ID + "/events?gates="
	f.do("GET", path+"bogus", nil).problem(http.StatusUnprocessableEntity, terret.CodeInvalidRequest, "gates")
	f.do("GET", path+"stop", nil, "Accept", "application/x-ndjson").problem(http.StatusUnprocessableEntity, terret.CodeInvalidRequest, "gates")
	header, value := f.as("viewer", access.View, "")
	f.do("GET", path+"stop", nil, header, value).problem(http.StatusForbidden, terret.CodeForbidden, "")
	f.do("GET", "/v1/events?gates=stop", nil, header, value).problem(http.StatusForbidden, terret.CodeForbidden, "")
}
