package httpapi_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/test/pgtest"
)

// inFolder runs a script in a session's folder.
func inFolder(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// begun begins a session from a repository on a node, and waits for its first turn.
func (f *fixture) begun(repo string, labels ...string) terret.Session {
	f.t.Helper()
	var s terret.Session
	f.do("POST", "/v1/sessions", map[string]any{"repo": repo, "labels": labels, "policy": "plan", "deny": []string{"Bash(rm *)"}}).want(201, &s)
	f.prompt(s.ID, "begin")
	f.untilKind(s.ID, terret.KindTurnComplete)
	return s
}

// TestHandToNode hands a session over to another node, asked of that one: it goes on in a
// clone with the same commits and files, under the same restrictions, and knows what happened.
func TestHandToNode(t *testing.T) {
	t.Parallel()
	own := pgtest.ForTest(t)
	a := newFixture(t, script(mock.Step{Do: func(_ context.Context, dir string) error {
		return os.WriteFile(filepath.Join(dir, "made.txt"), []byte("made"), 0o600)
	}}, mock.Step{Text: "half done"}), onFleet(t, own, t.Name(), "a", terret.Node{}))
	b := newFixture(t, onFleet(t, own, t.Name(), "b", terret.Node{}))
	old := a.begun(servedRepository(t))
	if old.Node != "a" {
		t.Fatalf("it is on %s", old.Node)
	}
	inFolder(t, old.Cwd, "git checkout -qb side; git commit -q --allow-empty -m unpushed")
	web := httptest.NewServer(b.server.Handler())
	defer web.Close()
	c, err := client.New(web.URL, client.Options{Token: b.token, HTTP: web.Client()})
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Move(t.Context(), old.ID, client.Move{Node: "any", Prompt: "go on"})
	if err != nil {
		t.Fatal(err)
	}
	if made.Node != "b" || made.ForkedFrom != old.ID || made.Agent != "mock" || made.Policy != terret.PolicyPlan || len(made.Options.Deny) != 1 || filepath.Dir(made.Cwd) != b.root || made.Title != "begin" {
		t.Errorf("%+v", made)
	}
	a.untilKind(made.ID, terret.KindTurnComplete)
	if got := inFolder(t, made.Cwd, "cat made.txt; echo; git log -1 --format=%s; git branch --show-current; git status --porcelain"); got != "made\nunpushed\nside\n?? made.txt" {
		t.Errorf("the clone: %s", got)
	}
	turns, err := b.store.Turns(t.Context(), made.ID)
	if err != nil || len(turns) != 1 || made.First.ID != turns[0].ID || !strings.Contains(turns[0].Prompt[0].Text, "Agent: half done") || turns[0].Prompt[1].Text != "go on" {
		t.Errorf("%+v: %v", turns, err)
	}
	if s, err := a.store.Session(t.Context(), old.ID); err != nil || s.HandedTo != made.ID {
		t.Errorf("%+v: %v", s, err)
	}
	p := b.do("POST", "/v1/sessions/"+old.ID+"/handoff", map[string]any{"node": "b"}).problem(409, terret.CodeConflict, "")
	if !strings.Contains(p.Detail, made.ID) {
		t.Errorf("%s", p.Detail)
	}
	// The clone is one of ours there: it goes with its session, and can move again.
	inFolder(t, made.Cwd, "rm made.txt; git checkout -q main; git branch -qD side")
	if again, err := c.Move(t.Context(), made.ID, client.Move{Node: "a", Idle: true}); err != nil || again.Node != "a" || again.First.ID != "" {
		t.Errorf("%+v: %v", again, err)
	}
	b.do("DELETE", "/v1/sessions/"+made.ID, nil).want(204, nil)
	if _, err := os.Stat(made.Cwd); !os.IsNotExist(err) {
		t.Errorf("the clone is still there: %v", err)
	}
}

// workUntil is a turn that says something and goes on until it is released.
func workUntil(release <-chan struct{}) []mock.Step {
	return []mock.Step{{Text: "two"}, {Do: func(ctx context.Context, _ string) error {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	}}}
}

// neighbour is another session in a folder, after its first turn, and what begins its second
// one.
func (f *fixture) neighbour(cwd string) (other terret.Session, work func()) {
	f.t.Helper()
	f.do("POST", "/v1/sessions", map[string]any{"cwd": cwd}).want(201, &other)
	f.prompt(other.ID, "begin")
	f.untilKind(other.ID, terret.KindTurnComplete)
	other, err := f.store.Session(f.t.Context(), other.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	return other, func() {
		f.prompt(other.ID, "work")
		f.waitAfter(other.ID, other.LastSeq, terret.KindMessageComplete)
	}
}

// TestHandToNodeBusyBelow holds that a session in a folder of the clone counts, too.
func TestHandToNodeBusyBelow(t *testing.T) {
	t.Parallel()
	own, release := pgtest.ForTest(t), make(chan struct{})
	a := newFixture(t, turns([]mock.Step{{Text: "one"}}, workUntil(release)), onFleet(t, own, t.Name(), "a", terret.Node{}))
	newFixture(t, onFleet(t, own, t.Name(), "b", terret.Node{}))
	first := a.begun(servedRepository(t))
	below := filepath.Join(first.Cwd, "below")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	second, work := a.neighbour(below)
	work()
	p := a.do("POST", "/v1/sessions/"+first.ID+"/handoff", map[string]any{"node": "b"}).problem(409, terret.CodeSessionBusy, "")
	if !strings.Contains(p.Detail, second.ID) {
		t.Errorf("%s", p.Detail)
	}
	close(release)
	a.waitAfter(second.ID, second.LastSeq, terret.KindTurnComplete)
}

// TestHandToNodeBusy holds that a session does not move while a turn runs in its folder, its
// own or another session's.
func TestHandToNodeBusy(t *testing.T) {
	t.Parallel()
	own, release := pgtest.ForTest(t), make(chan struct{})
	a := newFixture(t, turns([]mock.Step{{Text: "one"}}, workUntil(release)), onFleet(t, own, t.Name(), "a", terret.Node{}))
	newFixture(t, onFleet(t, own, t.Name(), "b", terret.Node{}))
	first := a.begun(servedRepository(t))
	second, work := a.neighbour(first.Cwd)
	work()
	for _, id := range []string{first.ID, second.ID} {
		p := a.do("POST", "/v1/sessions/"+id+"/handoff", map[string]any{"node": "b"}).problem(409, terret.CodeSessionBusy, "")
		if !strings.Contains(p.Detail, second.ID) {
			t.Errorf("%s", p.Detail)
		}
	}
	close(release)
	a.waitAfter(second.ID, second.LastSeq, terret.KindTurnComplete)
	a.do("POST", "/v1/sessions/"+first.ID+"/handoff", map[string]any{"node": "b"}).want(201, nil)
}

// TestHandToNodeRefused holds who may move what where, and that everything stays as it was
// otherwise.
func TestHandToNodeRefused(t *testing.T) {
	t.Parallel()
	own := pgtest.ForTest(t)
	a := newFixture(t, onFleet(t, own, t.Name(), "a", terret.Node{Labels: []string{"eu"}}))
	b := newFixture(t, onFleet(t, own, t.Name(), "b", terret.Node{Max: 1}))
	repo := servedRepository(t)
	old := a.begun(repo, "eu")
	refused := func(f *fixture, session string, body map[string]any, status int, code terret.ErrorCode, field, want string) {
		t.Helper()
		if p := f.do("POST", "/v1/sessions/"+session+"/handoff", body).problem(status, code, field); !strings.Contains(p.Detail, want) {
			t.Errorf("%v: %s, want %q", body, p.Detail, want)
		}
	}
	here := a.session()
	refused(b, here.ID, map[string]any{"node": "b"}, 409, terret.CodeConflict, "", "works in a folder of node a, so it cannot move; sessions begun from a git repository can")
	refused(a, old.ID, map[string]any{"node": "a"}, 422, terret.CodeInvalidRequest, "node", "already")
	refused(a, old.ID, map[string]any{"node": "c"}, 422, terret.CodeInvalidRequest, "node", `no node "c"`)
	refused(a, old.ID, map[string]any{"node": "any"}, 409, terret.CodeConflict, "", "has the labels [eu] of node a; name one")
	refused(a, old.ID, map[string]any{"node": "b", "agent": "nobody"}, 503, terret.CodeAgentNotFound, "", "nobody")
	refused(a, old.ID, map[string]any{"node": "b", "idle": true, "prompt": "x"}, 422, terret.CodeInvalidRequest, "idle", "either")
	refused(a, old.ID, map[string]any{"agent": "mock", "idle": true}, 422, terret.CodeInvalidRequest, "idle", "node")
	refused(a, old.ID, map[string]any{}, 422, terret.CodeInvalidRequest, "agent", "say which agent")

	inFolder(t, old.Cwd, "git init -q inner; cd inner; git commit -q --allow-empty -m x")
	refused(a, old.ID, map[string]any{"node": "b"}, 409, terret.CodeConflict, "", "inner is a repository of its own")
	inFolder(t, old.Cwd, "rm -rf inner; git remote set-url origin https://127.0.0.1:1/other.git") // which is not where it came from
	for _, scope := range []access.Scope{access.Prompt} {
		secret, _, err := a.tokens.Create(t.Context(), access.Spec{Name: "program", Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		admin := b.token
		b.token = secret
		refused(b, old.ID, map[string]any{"node": "b"}, 403, terret.CodeForbidden, "", "")
		b.token = admin
	}
	if left, err := os.ReadDir(b.root); err != nil || len(left) > 0 {
		t.Errorf("%v is left: %v", left, err)
	}
	if s, err := a.store.Session(t.Context(), old.ID); err != nil || s.HandedTo != "" {
		t.Errorf("%+v: %v", s, err)
	}
	a.do("POST", "/v1/fleet/arrivals", map[string]any{"session": old.ID}).want(404, nil)

	a.do("POST", "/v1/fleet/drain?node=a", map[string]any{"hold": true}).want(202, nil)
	refused(a, here.ID, map[string]any{"agent": "mock"}, 503, terret.CodeStartupRefused, "", "stopping")
	var made httpapi.HandedOver
	a.do("POST", "/v1/sessions/"+old.ID+"/handoff", map[string]any{"node": "b", "idle": true}).want(201, &made) // the node leaves it to others
	if made.First != nil || made.Node != "b" || made.State != terret.SessionPending {
		t.Errorf("%+v", made)
	}
	refused(b, made.ID, map[string]any{"node": "a"}, 409, terret.CodeConflict, "", "node a takes no more sessions")

	single := newFixture(t)
	refused(single, single.session().ID, map[string]any{"node": "b"}, 501, terret.CodeUnsupported, "", "not part of a fleet")
}
