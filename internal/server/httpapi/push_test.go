package httpapi_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/server/push"
	"github.com/terret-dev/terret/internal/test/pushtest"
)

// pushing has a server send to a push service, without waiting for more to tell.
func pushing(service *pushtest.Service) option {
	client := service.Client()
	return func(c *httpapi.Config, _ *engine.Config) {
		c.PushClient = client
		c.Limits.PushGather, c.Limits.PushSpacing = time.Millisecond, time.Millisecond
	}
}

// subscribe has a browser subscribe, with the token in the header if there is one.
func (f *fixture) subscribe(service *pushtest.Service, header ...string) (*pushtest.Browser, httpapi.PushSubscription) {
	f.t.Helper()
	b := service.Browser()
	var state httpapi.PushState
	f.do("PUT", "/v1/push", b.Subscription(), header...).want(200, &state)
	if len(state.Subscriptions) == 0 || len(state.PublicKey) != 87 {
		f.t.Fatalf("state %+v", state)
	}
	return b, state.Subscriptions[len(state.Subscriptions)-1]
}

// told waits for the next message that a browser gets, and returns what it says.
func (f *fixture) told(b *pushtest.Browser) []pushtest.Note {
	f.t.Helper()
	select {
	case m := <-b.Messages:
		return m.Notes
	case <-time.After(time.Minute):
		f.t.Fatal("the browser was told nothing")
		return nil
	}
}

// notes is what a browser would be told.
func (f *fixture) notes(to push.Subscription, topics ...push.Topic) []push.Note {
	f.t.Helper()
	notes, err := f.server.PushNotes(f.t.Context(), to, topics)
	if err != nil {
		f.t.Fatal(err)
	}
	return notes
}

func titled(title string) func(map[string]any) {
	return func(b map[string]any) { b["title"] = title }
}

// bearer makes a token, and returns its header.
func (f *fixture) bearer(name string, more map[string]any) []string {
	f.t.Helper()
	body := map[string]any{"name": name, "scope": "view"}
	maps.Copy(body, more)
	var made httpapi.MadeToken
	f.do("POST", "/v1/tokens", body).want(201, &made)
	return []string{"Authorization", "Bearer " + made.Secret}
}

// TestPush holds that a browser is told what a session needs and how a turn ended, in words
// that may show on a locked screen.
func TestPush(t *testing.T) {
	t.Parallel()
	service := pushtest.New(t)
	f := newFixture(t, turns(
		[]mock.Step{
			{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"curl -H 'X-Key: hunter2' https://example.org"}`), Ask: true, Result: "ok"}},
			{Question: &terret.Question{ID: "q", Text: "Which database?"}},
			{Plan: "1. Do it."},
			{Text: "The answer is hunter2."},
		},
		[]mock.Step{{Fail: &terret.Error{Code: terret.CodeMaxTurns, Message: "too many turns"}}},
	), pushing(service))
	b, _ := f.subscribe(service)
	s := f.session(titled("Fix the build"))
	want := func(kind, text string) {
		t.Helper()
		got := f.told(b)
		if diff := cmp.Diff([]pushtest.Note{{Title: "Fix the build", Body: text, Tag: kind + "-" + s.ID, Path: "/s/" + s.ID}}, got); diff != "" {
			t.Error(diff)
		}
	}
	answer := func(body map[string]any) {
		t.Helper()
		var open terret.Page[terret.Request]
		f.do("GET", "/v1/decisions", nil).want(200, &open)
		if len(open.Items) != 1 {
			t.Fatalf("open: %+v", open.Items)
		}
		f.do("POST", "/v1/decisions/"+open.Items[0].RequestID, body).want(200, nil)
	}
	f.prompt(s.ID, "go on")
	want("needs", "Wants to run a command.")
	answer(map[string]any{"behavior": "allow"})
	want("needs", "Asks: Which database?")
	answer(map[string]any{"behavior": "answer", "answers": map[string]any{"q": "sqlite"}})
	want("needs", "Has a plan for you to approve.")
	answer(map[string]any{"behavior": "approve"})
	want("ended", "Finished.")
	f.prompt(s.ID, "again")
	want("ended", "Failed: too many turns")
}

// TestPushGates holds that a hook at which a person decides is told, too.
func TestPushGates(t *testing.T) {
	t.Parallel()
	for _, gate := range []terret.Gate{terret.GateStop, terret.GatePrompt} {
		service := pushtest.New(t)
		f := newFixture(t, script(mock.Step{Text: "hm"}, mock.Step{Gate: gate}), pushing(service))
		b, _ := f.subscribe(service)
		s := f.session(titled("Gated"), func(b map[string]any) { b["gates"] = []terret.Gate{gate} })
		f.prompt(s.ID, "go on")
		if got := f.told(b); len(got) != 1 || got[0].Tag != "needs-"+s.ID {
			t.Errorf("%s: %+v", gate, got)
		}
	}
}

// TestPushOnlyWhatIsNew holds that nobody is told what somebody has seen, did themselves or
// may not see.
func TestPushOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	service := pushtest.New(t)
	f := newFixture(t, turns([]mock.Step{{Text: "done"}}, []mock.Step{{Hang: true}}), pushing(service))
	seen, other := f.session(titled("Seen")), f.session(titled("Other"))
	later, err := json.Marshal(httpapi.Marks{Seen: map[string]terret.Time{seen.ID: terret.TimeOf(time.Now().Add(time.Hour))}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.home, "marks.json"), later, 0o600); err != nil {
		t.Fatal(err)
	}
	b, _ := f.subscribe(service)
	f.subscribe(service, f.bearer("guest", map[string]any{"session": seen.ID})...)
	f.prompt(seen.ID, "go on")
	f.wait(seen.ID, "turn.complete")
	f.prompt(other.ID, "go on")
	if got := f.told(b); len(got) != 1 || got[0].Title != "Other" {
		t.Errorf("told %+v", got)
	}
	f.prompt(other.ID, "hang")
	if got := f.notes(f.subscriptions()[0], push.Topic{Session: other.ID, Ended: true, At: time.Now()}); len(got) != 0 {
		t.Errorf("told of a session that goes on: %+v", got)
	}
	f.do("POST", "/v1/sessions/"+other.ID+"/interrupt", nil).want(200, nil)
	f.wait(other.ID, "turn.error")
	last := f.session(titled("Last"))
	f.prompt(last.ID, "go on")
	if got := f.told(b); len(got) != 1 || got[0].Title != "Last" {
		t.Errorf("told %+v", got)
	}
	for _, sub := range f.subscriptions() {
		got := f.notes(sub, push.Topic{Session: last.ID, Ended: true, At: time.Now()}, push.Topic{Session: seen.ID, Ended: true, At: time.Now().Add(2 * time.Hour)}, push.Topic{Session: terret.NewSessionID()})
		want := 2
		if sub.Name == "guest" {
			want = 1
		}
		if len(got) != want || got[len(got)-1].Title != "Seen" {
			t.Errorf("%s is told %+v", sub.Name, got)
		}
	}
}

// TestPushSum holds that long words are cut, and that many sessions are one note with their
// number.
func TestPushSum(t *testing.T) {
	t.Parallel()
	service := pushtest.New(t)
	f := newFixture(t, script(mock.Step{Question: &terret.Question{ID: "q", Text: strings.Repeat("ü", 500)}}), pushing(service))
	f.subscribe(service)
	to := f.subscriptions()[0]
	var topics []push.Topic
	for _, want := range []int{1, 2, 3} {
		s := f.session(titled(strings.Repeat("long ", 100)))
		f.prompt(s.ID, "go on")
		f.wait(s.ID, "question.request")
		topics = append(topics, push.Topic{Session: s.ID})
		got := f.notes(to, topics...)
		if len(got) != want {
			t.Fatalf("told %+v", got)
		}
		if n := got[0]; len([]rune(n.Title)) != 80 || len([]rune(n.Body)) != 160 || !strings.HasSuffix(n.Body, "…") || !strings.HasSuffix(n.Title, "…") || !n.Urgent {
			t.Errorf("told %+v", n)
		}
	}
	idle := f.session()
	topics = append(topics, push.Topic{Session: idle.ID, Ended: true, At: time.Now()})
	got := f.notes(to, topics...)
	if diff := cmp.Diff([]push.Note{{Title: "3 sessions need you, 1 done", Body: "Open Terret to see them.", Tag: "sum", Path: "/", Urgent: true}}, got); diff != "" {
		t.Error(diff)
	}
	topics[0].Session = terret.NewSessionID()
	if got := f.notes(to, topics...); len(got) != 3 || got[2].Body != "Finished." || got[2].Title != "Session in "+filepath.Base(f.dir) || got[2].Urgent {
		t.Errorf("told %+v", got)
	}
}

// TestPushRevoked holds that a device is not told any more when its token is revoked.
func TestPushRevoked(t *testing.T) {
	t.Parallel()
	service := pushtest.New(t)
	f := newFixture(t, turns([]mock.Step{{Text: "done"}}, []mock.Step{{Text: "done"}}), pushing(service))
	own, _ := f.subscribe(service)
	phone, _ := f.subscribe(service, f.bearer("phone", nil)...)
	s := f.session()
	f.prompt(s.ID, "go on")
	f.told(own)
	f.told(phone)
	f.do("DELETE", "/v1/tokens/phone", nil).want(204, nil)
	f.prompt(s.ID, "go on")
	f.told(own)
	select {
	case m := <-phone.Messages:
		t.Errorf("told %+v", m.Notes)
	default:
	}
	if kept := f.subscriptions(); len(kept) != 1 || kept[0].Endpoint != own.Endpoint {
		t.Errorf("kept %v", kept)
	}
	// Another token of that name is another device.
	var state httpapi.PushState
	f.do("GET", "/v1/push", nil, f.bearer("phone", nil)...).want(200, &state)
	if len(state.Subscriptions) != 0 {
		t.Errorf("state %+v", state)
	}
}

// subscriptions are those that are kept.
func (f *fixture) subscriptions() []push.Subscription {
	f.t.Helper()
	raw, err := os.ReadFile(filepath.Join(f.home, "push.json"))
	if err != nil {
		f.t.Fatal(err)
	}
	var kept struct{ Subscriptions []push.Subscription }
	if err := json.Unmarshal(raw, &kept); err != nil {
		f.t.Fatal(err)
	}
	return kept.Subscriptions
}

// TestPushAfterRestart holds that browsers need not subscribe again.
func TestPushAfterRestart(t *testing.T) {
	t.Parallel()
	service := pushtest.New(t)
	var config httpapi.Config
	f := newFixture(t, turns([]mock.Step{{Text: "done"}}, []mock.Step{{Text: "done"}}), pushing(service), func(c *httpapi.Config, _ *engine.Config) { config = *c })
	b, sub := f.subscribe(service)
	s := f.session()
	f.prompt(s.ID, "go on")
	f.told(b)
	f.server.Close()
	config.Engine = f.engine
	next, err := httpapi.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(next.Close)
	f.serve(next)
	var state httpapi.PushState
	f.do("GET", "/v1/push", nil).want(200, &state)
	if len(state.Subscriptions) != 1 || state.Subscriptions[0] != sub || sub.Service != pushtest.Host {
		t.Errorf("state %+v, before %+v", state, sub)
	}
	f.prompt(s.ID, "go on")
	if got := f.told(b); len(got) != 1 || got[0].Body != "Finished." {
		t.Errorf("told %+v", got)
	}
}

// TestPushRoutes holds who may subscribe what, and what they are told if not.
func TestPushRoutes(t *testing.T) {
	t.Parallel()
	service := pushtest.New(t)
	f := newFixture(t, pushing(service))
	b, sub := f.subscribe(service)
	viewer := f.bearer("viewer", nil)
	for _, c := range []struct{ method, path string }{{"GET", "/v1/push"}, {"PUT", "/v1/push"}, {"DELETE", "/v1/push?id=" + sub.ID}, {"POST", "/v1/push/test"}} {
		var body any
		if c.method == "PUT" || c.method == "POST" {
			body = map[string]any{}
		}
		f.do(c.method, c.path, body, "Authorization", "").problem(401, terret.CodeUnauthorized, "")
	}
	// Somebody else's is not there.
	var state httpapi.PushState
	f.do("GET", "/v1/push", nil, viewer...).want(200, &state)
	if len(state.Subscriptions) != 0 {
		t.Errorf("state %+v", state)
	}
	f.do("DELETE", "/v1/push?id="+sub.ID, nil, viewer...).problem(404, terret.CodeNotFound, "")
	f.do("POST", "/v1/push/test", map[string]any{"id": sub.ID}, viewer...).problem(404, terret.CodeNotFound, "")
	stolen := b.Subscription()
	stolen["keys"] = service.Browser().Subscription()["keys"]
	f.do("PUT", "/v1/push", stolen, viewer...).problem(409, terret.CodeConflict, "")
	for _, at := range []string{"http://push.example.com/x", "https://127.0.0.1/x", "https://localhost:8443/x", "https://192.168.1.1/x"} {
		bad := b.Subscription()
		bad["endpoint"] = at
		f.do("PUT", "/v1/push", bad).problem(422, terret.CodeInvalidRequest, "endpoint")
	}
	f.do("POST", "/v1/push/test", map[string]any{"id": sub.ID}).want(204, nil)
	if got := f.told(b); len(got) != 1 || got[0].Tag != "test" {
		t.Errorf("told %+v", got)
	}
	service.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	p := f.do("POST", "/v1/push/test", map[string]any{"id": sub.ID}).problem(502, terret.CodeConnectionFailed, "")
	if !strings.Contains(p.Detail, "403") || strings.Contains(p.Detail, "/send/") {
		t.Errorf("detail %q", p.Detail)
	}
	f.do("DELETE", "/v1/push?id="+sub.ID, nil).want(204, nil)
	f.do("DELETE", "/v1/push?id="+sub.ID, nil).problem(404, terret.CodeNotFound, "")
}

// push has nowhere to keep subscriptions, or a service that fails.
func (w *walk) push(t *testing.T) {
	service := pushtest.New(t)
	each := func(f *fixture, status int, code terret.ErrorCode) {
		t.Helper()
		w.call(f, w.byID("get-push"), target{}).problem(status, code, "")
		w.callBody(f, "subscribe-push", target{}, service.Browser().Subscription()).problem(status, code, "")
		w.call(f, w.byID("unsubscribe-push"), target{}).problem(status, code, "")
		w.call(f, w.byID("test-push"), target{}).problem(status, code, "")
	}
	each(newFixture(t, func(c *httpapi.Config, _ *engine.Config) { c.Home = "" }), 501, terret.CodeUnsupported)
	f := newFixture(t, pushing(service))
	if err := os.Mkdir(filepath.Join(f.home, "push.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	each(f, 409, terret.CodeConflict)
	if err := errors.Join(os.Remove(filepath.Join(f.home, "push.lock")), os.WriteFile(filepath.Join(f.home, "push.json"), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	each(f, 503, terret.CodeStartupRefused)
	f = newFixture(t, pushing(service))
	_, sub := f.subscribe(service)
	w.call(f, w.byID("unsubscribe-push"), target{}).problem(404, terret.CodeNotFound, "")
	w.call(f, w.byID("test-push"), target{}).problem(404, terret.CodeNotFound, "")
	service.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	w.callBody(f, "test-push", target{}, map[string]any{"id": sub.ID}).problem(502, terret.CodeConnectionFailed, "")
}
