package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/door/mcp"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/server/installation"
	"github.com/terret-dev/terret/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a server with the door and the demo agent, and a caller with a token.
type fixture struct {
	t               *testing.T
	dir, url, token string
	tokens          *access.Tokens
	http            *http.Client
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	store, err := sqlite.Open(t.Context(), filepath.Join(home, "terret.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := access.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	token, err := tokens.AdminToken()
	if err != nil {
		t.Fatal(err)
	}
	drivers := []terret.Driver{native.New(native.Config{Getenv: func(string) string { return "" }})}
	e, err := engine.New(t.Context(), engine.Config{Store: store, Drivers: drivers})
	if err != nil {
		t.Fatal(err)
	}
	sessions := &installation.Sessions{Sessions: assemble.Sessions{
		Engine: e, Store: store, Home: home, Roles: &assemble.Roles{}, Agents: assemble.NewAgents(drivers),
		Defaults: func(_ context.Context, s *terret.Session) {
			if s.Agent == "" {
				s.Agent, s.Model = "native", native.DemoModel
			}
		},
	}}
	server, err := httpapi.New(httpapi.Config{
		Engine: e, Store: store, Tokens: tokens, Roots: []string{dir}, Home: home, Drivers: drivers, Sessions: sessions, Hosts: []string{"terret.example"},
		Doors: []httpapi.Door{{
			Path: mcp.Path, Refuse: mcp.Refuse,
			Open: func(server http.Handler) httpapi.OpenDoor { return mcp.NewDoor(server, "test") },
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		hs.CloseClientConnections()
		hs.Close()
		server.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{t: t, dir: dir, url: hs.URL + mcp.Path, token: token, tokens: tokens, http: hs.Client()}
}

// holding is the fixture with a token of its own, which revoke takes back.
func (f *fixture) holding(scope access.Scope, session string) (other *fixture, revoke func()) {
	f.t.Helper()
	name := string(scope) + session
	secret, _, err := f.tokens.Create(f.t.Context(), access.Spec{Name: name, Scope: scope, Session: session})
	if err != nil {
		f.t.Fatal(err)
	}
	with := *f
	with.token = secret
	return &with, func() {
		if err := f.tokens.Revoke(f.t.Context(), name); err != nil {
			f.t.Error(err)
		}
	}
}

// bearer sends requests with a token.
type bearer struct {
	http.RoundTripper

	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// talk is an open session of the official client.
type talk struct {
	*sdk.ClientSession

	t *testing.T
}

// connect opens a session of a version of the protocol. Its person likes red.
func (f *fixture) connect(version string) (talk, error) {
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "red"}}, nil
		},
	})
	transport := &sdk.StreamableClientTransport{Endpoint: f.url, HTTPClient: &http.Client{Transport: bearer{f.http.Transport, f.token}}, MaxRetries: -1}
	s, err := c.Connect(f.t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		f.t.Cleanup(func() { s.Close() })
	}
	return talk{s, f.t}, err
}

func (f *fixture) mustConnect(version string) talk {
	f.t.Helper()
	s, err := f.connect(version)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// call uses a tool, and holds what its answer has.
func (s talk) call(tool string, args map[string]any, want ...string) map[string]any {
	s.t.Helper()
	r, err := s.CallTool(s.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		s.t.Fatalf("%s: %v", tool, err)
	}
	text := ""
	for _, c := range r.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			text += c.Text
		}
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			s.t.Errorf("%s %v: %s has no %s", tool, args, text, w)
		}
	}
	var fields map[string]any
	_ = json.Unmarshal([]byte(text), &fields) // errors are no JSON
	return fields
}

// versions are the newest version of the protocol, and those with sessions.
var versions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"}

// TestHTTP works with an agent through the official client, by each version of the protocol.
func TestHTTP(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			s := f.mustConnect(version)
			s.t = t
			if got := s.InitializeResult(); got.ProtocolVersion != version || got.ServerInfo.Name != "terret" || (s.ID() == "") != (version == versions[0]) {
				t.Errorf("%+v, session %q", got, s.ID())
			}
			tools, err := s.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 9 {
				t.Errorf("%d tools, %v", len(tools.Tools), err)
			}
			if _, err := s.ListPrompts(t.Context(), nil); err == nil {
				t.Error("there are prompts, which the server does not say")
			}
			s.call("list_agents", nil, `"agent":"native"`)
			s.call("start_session", map[string]any{"folder": "/", "prompt": "hello"}, "is not in a folder that sessions may be opened in")
			made := s.call("start_session", map[string]any{"folder": f.dir, "prompt": "run: echo one > one.txt", "title": "a child"}, `"turn":"trn_`)
			turn := map[string]any{"session": made["session"], "turn": made["turn"]}
			s.call("wait", turn, `"state":"waiting_for_person"`, "one.txt")
			s.call("interrupt", map[string]any{"session": made["session"]}, `"ok":true`)
			s.call("wait", turn, `"state":"interrupted"`)
			again := s.call("prompt", map[string]any{"session": made["session"], "prompt": "list files"}, `"turn":"trn_`)
			s.call("wait", map[string]any{"session": made["session"], "turn": again["turn"]}, `"state":"completed"`)
			s.call("read_session", map[string]any{"session": made["session"]}, `"title":"a child"`, "list files")
			s.call("ask_person", map[string]any{"question": "Which colour?"}, `"answered":true`, `"answer":"red"`)
		})
	}
}

// TestRights holds that a call has the rights of the token that it came with, at the time.
func TestRights(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin := f.mustConnect("")
	mine := admin.call("start_session", map[string]any{"folder": f.dir, "prompt": "list files"})["session"]
	other := admin.call("start_session", map[string]any{"folder": f.dir, "prompt": "list files"})["session"]
	for _, version := range versions {
		viewer, revoke := f.holding(access.View, "")
		s := viewer.mustConnect(version)
		s.call("list_sessions", nil, fmt.Sprint(mine))
		s.call("read_session", map[string]any{"session": mine}, "list files")
		s.call("start_session", map[string]any{"folder": f.dir, "prompt": "hello"}, "scope")
		s.call("prompt", map[string]any{"session": mine, "prompt": "hello"}, "scope")
		s.call("interrupt", map[string]any{"session": mine}, "scope")
		revoke()
		if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "list_agents"}); err == nil {
			t.Error("a revoked token still opens the door")
		}
		if _, err := viewer.connect(version); err == nil {
			t.Error("a revoked token opens the door")
		}
		one, revoke := f.holding(access.Prompt, fmt.Sprint(mine))
		s = one.mustConnect(version)
		s.call("prompt", map[string]any{"session": mine, "prompt": "list files"}, `"turn":"trn_`)
		s.call("prompt", map[string]any{"session": other, "prompt": "hello"}, "token")
		s.call("read_session", map[string]any{"session": other}, "token")
		revoke()
	}
}

const begin = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}`

const tools = `{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}`

// plain is a request as the official client would not send it.
func plain(t *testing.T, method, url, body string, header ...string) *http.Request {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	return req
}

func (f *fixture) send(method, path, body string, header ...string) (status int, text string, got http.Header) {
	f.t.Helper()
	req := plain(f.t, method, strings.TrimSuffix(f.url, mcp.Path)+path, body, append([]string{"Authorization", "Bearer " + f.token}, header...)...)
	res, err := f.http.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return res.StatusCode, string(raw), res.Header
}

// TestGate holds that the door is behind the server's checks, and answers refusals as the
// protocol does.
func TestGate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	status, text, header := f.send("POST", mcp.Path, begin, "Host", "terret.example", "Origin", "http://terret.example")
	session := header.Get("Mcp-Session-Id")
	if status != 200 || session == "" || !strings.Contains(text, `"name":"terret"`) {
		t.Fatalf("%d %s %v", status, text, header)
	}
	mallory, _ := f.holding(access.Prompt, "")
	for name, c := range map[string]struct {
		f                  *fixture
		method, path, body string
		header             []string
		status             int
		code               terret.ErrorCode // of an error in the protocol's form
	}{
		"without a token":             {f, "POST", mcp.Path, begin, []string{"Authorization", ""}, 401, terret.CodeUnauthorized},
		"wrong token":                 {f, "POST", mcp.Path, begin, []string{"Authorization", "Bearer wrong"}, 401, terret.CodeUnauthorized},
		"wrong token, known session":  {f, "POST", mcp.Path, tools, []string{"Authorization", "Bearer wrong", "Mcp-Session-Id", session}, 401, terret.CodeUnauthorized},
		"page of another site":        {f, "POST", mcp.Path, begin, []string{"Origin", "https://evil.example"}, 403, terret.CodeForbidden},
		"another name of the machine": {f, "POST", mcp.Path, begin, []string{"Host", "evil.example"}, 403, terret.CodeForbidden},
		"form":                        {f, "POST", mcp.Path, "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, terret.CodeInvalidRequest},
		"large body":                  {f, "POST", mcp.Path, `"` + strings.Repeat("x", 9<<20) + `"`, nil, 413, ""},
		"body of many values":         {f, "POST", mcp.Path, "[" + strings.Repeat("[],", 20_000) + "[]]", []string{"Mcp-Session-Id", session}, 413, ""},
		"a stream of nothing":         {f, "GET", mcp.Path, "", []string{"Mcp-Session-Id", session}, 405, terret.CodeInvalidRequest},
		"below the door":              {f, "POST", mcp.Path + "/x", begin, nil, 404, terret.CodeNotFound},
		"no session":                  {f, "POST", mcp.Path, tools, []string{"Mcp-Session-Id", "x"}, 404, ""},
		"session of another token":    {mallory, "POST", mcp.Path, tools, []string{"Mcp-Session-Id", session}, 403, ""},
		"end another's session":       {mallory, "DELETE", mcp.Path, "", []string{"Mcp-Session-Id", session}, 403, ""},
		"version of tomorrow":         {f, "POST", mcp.Path, tools, []string{"Mcp-Protocol-Version", "2999-01-01"}, 400, ""},
	} {
		status, text, _ := c.f.send(c.method, c.path, c.body, c.header...)
		var e struct {
			ID    *int
			Error struct {
				Message string
				Data    struct{ Code terret.ErrorCode }
			}
		}
		_ = json.Unmarshal([]byte(text), &e) // the library refuses in plain text
		if status != c.status || c.code != "" && (e.Error.Message == "" || e.Error.Data.Code != c.code) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if status, text, _ := f.send("POST", mcp.Path, tools, "Mcp-Session-Id", session); status != 200 || !strings.Contains(text, "start_session") {
		t.Errorf("%d %s", status, text)
	}
	if status, text, _ := f.send("DELETE", mcp.Path, "", "Mcp-Session-Id", session); status != 204 {
		t.Errorf("%d %s", status, text)
	}
	if status, text, _ := f.send("POST", mcp.Path, tools, "Mcp-Session-Id", session); status != 404 {
		t.Errorf("%d %s", status, text)
	}
}

// TestSessionsAreBounded holds that the longest unused session of who has the most gives
// way to a new one.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	d := mcp.NewDoor(http.NotFoundHandler(), "test")
	defer d.Close()
	send := func(owner, body, session string) (int, string) {
		t.Helper()
		w := httptest.NewRecorder()
		header := []string{"Authorization", "Bearer " + owner}
		if session != "" {
			header = append(header, "Mcp-Session-Id", session)
		}
		d.ServeHTTP(w, plain(t, "POST", "http://terret.example"+mcp.Path, body, header...))
		if !bytes.Contains(w.Body.Bytes(), []byte(`"result"`)) && w.Code == 200 {
			t.Errorf("%s", w.Body)
		}
		return w.Code, w.Header().Get("Mcp-Session-Id")
	}
	_, modest := send("bob", begin, "")
	var greedy []string
	for range mcp.MaxSessions - 1 {
		_, id := send("alice", begin, "")
		greedy = append(greedy, id)
	}
	send("alice", tools, greedy[0]) // so the second is the longest unused
	_, fresh := send("bob", begin, "")
	for _, c := range []struct {
		owner, session string
		status         int
	}{{"alice", greedy[0], 200}, {"alice", greedy[1], 404}, {"alice", greedy[2], 200}, {"bob", modest, 200}, {"bob", fresh, 200}} {
		if got, _ := send(c.owner, tools, c.session); got != c.status {
			t.Errorf("%s: %d, want %d", c.owner, got, c.status)
		}
	}
}

// TestCallsAreBounded holds that one token has so many calls in progress, that they end with
// the requests that they came with, and that others are not in their way.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	d := mcp.NewDoor(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-r.Context().Done()
	}), "test")
	const agents = `{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "list_agents"}}`
	open := func(owner string) (session string) {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, plain(t, "POST", "http://terret.example"+mcp.Path, begin, "Authorization", "Bearer "+owner))
		return w.Header().Get("Mcp-Session-Id")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	for range mcp.MaxCalls {
		session := open("alice")
		go func() {
			d.ServeHTTP(httptest.NewRecorder(), plain(t, "POST", "http://terret.example"+mcp.Path, agents, "Authorization", "Bearer alice", "Mcp-Session-Id", session).WithContext(ctx))
			ended <- struct{}{}
		}()
		<-entered
	}
	for owner, want := range map[string]string{"alice": "in progress, the maximum", "bob": `"result"`} {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, plain(t, "POST", "http://terret.example"+mcp.Path, begin, "Authorization", "Bearer "+owner))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s has no %s", owner, w.Body, want)
		}
	}
	cancel()
	for range mcp.MaxCalls {
		<-ended
	}
	d.Close() // waits for the calls
	w := httptest.NewRecorder()
	d.ServeHTTP(w, plain(t, "POST", "http://terret.example"+mcp.Path, begin, "Authorization", "Bearer alice"))
	if !strings.Contains(w.Body.String(), "the server is stopping") {
		t.Errorf("%s", w.Body)
	}
}
