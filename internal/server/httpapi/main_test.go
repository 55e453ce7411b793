package httpapi_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/server/installation"
	"github.com/terret-dev/terret/internal/sse"
	"github.com/terret-dev/terret/internal/trust"
	"github.com/terret-dev/terret/work/team"
)

func TestMain(m *testing.M) { verify(m) }

// fixture is a server on a loopback port, with a real engine and store behind it.
type fixture struct {
	t      *testing.T
	store  terret.Store
	engine *engine.Engine
	server *httpapi.Server
	url    string
	client *http.Client
	tokens *access.Tokens
	token  string
	dir    string // inside the root
	root   string
	home   string
}

type option func(*httpapi.Config, *engine.Config)

func script(steps ...mock.Step) option { return turns(steps) }

func turns(all ...[]mock.Step) option {
	return func(_ *httpapi.Config, e *engine.Config) {
		e.Drivers = []terret.Driver{mock.New(mock.Script{Turns: all})}
	}
}

func limits(l httpapi.Limits) option {
	return func(c *httpapi.Config, _ *engine.Config) { c.Limits = l }
}

func newFixture(t *testing.T, options ...option) *fixture {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	own, err := openStore(t.Context(), filepath.Join(home, "terret.db"))
	if err != nil {
		t.Fatal(err)
	}
	store := own
	t.Cleanup(func() {
		if err := own.Close(); err != nil {
			t.Error(err)
		}
	})
	tokens, err := access.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := tokens.AdminToken()
	if err != nil {
		t.Fatal(err)
	}
	ec := engine.Config{Store: store, Drivers: []terret.Driver{mock.New(mock.Script{})}, Home: home, Undo: engine.UndoLimits{Off: true}}
	hc := httpapi.Config{Store: store, Tokens: tokens, Roots: []string{root}, Home: home, Version: "test"}
	roles := &assemble.Roles{Trusts: func(dir string) bool {
		if hc.Trust == nil {
			return false
		}
		d, _, err := hc.Trust.Check(dir)
		return err == nil && d == trust.Trusted
	}}
	ec.Roles = roles.For
	for _, o := range options {
		o(&hc, &ec)
	}
	if s, ok := ec.Store.(Store); ok { // an option may have replaced it
		store = s
	}
	e, err := engine.New(t.Context(), ec)
	if err != nil {
		t.Fatal(err)
	}
	hc.Engine = e
	for _, d := range ec.Drivers {
		if l, ok := d.(terret.ModelLister); ok {
			hc.Drivers = append(hc.Drivers, struct {
				overseen
				terret.ModelLister
			}{overseen{d}, l})
			continue
		}
		hc.Drivers = append(hc.Drivers, overseen{d})
	}
	hc.Sessions = &installation.Sessions{Sessions: assemble.Sessions{Engine: e, Store: hc.Store, Home: home, Roles: roles, Agents: assemble.NewAgents(hc.Drivers), MayRun: roles.Trusts, Env: os.Environ(), Defaults: func(_ context.Context, s *terret.Session) {
		s.Agent = cmp.Or(s.Agent, "mock")
	}}}
	lookup := &teamStore{Store: store}
	members := *hc.Sessions
	members.Store = lookup
	if hc.Team, err = members.Team(t.Context(), team.Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	lookup.other.Store(&hc.Store)
	server, err := httpapi.New(hc)
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		hc.Team.Close()
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
		hs.CloseClientConnections()
		hs.Close()
		server.Close()
	})
	f := &fixture{
		t: t, store: store, engine: e, server: server, url: hs.URL, client: hs.Client(), tokens: hc.Tokens, token: secret,
		dir: root, root: root, home: home,
	}
	return f
}

// teamStore looks sessions up in another store once there is one, which may be faulty.
type teamStore struct {
	terret.Store
	other atomic.Pointer[terret.Store]
}

func (s *teamStore) Session(ctx context.Context, id string) (terret.Session, error) {
	if other := s.other.Load(); other != nil {
		return (*other).Session(ctx, id)
	}
	return s.Store.Session(ctx, id)
}

// overseen is a driver whose agent asks before each use of a tool.
type overseen struct{ terret.Driver }

func (d overseen) Probe(ctx context.Context) (terret.Probe, error) {
	p, err := d.Driver.(terret.Prober).Probe(ctx)
	p.Capabilities.Oversight = terret.OversightAll
	return p, err
}

func (d overseen) Describe() terret.Description { return terret.DescriptionOf(d.Driver) }

// serve makes the fixture use another server.
func (f *fixture) serve(s *httpapi.Server) {
	hs := httptest.NewServer(s.Handler())
	f.t.Cleanup(func() {
		hs.CloseClientConnections()
		hs.Close()
	})
	f.server, f.url, f.client = s, hs.URL, hs.Client()
}

// answer is a response that was read.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

// request sends one, with a body that is JSON unless it is a string.
func (f *fixture) request(ctx context.Context, method, path string, body any, header ...string) *http.Request {
	f.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		raw, err := json.Marshal(body)
		if err != nil {
			f.t.Fatal(err)
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, f.url+path, r)
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+f.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i+1] == "" {
			req.Header.Del(header[i])
			continue
		}
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	return req
}

// do sends a request, and holds that the description lists what is answered.
func (f *fixture) do(method, path string, body any, header ...string) answer {
	f.t.Helper()
	req := f.request(f.t.Context(), method, path, body, header...)
	res, err := f.client.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	a := answer{f.t, res.StatusCode, res.Header, got}
	if op := newDescription(f.t).of(req); op != nil && method != http.MethodHead {
		op.check(f.t, a)
	}
	return a
}

// want checks the status, and decodes the body into v if it is not nil.
func (a answer) want(status int, v any) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	if v != nil {
		if err := json.Unmarshal(a.body, v); err != nil {
			a.t.Fatalf("%v in %s", err, a.body)
		}
	}
	return a
}

// problem checks that the answer is one.
func (a answer) problem(status int, kind terret.ErrorCode, field string) httpapi.Problem {
	a.t.Helper()
	var p httpapi.Problem
	a.want(status, &p)
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Errorf("content type %q", got)
	}
	if p.Kind != kind || p.Type != string(kind) || p.Status != status || p.Field != field || p.Detail == "" || p.Title == "" {
		a.t.Errorf("problem %s, want kind %s and field %q", a.body, kind, field)
	}
	return p
}

func (f *fixture) session(more ...func(map[string]any)) terret.Session {
	f.t.Helper()
	body := map[string]any{"cwd": f.dir}
	for _, m := range more {
		m(body)
	}
	var s terret.Session
	f.do("POST", "/v1/sessions", body).want(201, &s)
	return s
}

func (f *fixture) prompt(session, text string) terret.Turn {
	f.t.Helper()
	var turn terret.Turn
	f.do("POST", "/v1/sessions/"+session+"/turns", map[string]any{"prompt": text}).want(202, &turn)
	return turn
}

// events opens a stream of server-sent events. Breaking off the loop closes it.
func (f *fixture) events(path string, header ...string) func(func(sse.Event, error) bool) {
	f.t.Helper()
	return func(yield func(sse.Event, error) bool) {
		ctx, cancel := context.WithCancel(f.t.Context())
		defer cancel()
		res, err := f.client.Do(f.request(ctx, "GET", path, nil, header...))
		if err != nil {
			yield(sse.Event{}, err)
			return
		}
		defer res.Body.Close()
		if res.StatusCode != 200 {
			b, _ := io.ReadAll(res.Body)
			f.t.Errorf("GET %s: %d %s", path, res.StatusCode, b)
			return
		}
		sse.Read(res.Body, 1<<20)(yield)
	}
}

// wait follows a session until an event of that kind, and returns it.
func (f *fixture) wait(session string, kind terret.Kind) terret.Event {
	f.t.Helper()
	return f.waitAfter(session, 0, kind)
}

// waitAfter is wait for an event after that number.
func (f *fixture) waitAfter(session string, after int64, kind terret.Kind) terret.Event {
	f.t.Helper()
	for ev, err := range f.events("/v1/sessions/" + session + "/events?after=" + strconv.FormatInt(after, 10)) {
		if err != nil {
			f.t.Fatal(err)
		}
		if ev.Name == string(kind) {
			var e terret.Event
			if err := json.Unmarshal(ev.Data, &e); err != nil {
				f.t.Fatal(err)
			}
			return e
		}
	}
	f.t.Fatalf("no %s", kind)
	return terret.Event{}
}
