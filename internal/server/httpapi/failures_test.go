package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/trust"
)

// unprovoked reports whether a status is listed although this test cannot make the
// route answer so, because it takes minutes, a full disk, or a file that changes in
// the midst of the request.
func unprovoked(id string, status int) bool {
	return status == http.StatusRequestTimeout || id == "sign-in" && status == http.StatusInternalServerError ||
		id == "open-terminal" && status == http.StatusNotImplemented || // on Windows, and on another node
		id == "list-dirs" && status == http.StatusConflict ||
		id == "handoff" && status == http.StatusFailedDependency // the scripted agent needs nobody who is signed in; package assemble tests one that does
}

// TestFailures walks all routes with all kinds of bad input and in all kinds of
// trouble. What is answered must be in the description, which fixture.do checks, and
// what is in the description must have been answered.
func TestFailures(t *testing.T) {
	t.Parallel()
	w := &walk{t: t, description: newDescription(t), seen: map[string]map[int]bool{}}
	for _, trouble := range []struct {
		name string
		meet func(*walk, *testing.T)
	}{
		{"door", (*walk).door},
		{"body", (*walk).bodies},
		{"input", (*walk).inputs},
		{"sessions", (*walk).sessions},
		{"another process", (*walk).foreign},
		{"store", (*walk).store},
		{"agent", (*walk).agent},
		{"push", (*walk).push},
		{"notify", (*walk).notify},
		{"setup", (*walk).setup},
		{"stopping", (*walk).stopping},
	} {
		t.Run(trouble.name, func(t *testing.T) { trouble.meet(w, t) })
	}
	if t.Failed() {
		return
	}
	for at, op := range w.operations {
		for status := range op.Responses {
			n, err := strconv.Atoi(status)
			if err != nil || n < 400 || w.seen[op.ID][n] || unprovoked(op.ID, n) {
				continue
			}
			t.Errorf("%s (%s) lists %d and never answered so; there were %v", at, op.ID, n, slices.Sorted(maps.Keys(w.seen[op.ID])))
		}
	}
}

// walk remembers which operation has answered with which status.
type walk struct {
	t *testing.T
	*description
	seen map[string]map[int]bool
}

// note remembers an answer, and hands it on.
func (w *walk) note(op *described, a answer) answer {
	if w.seen[op.ID] == nil {
		w.seen[op.ID] = map[int]bool{}
	}
	w.seen[op.ID][a.status] = true
	return a
}

// each calls fn for every operation, in a settled order.
func (w *walk) each(fn func(op *described)) {
	for _, at := range slices.Sorted(maps.Keys(w.operations)) {
		fn(w.operations[at])
	}
}

// target is what requests are about. Ids that are not set are of things that are not
// there.
type target struct{ session, turn, request, dir, code string }

// fill puts ids into a path.
func (at target) fill(path string) string {
	or := func(a, b string) string {
		if a == "" {
			return b
		}
		return a
	}
	return strings.NewReplacer("{id}", or(at.session, terret.NewSessionID()), "{turn}", or(at.turn, terret.NewID(terret.PrefixTurn)),
		"{request}", or(at.request, terret.NewID(terret.PrefixRequest)), "{agent}", "mock", "{name}", "nobody").Replace(path)
}

// call makes a request to an operation that is right as far as the target is.
func (w *walk) call(f *fixture, op *described, at target, header ...string) answer {
	f.t.Helper()
	path, body := at.fill(op.Path), at.body(op)
	if query := at.query(op); query != "" {
		path += "?" + query
	}
	if strings.HasSuffix(op.Path, "/events") { // which else does not end
		header = append(header, "Accept", "application/x-ndjson")
	}
	return w.note(op, f.do(op.Method, path, body, header...))
}

func (at target) query(op *described) string {
	switch op.ID {
	case "list-dirs":
		return "path=" + at.dir
	case "list-files", "find-files", "list-requests", "list-rules":
		return "session=" + at.fill("{id}")
	case "all-events":
		return "sessions=" + at.fill("{id}")
	case "read-file", "download-file":
		return "path=a.txt&session=" + at.fill("{id}")
	case "persona-prompt", "list-personas", "get-trust":
		return "cwd=" + at.dir
	case "revoke-token-by-query":
		return "name=nobody"
	case "unsubscribe-push":
		return "id=nobody"
	case "forget-trust":
		return "folder=/nowhere"
	case "search":
		return "q=words&session=" + at.fill("{id}")
	}
	return ""
}

func (at target) body(op *described) any {
	switch op.ID {
	case "create-session":
		return map[string]any{"cwd": at.dir}
	case "start-workflow":
		return map[string]any{"workflow": "steps: [{id: one, prompt: hi}]", "cwd": at.dir}
	case "start-review":
		return map[string]any{"cwd": at.dir}
	case "start-race":
		return map[string]any{"cwd": at.dir, "task": "go", "agents": []string{"mock", "mock"}}
	case "keep-racer":
		return map[string]any{"racer": "mock-1"}
	case "handoff":
		return map[string]any{"agent": "mock"}
	case "spawn":
		return map[string]any{"name": "nobody", "agent": "mock", "cwd": at.dir, "credentials": map[string]any{"mode": "query"}}
	case "send-team-message":
		return map[string]any{"to": []string{"nobody"}, "text": "hi"}
	case "set-topology":
		return map[string]any{"kind": "broadcast"}
	case "take-back":
		return map[string]any{"path": "a.txt", "state": "x"}
	case "commit":
		return map[string]any{"message": "Do it", "files": []any{map[string]any{"path": "a.txt", "state": "x"}}}
	case "update-session":
		return map[string]any{"model": "m"}
	case "prompt":
		return map[string]any{"prompt": "hi", "when": "steer"}
	case "edit-queued":
		return map[string]any{"prompt": "ho"}
	case "open-pull-request":
		return map[string]any{"title": "Do it"}
	case "type-into-terminal":
		return map[string]any{"data": "bHMK"}
	case "send-queued":
		return map[string]any{}
	case "decide":
		return map[string]any{"behavior": "allow"}
	case "add-preset":
		return map[string]any{"name": "p", "agent": "mock"}
	case "change-preset":
		return map[string]any{"name": "p"}
	case "put-rules":
		return map[string]any{"items": []any{map[string]any{"effect": "deny", "pattern": "Bash(rm *)"}}}
	case "dry-run-rule":
		return map[string]any{"effect": "deny", "pattern": "Bash(rm *)"}
	case "explain-rules":
		return map[string]any{"session": at.fill("{id}"), "command": "ls"}
	case "set-trust":
		return map[string]any{"cwd": at.dir, "hash": "x", "trusted": true}
	case "run-command":
		return map[string]any{"name": "hi"}
	case "sign-in":
		return map[string]any{"code": at.code}
	case "test-push", "test-notify":
		return map[string]any{"id": "nobody"}
	case "put-notify":
		return map[string]any{"channels": []any{}}
	case "answer-notification":
		return map[string]any{"token": "nobody"}
	case "make-sign-in-link":
		return map[string]any{"origin": "https://terret.example"}
	case "make-token":
		return map[string]any{"name": "one", "scope": "view", "session": at.session}
	case "adopt-session":
		return map[string]any{"agent": "mock", "native_id": "n"}
	case "import-session":
		return "{}\n"
	case "add-key":
		return map[string]any{"name": "nobody", "key": "x"}
	case "add-provider":
		return map[string]any{"name": "nobody", "base_url": "http://127.0.0.1:1/v1", "key_env": "NOBODY_KEY"}
	case "check-config":
		return map[string]any{"text": "{}"}
	case "begin-mcp-sign-in":
		return map[string]any{"server": "http://127.0.0.1:1/mcp"}
	case "answer-mcp-sign-in":
		return map[string]any{"address": "http://127.0.0.1/callback"}
	case "put-config":
		return map[string]any{"text": "{}", "hash": "x"}
	}
	if op.RequestBody != nil {
		return map[string]any{}
	}
	return nil
}

// door comes without what is needed to come in, and with a wrong token too often.
func (w *walk) door(t *testing.T) {
	f := newFixture(t)
	at := target{dir: f.dir}
	viewer, secret := f.as("viewer", access.View, "")
	w.each(func(op *described) {
		w.call(f, op, at, "Host", "evil.example").problem(403, terret.CodeForbidden, "")
		w.call(f, op, at, "Origin", "http://evil.example").problem(403, terret.CodeForbidden, "")
		w.call(f, op, at, "Authorization", "").problem(401, terret.CodeUnauthorized, "")
		if op.Scope != access.View && op.Scope != "" {
			w.call(f, op, at, viewer, secret).problem(403, terret.CodeForbidden, "")
		}
	})
	for range 100 {
		f.do("GET", "/v1/me", nil, "Authorization", "Bearer wrong")
	}
	w.each(func(op *described) {
		w.call(f, op, at, "Authorization", "Bearer wrong").problem(429, terret.CodeRateLimited, "")
	})

	// The list of tokens cannot be read.
	f = newFixture(t)
	admin, secret := f.as("second", access.Admin, "")
	at.code = f.tokens.NewCode()
	if err := os.WriteFile(filepath.Join(f.home, "tokens.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.each(func(op *described) {
		if op.Scope != "" {
			w.call(f, op, at, admin, secret).problem(500, terret.CodeInternal, "")
		}
		w.call(f, op, at)
	})
	lock := filepath.Join(f.home, "tokens.lock")
	if err := errors.Join(os.RemoveAll(lock), os.Mkdir(lock, 0o700)); err != nil {
		t.Fatal(err)
	}
	at.code = f.tokens.NewCode()
	w.each(func(op *described) { w.call(f, op, at) })
}

// bodies sends some that are none.
func (w *walk) bodies(t *testing.T) {
	f := newFixture(t, limits(httpapi.Limits{Body: 4000, Import: 4000}))
	w.each(func(op *described) {
		if op.Method == http.MethodGet {
			return
		}
		send := func(body string, header ...string) answer {
			return w.note(op, f.do(op.Method, target{}.fill(op.Path), body, header...))
		}
		send(strings.Repeat(" ", 5000)).problem(413, terret.CodeInvalidRequest, "")
		if op.ID == "import-session" { // reads lines, whatever they are called
			send("x").problem(422, terret.CodeInvalidRequest, "body")
			return
		}
		send("x", "Content-Type", "text/plain").problem(415, terret.CodeInvalidRequest, "")
		send("x=1", "Content-Type", "application/x-www-form-urlencoded").problem(415, terret.CodeInvalidRequest, "")
		if op.RequestBody == nil {
			return
		}
		for _, body := range []string{"{", `"x"`, "[1]", `{"nonsense":1}`, "\xff", "{}{}", strings.Repeat("[", 2000)} {
			if a := send(body); a.status != 400 && a.status != 422 || !bytes.Contains(a.body, []byte(`"kind":"invalid_request"`)) {
				t.Errorf("%s: body %.20q: %d %s", op.ID, body, a.status, a.body)
			}
		}
	})
}

// inputs names things that are not there, and says things that make no sense.
func (w *walk) inputs(t *testing.T) {
	f := newFixture(t)
	at := target{dir: f.dir}
	w.each(func(op *described) {
		a := w.note(op, f.do(op.Method, at.fill(op.Path)+"?nonsense=1", at.body(op)))
		if a.status != 422 {
			t.Errorf("%s: an unknown parameter: %d %s", op.ID, a.status, a.body)
		}
		a = w.call(f, op, at)
		if named := strings.Contains(op.Path, "{") || strings.Contains(at.query(op), "session"); named && op.ID != "list-models" && op.ID != "remove-agent" && !isSetup(op) && a.status != 404 {
			t.Errorf("%s: something that is not there: %d %s", op.ID, a.status, a.body)
		}
	})
	s := f.session()
	w.lone(f, f.session().ID, s.ID)
	for path, status := range map[string]int{"nowhere": 404, "../x": 403} {
		for _, id := range []string{"list-files", "read-file", "download-file"} {
			op := w.byID(id)
			w.note(op, f.do(op.Method, op.Path+"?session="+s.ID+"&path="+path, nil).want(status, nil))
		}
	}
	dirs := w.byID("list-dirs")
	w.note(dirs, f.do("GET", "/v1/dirs?path="+filepath.Join(f.root, "nowhere"), nil).want(404, nil))
	w.note(dirs, f.do("GET", "/v1/dirs?path=/", nil).want(403, nil))
	token := w.byID("make-token")
	w.call(f, token, target{session: terret.NewSessionID()}).problem(404, terret.CodeSessionNotFound, "")
	w.call(f, token, target{session: s.ID}).problem(409, terret.CodeConflict, "")
	w.callBody(f, "create-session", target{}, map[string]any{"cwd": f.dir, "agent": "nobody"}).problem(503, terret.CodeAgentNotFound, "")

	// Presets of agents that are not there, or of another one.
	w.callBody(f, "add-preset", target{}, map[string]any{"name": "p", "agent": "nobody"}).problem(503, terret.CodeAgentNotFound, "")
	var preset struct{ ID string }
	w.callBody(f, "add-preset", target{}, map[string]any{"name": "p", "agent": "mock"}).want(201, &preset)
	w.note(w.byID("change-preset"), f.do("PUT", "/v1/presets/"+preset.ID, map[string]any{"name": "p", "agent": "other"})).problem(409, terret.CodeConflict, "")

	// Agents that cannot be added or removed.
	w.callBody(f, "add-agent", target{}, map[string]any{"name": "mock", "argv": []string{"/bin/sh"}}).problem(409, terret.CodeConflict, "")
	w.callBody(f, "add-agent", target{}, map[string]any{"name": "mine", "argv": []string{"/bin/sh"}}).problem(501, terret.CodeUnsupported, "")
	w.note(w.byID("remove-agent"), f.do("DELETE", "/v1/agents/nobody", nil)).problem(404, terret.CodeNotFound, "")

	// What nobody has set up.
	for _, id := range []string{"get-trust", "set-trust", "list-trust", "forget-trust"} {
		w.call(f, w.byID(id), at).problem(501, terret.CodeUnsupported, "")
	}
	f = newFixture(t, func(c *httpapi.Config, e *engine.Config) {
		c.Trust = trust.Open(c.Home)
		e.Drivers = []terret.Driver{mock.New(mock.Script{})}
	})
	w.call(f, w.byID("adopt-session"), at).problem(404, terret.CodeNotFound, "")
	f = newFixture(t, func(c *httpapi.Config, e *engine.Config) {
		c.Trust = trust.Open(c.Home)
		c.Drivers = []terret.Driver{historian{mock.New(mock.Script{}), t.TempDir()}}
		e.Drivers = c.Drivers
	})
	w.call(f, w.byID("adopt-session"), at).want(201, nil)
	var found terret.Page[terret.Discovered]
	f.do("GET", "/v1/discovered", nil).want(200, &found)
	if len(found.Items) != 1 || found.Items[0].Session == "" || found.Items[0].Title != "before" {
		t.Errorf("%+v", found)
	}
	w.call(f, w.byID("adopt-session"), at).problem(409, terret.CodeConflict, "")
	w.call(f, w.byID("set-trust"), target{dir: f.dir}).problem(409, terret.CodeConflict, "")
	w.call(f, w.byID("forget-trust"), target{}).problem(404, terret.CodeNotFound, "")
}

// historian is an agent with which a person had a session before.
type historian struct {
	terret.Driver
	dir string
}

func (h historian) Discover(context.Context) ([]terret.Discovered, error) {
	return []terret.Discovered{{Agent: h.Name(), NativeID: "n", Cwd: h.dir, Title: "before", UpdatedAt: terret.Now()}}, nil
}

func (h historian) Recall(context.Context, string) iter.Seq2[terret.Event, error] {
	turn := terret.NewID(terret.PrefixTurn)
	return func(yield func(terret.Event, error) bool) {
		_ = yield(terret.Event{Turn: turn, Time: terret.Now(), Data: terret.TurnStart{Prompt: []terret.Block{terret.Text("hello")}, Origin: terret.OriginUser}}, nil) &&
			yield(terret.Event{Turn: turn, Time: terret.Now(), Data: terret.TurnComplete{Text: "hi"}}, nil)
	}
}

// lone uses a token that is for another session.
func (w *walk) lone(f *fixture, mine, other string) {
	header, secret := f.as("lone", access.Decide, mine)
	w.each(func(op *described) {
		if a := w.call(f, op, target{session: other, dir: f.dir}, header, secret); strings.Contains(op.Path, "/sessions/{id}") && a.status != 403 {
			f.t.Errorf("%s: a token for another session: %d %s", op.ID, a.status, a.body)
		}
	})
}

func (w *walk) byID(id string) *described {
	for _, op := range w.operations {
		if op.ID == id {
			return op
		}
	}
	w.t.Fatalf("there is no operation %s", id)
	return nil
}

// callBody is call with another body.
func (w *walk) callBody(f *fixture, id string, at target, body any) answer {
	f.t.Helper()
	op := w.byID(id)
	return w.note(op, f.do(op.Method, at.fill(op.Path), body))
}

// sessions are idle, are busy, or have a folder that the server may not work in.
func (w *walk) sessions(t *testing.T) {
	f := newFixture(t, script(mock.Step{Text: "hm"}, mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true}}))
	w.each(func(op *described) { w.call(f, op, target{session: f.session().ID, dir: f.dir}) })
	w.each(func(op *described) {
		if !strings.Contains(op.Path, "/sessions/{id}") {
			return
		}
		s := f.session()
		f.prompt(s.ID, "one")
		f.wait(s.ID, terret.KindPermissionRequest)
		var queued terret.Turn
		f.do("POST", "/v1/sessions/"+s.ID+"/turns", map[string]any{"prompt": "two", "when": "queue"}).want(202, &queued)
		w.call(f, op, target{session: s.ID, turn: queued.ID})
		if op.ID != "delete-session" && op.ID != "kill" && op.ID != "close" {
			f.do("POST", "/v1/sessions/"+s.ID+"/kill", nil)
		}
	})
	var open terret.Page[terret.Request]
	s := f.session()
	turn := f.prompt(s.ID, "one")
	f.wait(s.ID, terret.KindPermissionRequest)
	w.call(f, w.byID("replay-command"), target{session: s.ID, turn: turn.ID}).problem(501, terret.CodeUnsupported, "")
	f.do("GET", "/v1/decisions?session="+s.ID, nil).want(200, &open)
	at := target{request: open.Items[0].RequestID}
	w.callBody(f, "decide", at, map[string]any{"behavior": "allow", "input_hash": "other"}).problem(409, terret.CodeConflict, "")
	w.call(f, w.byID("decide"), at).want(200, nil)
	w.call(f, w.byID("decide"), at).problem(409, terret.CodeAlreadyDecided, "")

	elsewhere, err := f.engine.Create(t.Context(), terret.Session{Agent: "mock", Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	w.each(func(op *described) { w.call(f, op, target{session: elsewhere.ID, dir: elsewhere.Cwd}) })
}

// foreign sessions are at work in another process.
func (w *walk) foreign(t *testing.T) {
	f := newFixture(t)
	store, err := openStore(t.Context(), filepath.Join(f.home, "terret.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	other, err := engine.New(t.Context(), engine.Config{Store: store, Drivers: []terret.Driver{mock.New(mock.Script{Turns: [][]mock.Step{{{Hang: true}}}})}, Home: f.home})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	w.each(func(op *described) {
		if !strings.Contains(op.Path, "/sessions/{id}") {
			return
		}
		s := f.session()
		if _, err := other.Prompt(t.Context(), engine.PromptRequest{Session: s.ID, Prompt: terret.Prompt{Blocks: []terret.Block{terret.Text("hi")}}}); err != nil {
			t.Fatal(err)
		}
		w.call(f, op, target{session: s.ID})
	})
}

// faulty is a store that fails.
type faulty struct {
	terret.Store
	err error
}

func (s faulty) Session(context.Context, string) (terret.Session, error) {
	return terret.Session{}, s.err
}

func (s faulty) ListSessions(context.Context, terret.SessionFilter) (terret.Page[terret.Session], error) {
	return terret.Page[terret.Session]{}, s.err
}

func (s faulty) CountSessions(context.Context, ...terret.SessionState) (int, error) { return 0, s.err }

func (s faulty) Search(context.Context, terret.SearchQuery) (terret.Page[terret.Found], error) {
	return terret.Page[terret.Found]{}, s.err
}

func (s faulty) Request(context.Context, string) (terret.Request, error) {
	return terret.Request{}, s.err
}

func (s faulty) ListRequests(context.Context, terret.RequestFilter) (terret.Page[terret.Request], error) {
	return terret.Page[terret.Request]{}, s.err
}

func (s faulty) ListRules(context.Context, string) ([]terret.Rule, error) { return nil, s.err }

func (s faulty) UsageBy(context.Context, string, terret.Time, terret.Time) ([]terret.UsageRow, error) {
	return nil, s.err
}

// store fails in each way in which one can.
func (w *walk) store(t *testing.T) {
	for _, code := range []terret.ErrorCode{terret.CodeInternal, terret.CodeConflict, terret.CodeStartupRefused} {
		f := newFixture(t, func(c *httpapi.Config, _ *engine.Config) {
			c.Store = faulty{c.Store, terret.Errorf(code, "the store failed")}
		})
		repository(t, f.dir)
		w.each(func(op *described) { w.call(f, op, target{dir: f.dir}) })
		if err := os.Remove(filepath.Join(f.dir, "new.txt")); err != nil { // a race begins without changes
			t.Fatal(err)
		}
		w.call(f, w.byID("start-race"), target{dir: f.dir})
	}
}

// moody is a driver whose agents fail with an error once it is set: when they are
// opened, or when they are asked something.
type moody struct {
	*mock.Driver
	open, ask atomic.Pointer[terret.Error]
}

func failing(p *atomic.Pointer[terret.Error]) error {
	if err := p.Load(); err != nil {
		return err
	}
	return nil
}

func (d *moody) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	if err := failing(&d.open); err != nil {
		return nil, err
	}
	a, err := d.Driver.Open(ctx, r)
	return moodyAgent{a, d}, err
}

// Models implements terret.ModelLister.
func (d *moody) Models(context.Context) ([]terret.Model, error) { return nil, failing(&d.ask) }

type moodyAgent struct {
	terret.Agent
	d *moody
}

func (a moodyAgent) Capabilities() terret.Capabilities {
	c := a.Agent.Capabilities()
	for _, name := range []terret.Capability{terret.CanSelectModel, terret.CanFork, terret.CanCommands, terret.CanCompact, terret.CanUndo, terret.CanRedo, terret.CanSteer} {
		c.Abilities[name] = terret.Ability{OK: true, By: terret.ByAgent}
	}
	return c
}

func (a moodyAgent) fail() error { return failing(&a.d.ask) }

func (a moodyAgent) SetModel(context.Context, string) error             { return a.fail() }
func (a moodyAgent) Steer(context.Context, string, terret.Prompt) error { return a.fail() }
func (a moodyAgent) Models(context.Context) ([]terret.Model, error)     { return nil, a.fail() }

func (a moodyAgent) Commands(context.Context) ([]terret.Command, error)       { return nil, a.fail() }
func (a moodyAgent) Command(context.Context, string, string, string) error    { return a.fail() }
func (a moodyAgent) Compact(context.Context, string, string) error            { return a.fail() }
func (a moodyAgent) Context(context.Context) (u terret.ContextUsage, _ error) { return u, a.fail() }
func (a moodyAgent) Fork(context.Context, string) (string, error)             { return "", a.fail() }
func (a moodyAgent) Rewind(context.Context, string) error                     { return a.fail() }
func (a moodyAgent) Forward(context.Context) error                            { return a.fail() }

// agent cannot be opened, or fails when it is asked, for every reason there is.
func (w *walk) agent(t *testing.T) {
	d := &moody{Driver: mock.New(mock.Script{Turns: [][]mock.Step{{{Text: "hm"}}, {{Text: "hm"}, {Hang: true}}}})}
	f := newFixture(t, func(c *httpapi.Config, e *engine.Config) {
		c.Drivers, e.Drivers = []terret.Driver{d}, []terret.Driver{d}
	})
	w.callBody(f, "create-session", target{}, map[string]any{"cwd": f.dir, "disallowed_tools": []string{"Bash"}}).problem(501, terret.CodeUnsupported, "unenforced")
	w.callBody(f, "spawn", target{}, map[string]any{"name": "a", "agent": "mock", "cwd": f.dir, "allowed_tools": []string{"Read"}}).problem(501, terret.CodeUnsupported, "unenforced")
	loose := f.session(func(b map[string]any) { b["disallowed_tools"], b["unenforced"] = []string{"Bash"}, true })
	w.call(f, w.byID("handoff"), target{session: loose.ID}).problem(501, terret.CodeUnsupported, "unenforced")
	w.each(func(op *described) {
		if !slices.Contains(op.Errors, terret.CodeNotAuthenticated) || op.ID == "handoff" {
			return // no agent is asked
		}
		fresh, used := f.session(), f.session()
		f.prompt(used.ID, "one")
		f.wait(used.ID, terret.KindTurnComplete)
		switch op.ID {
		case "prompt":
			var last terret.Session
			f.do("GET", "/v1/sessions/"+used.ID, nil).want(200, &last)
			f.prompt(used.ID, "two")
			f.waitAfter(used.ID, last.LastSeq, terret.KindMessageComplete) // now the agent works
		case "redo":
			f.do("POST", "/v1/sessions/"+used.ID+"/undo", nil).want(200, nil)
		}
		tried := map[int]bool{}
		for _, code := range op.Errors {
			if tried[code.Class().HTTP] {
				continue
			}
			tried[code.Class().HTTP] = true
			err := terret.Errorf(code, "the agent failed")
			d.open.Store(err)
			w.call(f, op, target{session: fresh.ID, dir: f.dir})
			d.open.Store(nil)
			d.ask.Store(err)
			a := w.call(f, op, target{session: used.ID, dir: f.dir})
			d.ask.Store(nil)
			if op.ID == "undo" && a.status == 200 { // the agent need not know the prompt
				f.do("POST", "/v1/sessions/"+used.ID+"/redo", nil).want(200, nil)
			}
		}
	})
}

// setup has nothing, has everything already, or cannot read what there is.
func (w *walk) setup(t *testing.T) {
	var m machine
	f := newFixture(t, settable(t, &m))
	all := func() {
		w.each(func(op *described) {
			if isSetup(op) {
				w.call(f, op, target{dir: f.dir})
			}
		})
	}
	for _, id := range []string{"remove-key", "remove-provider", "mcp-sign-out"} {
		w.call(f, w.byID(id), target{}).problem(404, terret.CodeNotFound, "")
	}
	all()
	for range 2 {
		w.call(f, w.byID("add-key"), target{})
		w.call(f, w.byID("add-provider"), target{})
	}
	w.call(f, w.byID("provider-models"), target{}).problem(502, terret.CodeConnectionFailed, "")
	w.call(f, w.byID("remove-key"), target{})
	w.call(f, w.byID("provider-models"), target{}).problem(424, terret.CodeNotAuthenticated, "")
	w.call(f, w.byID("remove-provider"), target{})
	w.call(f, w.byID("provider-models"), target{}).problem(404, terret.CodeNotFound, "")
	for _, name := range []string{"keys.json", "mcp-tokens.json"} {
		if err := os.WriteFile(filepath.Join(f.home, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all()
	m.npm(t, "exec sleep 1000\n")
	for _, status := range []int{202, 409} {
		w.note(w.byID("install-agent"), f.do("POST", "/v1/installers/pi", nil)).want(status, nil)
	}
	m.setup.Close()
	w.note(w.byID("install-agent"), f.do("POST", "/v1/installers/pi", nil)).problem(503, terret.CodeStartupRefused, "")
	w.call(f, w.byID("begin-mcp-sign-in"), target{}).problem(503, terret.CodeStartupRefused, "")
}

// stopping comes when the server takes no more work.
func (w *walk) stopping(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	serving, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { served <- f.server.Serve(serving, l) }()
	stop()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	w.each(func(op *described) { w.call(f, op, target{session: s.ID, dir: f.dir}) })
}

// repository makes a git repository of a folder, with a change that is not committed.
func repository(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "one"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "new.txt"), []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
