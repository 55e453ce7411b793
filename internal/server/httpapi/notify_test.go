package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/server/notify"
)

// message is what a webhook or an ntfy server got.
type message struct {
	Event, Title, Text, URL, Session, Request string
	Topic, Message, Click                     string
	Actions                                   []struct{ Label, URL, Body string }
}

// receiver is a webhook, or an ntfy server.
func receiver(t *testing.T) (url string, all chan message) {
	t.Helper()
	all = make(chan message, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		all <- m
	}))
	t.Cleanup(s.Close)
	return s.URL, all
}

func receive(t *testing.T, all chan message) message {
	t.Helper()
	select {
	case m := <-all:
		return m
	case <-time.After(time.Minute):
		t.Fatal("nothing was sent")
		return message{}
	}
}

// telling has channels told without waiting.
func telling(c *httpapi.Config, _ *engine.Config) {
	c.Limits.PushGather = time.Millisecond
	c.Origins = []string{"https://terret.example"}
}

type channel = map[string]any

func (f *fixture) channels(list ...channel) httpapi.Notify {
	f.t.Helper()
	var out httpapi.Notify
	f.do("PUT", "/v1/notify", map[string]any{"channels": list}).want(200, &out)
	return out
}

func (f *fixture) reply(body string, header ...string) answer {
	return f.do("POST", "/v1/notify/answer", body, append([]string{"Authorization", ""}, header...)...)
}

// TestNotify holds that channels are told what a session needs and how its turns end, and that
// a message can answer its request, once.
func TestNotify(t *testing.T) {
	t.Parallel()
	f := newFixture(t, turns(
		[]mock.Step{{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command": "make test"}`), Ask: true, Result: "ok"}}},
		[]mock.Step{{Fail: &terret.Error{Code: terret.CodeMaxTurns, Message: "too many turns"}}},
		[]mock.Step{{Fail: &terret.Error{Code: terret.CodeMaxBudget, Message: "no money left"}}},
	), telling)
	hook, told := receiver(t)
	ntfy, phone := receiver(t)
	rare, failures := receiver(t)
	set := f.channels(
		channel{"kind": "webhook", "url": hook, "secret": "s3cret", "private": true},
		channel{"id": "phone", "kind": "ntfy", "url": ntfy + "/topic", "private": true, "answers": true},
		channel{"id": "rare", "kind": "webhook", "url": rare, "secret": "x", "private": true, "events": []string{"failed"}},
	)
	if len(set.Channels) != 3 || set.Channels[0].ID == "" || set.Channels[0].Secret != notify.Kept {
		t.Fatalf("%+v", set)
	}
	if a := f.do("GET", "/v1/notify", nil).want(200, nil); strings.Contains(string(a.body), "s3cret") {
		t.Errorf("a secret is shown: %s", a.body)
	}
	f.do("PUT", "/v1/notify", set.NotifySettings).want(200, nil) // what is shown can be sent back
	s := f.session(titled("Fix the build"))
	link := "https://terret.example/s/" + s.ID

	f.prompt(s.ID, "go on")
	m := receive(t, told)
	if m.Request == "" {
		t.Error("the webhook is not told which request it is")
	}
	m.Request = ""
	if diff := cmp.Diff(message{Event: "needs", Title: "Fix the build", Text: "Wants to run a command.", URL: link, Session: s.ID}, m); diff != "" {
		t.Error(diff)
	}
	m = receive(t, phone)
	if m.Topic != "topic" || m.Click != link || m.Message != "Wants to run a command.\nBash: {\"command\":\"make test\"}" || len(m.Actions) != 2 {
		t.Fatalf("ntfy got %+v", m)
	}
	allow, deny := m.Actions[0], m.Actions[1]
	if allow.Label != "Allow" || deny.Label != "Deny" || allow.URL != "https://terret.example/v1/notify/answer" {
		t.Errorf("%+v", m.Actions)
	}
	f.reply(`{"token":"`+strings.Repeat("x", 40)+`"}`).problem(401, terret.CodeUnauthorized, "")
	f.reply(allow.Body, "Origin", "https://evil.example").problem(403, terret.CodeForbidden, "")
	f.reply(allow.Body).want(204, nil)
	f.reply(allow.Body).problem(409, terret.CodeAlreadyDecided, "")
	f.reply(deny.Body).problem(409, terret.CodeAlreadyDecided, "")
	var all terret.Page[terret.Request]
	f.do("GET", "/v1/decisions?state=all", nil).want(200, &all)
	if d := all.Items[0].Decision; d.By != "notify:phone" || d.Behavior != terret.BehaviorAllow || d.Scope != terret.ScopeOnce && d.Scope != "" {
		t.Errorf("decided %+v", d)
	}

	for _, want := range []message{{Event: "done", Text: "Finished."}, {Event: "failed", Text: "Failed: too many turns"}, {Event: "budget", Text: "Stopped: no money left"}} {
		m, p := receive(t, told), receive(t, phone)
		if m.Event != want.Event || m.Text != want.Text || p.Message != want.Text || len(p.Actions) != 0 {
			t.Errorf("told %+v and %+v, want %+v", m, p, want)
		}
		if want.Event != "budget" {
			f.prompt(s.ID, "again")
		}
	}
	if m := receive(t, failures); m.Event != "failed" || len(failures) != 0 {
		t.Errorf("one that wants failures only was told %+v", m)
	}
}

// TestNotifyShown holds that what a message does not show whole, it cannot allow, and that it
// cannot answer where nobody said so.
func TestNotifyShown(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]string{"long": strings.Repeat("x", 2000), "hidden": "ls \u202e", "plain": "ls"} {
		command, err := json.Marshal(map[string]string{"command": input})
		if err != nil {
			t.Fatal(err)
		}
		f := newFixture(t, script(mock.Step{Tool: &mock.Tool{Name: "Bash", Input: command, Ask: true}}), telling)
		url, all := receiver(t)
		f.channels(channel{"kind": "ntfy", "url": url + "/topic", "private": true, "answers": name != "plain"})
		f.prompt(f.session().ID, "go on")
		var labels []string
		m := receive(t, all)
		for _, a := range m.Actions {
			labels = append(labels, a.Label)
		}
		want := []string{"Deny"}
		if name == "plain" {
			want = nil
		}
		if diff := cmp.Diff(want, labels); diff != "" || strings.Contains(m.Message, "Bash") {
			t.Errorf("%s: %s %q", name, diff, m.Message)
		}
	}
}

// TestNotifyTest holds that a channel can be tried, and that one that is not marked reaches
// no inner address.
func TestNotifyTest(t *testing.T) {
	t.Parallel()
	f := newFixture(t, telling)
	url, all := receiver(t)
	f.channels(channel{"id": "a", "kind": "ntfy", "url": url + "/topic", "private": true})
	f.do("POST", "/v1/notify/test", map[string]any{"id": "a"}).want(204, nil)
	if m := receive(t, all); m.Message != "Notifications reach this channel." || m.Click != "https://terret.example" {
		t.Errorf("%+v", m)
	}
	f.do("PUT", "/v1/notify", map[string]any{"channels": []channel{{"kind": "ntfy", "url": url + "/topic"}}}).problem(422, terret.CodeInvalidRequest, "channels")
}

// TestNotifyMissed holds that channels are told of what happened while no server ran.
func TestNotifyMissed(t *testing.T) {
	t.Parallel()
	var again httpapi.Config
	f := newFixture(t, script(mock.Step{Text: "done"}), telling, func(c *httpapi.Config, _ *engine.Config) { again = *c })
	url, all := receiver(t)
	first := f.session(titled("First"))
	f.prompt(first.ID, "before there is a channel")
	f.wait(first.ID, "turn.complete")
	f.channels(channel{"kind": "webhook", "url": url, "secret": "x", "private": true})
	f.server.Close()
	s, err := f.engine.Create(t.Context(), terret.Session{Agent: "mock", Cwd: f.dir, Title: "Second"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.engine.Prompt(t.Context(), engine.PromptRequest{Session: s.ID, Prompt: terret.Prompt{Blocks: []terret.Block{terret.Text("go on")}}}); err != nil {
		t.Fatal(err)
	}
	f.wait(s.ID, "turn.complete")
	again.Engine = f.engine
	server, err := httpapi.New(again)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if m := receive(t, all); m.Title != "Second" || m.Event != "done" {
		t.Errorf("%+v", m)
	}
}

// TestNotifyPast holds that no channel is told of a request that was decided or a session that
// is gone, and people not of an end that somebody has seen.
func TestNotifyPast(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true}}))
	s := f.session()
	tells := func(kind notify.Kind, event notify.Event, request string) bool {
		t.Helper()
		d := notify.Delivery{Occurrence: notify.Occurrence{Event: event, Session: s.ID, Request: request, At: terret.Now()}}
		_, tell, err := f.server.NotifyMessage(t.Context(), notify.Page{}, notify.Channel{Kind: kind}, d)
		if err != nil {
			t.Fatal(err)
		}
		return tell
	}
	f.prompt(s.ID, "go on")
	r := f.wait(s.ID, terret.KindPermissionRequest).Expects.RequestID
	if !tells(notify.Webhook, notify.Needs, r) || tells(notify.Ntfy, notify.Done, "") || !tells(notify.Webhook, notify.Done, "") {
		t.Error("wrong while the session works")
	}
	f.do("POST", "/v1/decisions/"+r, map[string]any{"behavior": "deny"}).want(200, nil)
	f.wait(s.ID, "turn.complete")
	if tells(notify.Webhook, notify.Needs, r) || !tells(notify.Ntfy, notify.Done, "") {
		t.Error("wrong after the turn")
	}
	later, err := json.Marshal(httpapi.Marks{Seen: map[string]terret.Time{s.ID: terret.TimeOf(time.Now().Add(time.Hour))}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.home, "marks.json"), later, 0o600); err != nil {
		t.Fatal(err)
	}
	if tells(notify.Ntfy, notify.Failed, "") || !tells(notify.Webhook, notify.Failed, "") {
		t.Error("wrong after somebody has looked")
	}
	f.do("DELETE", "/v1/sessions/"+s.ID, nil).want(204, nil)
	if tells(notify.Webhook, notify.Done, "") {
		t.Error("told of a session that is gone")
	}
}

// noRequests is a store that can lose what is asked.
type noRequests struct {
	Store
	lost atomic.Bool
}

func (s *noRequests) Request(ctx context.Context, id string) (terret.Request, error) {
	if s.lost.Load() {
		return terret.Request{}, terret.Errorf(terret.CodeInternal, "the store failed")
	}
	return s.Store.Request(ctx, id)
}

// notify cannot keep channels, or finds none.
func (w *walk) notify(t *testing.T) {
	settings := func(f *fixture, status int, code terret.ErrorCode, ids ...string) {
		t.Helper()
		for _, id := range ids {
			w.call(f, w.byID(id), target{}).problem(status, code, "")
		}
	}
	settings(newFixture(t, func(c *httpapi.Config, _ *engine.Config) { c.Home = "" }), 501, terret.CodeUnsupported, "get-notify", "put-notify", "test-notify")
	f := newFixture(t)
	at := filepath.Join(f.home, "notify.lock")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	settings(f, 409, terret.CodeConflict, "put-notify")
	if err := errors.Join(os.Remove(at), os.WriteFile(filepath.Join(f.home, "notify.json"), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	settings(f, 503, terret.CodeStartupRefused, "get-notify", "put-notify", "test-notify", "answer-notification")

	lost := &noRequests{}
	f = newFixture(t, script(mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true}}), telling, func(c *httpapi.Config, e *engine.Config) {
		lost.Store = c.Store.(Store)
		e.Store = lost
	})
	settings(f, 404, terret.CodeNotFound, "test-notify")
	f.channels(channel{"id": "a", "kind": "ntfy", "url": "http://127.0.0.1:1/topic", "private": true, "answers": true})
	w.callBody(f, "test-notify", target{}, map[string]any{"id": "a"}).problem(502, terret.CodeConnectionFailed, "")
	p, err := (&notify.Book{Home: f.home}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	grant := notify.Grant{Channel: "a", Request: terret.NewID(terret.PrefixRequest), Behavior: terret.BehaviorDeny, Expires: time.Now().Add(time.Hour).Unix()}
	w.callBody(f, "answer-notification", target{}, map[string]any{"token": p.Token(grant)}).problem(404, terret.CodeNotFound, "")
	s := f.session()
	f.prompt(s.ID, "go on")
	grant.Request = f.wait(s.ID, terret.KindPermissionRequest).Expects.RequestID
	token := map[string]any{"token": p.Token(grant)}
	w.callBody(f, "answer-notification", target{}, token).want(204, nil)
	w.callBody(f, "answer-notification", target{}, token).problem(409, terret.CodeAlreadyDecided, "")
	lost.lost.Store(true)
	w.callBody(f, "answer-notification", target{}, token).problem(500, terret.CodeInternal, "")
	f = newFixture(t)
	if err := os.WriteFile(filepath.Join(f.home, "notify-queue.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings(f, 500, terret.CodeInternal, "get-notify")
}
