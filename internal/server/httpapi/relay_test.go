package httpapi_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/server/installation"
	"github.com/terret-dev/terret/internal/sse"
	"github.com/terret-dev/terret/internal/test/pgtest"
	"github.com/terret-dev/terret/internal/test/pushtest"
)

// onFleet makes the fixture a node of a fleet.
func onFleet(t *testing.T, own *pgtest.Server, schema, name string, n terret.Node) option {
	return func(hc *httpapi.Config, ec *engine.Config) {
		t.Helper()
		store, err := installation.OpenStore(t.Context(), own.URL(schema), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		fleet := store.(terret.Fleet)
		n.Name, n.Place, n.Roots = name, name, hc.Roots
		if err := fleet.Join(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		ec.Store, ec.Node, ec.Undo.Off = store, name, false
		hc.Store, hc.Node, hc.About = store, name, n
		if hc.Tokens, err = access.OpenShared(hc.Home, fleet); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnyNode uses a session on the node that does not have its folder: its stream, its
// files, a turn whose events are the response, and undo.
func TestAnyNode(t *testing.T) {
	t.Parallel()
	own := pgtest.ForTest(t)
	steps := []mock.Step{{Do: func(_ context.Context, dir string) error {
		return os.WriteFile(filepath.Join(dir, "made.txt"), []byte("made"), 0o600)
	}}, {Text: "done"}}
	a := newFixture(t, script(steps...), onFleet(t, own, t.Name(), "a", terret.Node{}))
	b := newFixture(t, onFleet(t, own, t.Name(), "b", terret.Node{}))
	if err := os.WriteFile(filepath.Join(a.dir, "hello.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	var s terret.Session
	a.do("POST", "/v1/sessions", map[string]any{"cwd": a.dir}).want(201, &s)

	// The files are on the other machine, which only its own roots bound.
	if got := b.do("GET", "/v1/files/content?session="+s.ID+"&path=hello.txt", nil).want(200, nil); !strings.Contains(string(got.body), "hello") {
		t.Errorf("%s", got.body)
	}
	if got := b.do("GET", "/v1/roots?node=a", nil).want(200, nil); !strings.Contains(string(got.body), a.root) {
		t.Errorf("the roots of node a are not %s", got.body)
	}
	b.do("GET", "/v1/roots?node=nowhere", nil).problem(422, terret.CodeInvalidRequest, "node")

	// A node is set up only at its own address: keys must not be in the database.
	for _, op := range newDescription(t).operations {
		if isSetup(op) {
			b.do(op.Method, target{}.fill(op.Path)+"?node=a", target{}.body(op)).problem(422, terret.CodeInvalidRequest, "node")
		}
	}

	// So is their branch. Node b answers what node a does.
	for _, path := range []string{"GET branch", "POST push", "GET pull-request", "POST pull-request", "POST worktree/merge", "POST worktree/rebase", "POST worktree/discard"} {
		method, rest, _ := strings.Cut(path, " ")
		var body any
		if path == "POST pull-request" {
			body = map[string]any{"title": "x"}
		}
		own, passed := a.do(method, "/v1/sessions/"+s.ID+"/"+rest, body), b.do(method, "/v1/sessions/"+s.ID+"/"+rest, body)
		if passed.status != own.status || string(passed.body) != string(own.body) {
			t.Errorf("%s: %d %s, not %d %s", path, passed.status, passed.body, own.status, own.body)
		}
	}

	// What belongs to a token is no other node's to look for: it does not know which.
	b.do("GET", "/v1/push?node=a", nil).problem(422, terret.CodeInvalidRequest, "node")
	b.do("PUT", "/v1/push?node=a", pushtest.New(t).Browser().Subscription()).problem(422, terret.CodeInvalidRequest, "node")
	b.do("DELETE", "/v1/push?id=x&node=a", nil).problem(422, terret.CodeInvalidRequest, "node")
	b.do("POST", "/v1/push/test?node=a", map[string]any{"id": "x"}).problem(422, terret.CodeInvalidRequest, "node")
	b.do("GET", "/v1/push?node=b", nil).want(200, nil)

	// A turn, with its events as the response.
	req := b.request(t.Context(), "POST", "/v1/sessions/"+s.ID+"/turns", map[string]any{"prompt": "go"}, "Accept", sse.ContentType)
	res, err := b.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	events, err := io.ReadAll(res.Body)
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	if err != nil || !strings.Contains(string(events), "turn.complete") {
		t.Fatalf("%v: %s", err, events)
	}
	if _, err := os.Stat(filepath.Join(a.dir, "made.txt")); err != nil {
		t.Fatal(err)
	}
	b.do("POST", "/v1/sessions/"+s.ID+"/undo", nil).want(200, nil)
	if _, err := os.Stat(filepath.Join(a.dir, "made.txt")); err == nil {
		t.Error("the file is still there")
	}

	// What people share: tokens and marks.
	secret, _, err := a.tokens.Create(t.Context(), access.Spec{Name: "phone", Scope: access.View})
	if err != nil {
		t.Fatal(err)
	}
	b.token = secret
	b.do("GET", "/v1/sessions/"+s.ID, nil).want(200, nil)
	b.do("POST", "/v1/sessions/"+s.ID+"/undo", nil).problem(403, terret.CodeForbidden, "")
	a.do("PATCH", "/v1/marks", map[string]any{"pin": []string{s.ID}}).want(200, nil)
	var marks httpapi.Marks
	b.do("GET", "/v1/marks", nil).want(200, &marks)
	if len(marks.Pinned) != 1 || marks.Pinned[0] != s.ID {
		t.Errorf("%+v", marks)
	}
}

// TestWorkOfAnotherNode looks at a workflow from the node that does not work on it, which
// must not take it for one that nobody works on, and decides about it there.
func TestWorkOfAnotherNode(t *testing.T) {
	t.Parallel()
	own := pgtest.ForTest(t)
	a := newFixture(t, onFleet(t, own, t.Name(), "a", terret.Node{}))
	b := newFixture(t, onFleet(t, own, t.Name(), "b", terret.Node{}))
	type run struct{ ID, State string }
	var x run
	file := "steps: [{id: one, prompt: hi, check: 'false', on_failure: ask}, {id: two, prompt: go}]"
	a.do("POST", "/v1/workflows", map[string]any{"workflow": file, "cwd": a.dir}).want(202, &x)
	until := func(state string) {
		t.Helper()
		for x.State != state {
			var all terret.Page[run]
			b.do("GET", "/v1/workflows", nil).want(200, &all)
			if len(all.Items) != 1 || all.Items[0].State == "interrupted" {
				t.Fatalf("%+v", all.Items)
			}
			b.do("GET", "/v1/workflows/"+x.ID, nil).want(200, &x)
		}
	}
	until("waiting")
	b.do("POST", "/v1/workflows/"+x.ID+"/resume", map[string]any{"decision": "skip"}).want(202, &x)
	until("completed")
}

// TestDeleteOnAnyNode has the node that has a session's worktree delete both, on every
// route; it is not deleted without the worktree.
func TestDeleteOnAnyNode(t *testing.T) {
	t.Parallel()
	own := pgtest.ForTest(t)
	a := newFixture(t, onFleet(t, own, t.Name(), "a", terret.Node{}))
	b := newFixture(t, onFleet(t, own, t.Name(), "b", terret.Node{}))
	a.git("git init -q -b main . && echo one > a.txt && git add . && git commit -qm one")
	for _, route := range []string{"/v1/sessions/", "/api/harness/session/"} {
		s := a.session(inTree)
		b.do("DELETE", "/v1/sessions/"+s.ID+"?node=b", nil).problem(409, terret.CodeConflict, "")
		if _, err := os.Stat(s.Cwd); err != nil {
			t.Error(err)
		}
		b.do("DELETE", route+s.ID, nil).want(204, nil)
		a.do("GET", "/v1/sessions/"+s.ID, nil).problem(404, terret.CodeSessionNotFound, "")
		if _, err := os.Stat(s.Cwd); err == nil {
			t.Errorf("%s: the worktree is still there", route)
		}
	}
}
