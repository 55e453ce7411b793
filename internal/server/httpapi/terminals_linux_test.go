package httpapi_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/test/guardtest"
)

// shells lets terminals run /bin/sh, in an environment with secrets that they must not see.
func shells(c *httpapi.Config, _ *engine.Config) {
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.Home, "SHELL=/bin/sh", "PS1=$ ",
		"TERRET_API_TOKEN=mine", "ANTHROPIC_API_KEY=secret", "EXTRA=given", "OTHER=kept-out",
	}
	c.TerminalEnv = []string{"EXTRA"}
}

// with is the fixture with another token.
func (f *fixture) with(name string, scope access.Scope, session string) *fixture {
	f.t.Helper()
	secret, _, err := f.tokens.Create(f.t.Context(), access.Spec{Name: name, Scope: scope, Session: session})
	if err != nil {
		f.t.Fatal(err)
	}
	other := *f
	other.token = secret
	return &other
}

func (f *fixture) opened(session string) httpapi.Terminal {
	f.t.Helper()
	var made httpapi.Terminal
	f.do("POST", "/v1/sessions/"+session+"/terminals", map[string]any{"columns": 100, "rows": 30}).want(201, &made)
	return made
}

func (f *fixture) types(t httpapi.Terminal, text string) {
	f.t.Helper()
	f.do("POST", pathOf(t)+"/input", map[string]any{"data": text}).want(204, nil)
}

func pathOf(t httpapi.Terminal) string { return "/v1/sessions/" + t.Session + "/terminals/" + t.ID }

// shows follows a terminal until it shows the text, and returns all that it saw, and the
// id of the last event.
func (f *fixture) shows(t httpapi.Terminal, after, text string) (seen, id string) {
	f.t.Helper()
	for ev, err := range f.events(pathOf(t) + "/output?after=" + after) {
		if err != nil {
			f.t.Fatalf("%v after %q", err, seen)
		}
		if ev.Name == "output" {
			b, err := base64.StdEncoding.DecodeString(string(ev.Data))
			if err != nil {
				f.t.Fatal(err)
			}
			seen += string(b)
			id = ev.ID
		}
		if strings.Contains(seen, text) {
			return seen, id
		}
	}
	f.t.Fatalf("it shows %q, not %q", seen, text)
	return "", ""
}

func TestTerminalOfASession(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shells)
	s := f.session()
	var none terret.Page[httpapi.Terminal]
	if f.do("GET", "/v1/sessions/"+s.ID+"/terminals", nil).want(200, &none); len(none.Items) != 0 {
		t.Errorf("%+v before one was opened", none)
	}
	made := f.opened(s.ID)
	f.types(made, "stty size; pwd; env | grep -c 'mine\\|secret\\|kept'; echo \"<$EXTRA>\"\r")
	seen, id := f.shows(made, "0", "<given>")
	if !strings.Contains(seen, "30 100") || !strings.Contains(seen, f.dir) || !strings.Contains(seen, "\n0\r\n") {
		t.Errorf("it shows %q", seen)
	}
	// After a reload all is there again; a stream that broke off goes on.
	if again, _ := f.shows(made, "0", "<given>"); again != seen {
		t.Errorf("after a reload it shows %q, not %q", again, seen)
	}
	f.types(made, "echo mo''re\r")
	if rest, _ := f.shows(made, id, "more\r\n"); strings.Contains(rest, "given") {
		t.Errorf("it goes on with %q", rest)
	}
	var changed httpapi.Terminal
	f.do("PATCH", pathOf(made), map[string]any{"columns": 120, "rows": 40}).want(200, &changed)
	f.types(made, "stty size\r")
	f.shows(made, "0", "40 120")
	if changed.Columns != 120 || changed.Rows != 40 || changed.OpenedBy != "admin" || changed.Shell != "sh" {
		t.Errorf("%+v", changed)
	}
	for _, wrong := range []map[string]any{{}, {"columns": 3}, {"rows": 2000, "columns": 5}} {
		if a := f.do("PATCH", pathOf(made), wrong); a.status != 422 {
			t.Errorf("%v: %d", wrong, a.status)
		}
	}
	f.do("POST", pathOf(made)+"/input", map[string]any{"data": strings.Repeat("x", 5000)}).problem(422, terret.CodeInvalidRequest, "data")
	f.do("DELETE", pathOf(made), nil).want(204, nil)
	f.do("GET", pathOf(made)+"/output", nil).problem(404, terret.CodeNotFound, "")
	f.do("POST", pathOf(made)+"/input", map[string]any{"data": "x"}).problem(404, terret.CodeNotFound, "")
	// Nothing of it is in the log.
	if log := f.do("GET", "/v1/sessions/"+s.ID+"/events", nil, "Accept", "application/x-ndjson").want(200, nil); strings.Contains(string(log.body), "given") {
		t.Errorf("the log holds what a terminal showed: %s", log.body)
	}
}

// TestWhoMayUseTerminals holds that only admins open terminals, type and read, except that
// others may read what is shared.
func TestWhoMayUseTerminals(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shells)
	s, other := f.session(), f.session()
	made := f.opened(s.ID)
	f.types(made, "echo pri''vate\r")
	f.shows(made, "0", "private")
	viewers := []*fixture{f.with("v", access.View, ""), f.with("p", access.Prompt, ""), f.with("d", access.Decide, ""), f.with("link", access.View, s.ID)}
	stranger, owner := f.with("stranger", access.View, other.ID), f.with("second", access.Admin, "")
	lists := func(v *fixture) int {
		var list terret.Page[httpapi.Terminal]
		v.do("GET", "/v1/sessions/"+s.ID+"/terminals", nil).want(200, &list)
		return len(list.Items)
	}
	for _, v := range viewers {
		v.do("POST", "/v1/sessions/"+s.ID+"/terminals", map[string]any{}).problem(403, terret.CodeForbidden, "")
		v.do("GET", pathOf(made)+"/output", nil).problem(404, terret.CodeNotFound, "")
		if n := lists(v); n != 0 {
			t.Errorf("a viewer sees %d terminals", n)
		}
	}
	owner.types(made, "echo by the owner\r")
	f.do("GET", "/v1/sessions/"+other.ID+"/terminals/"+made.ID+"/output", nil).problem(404, terret.CodeNotFound, "")

	f.do("PATCH", pathOf(made), map[string]any{"shared": true}).want(200, nil)
	for _, v := range viewers {
		v.shows(made, "0", "private")
		if n := lists(v); n != 1 {
			t.Errorf("a viewer sees %d terminals that are shared", n)
		}
		v.do("POST", pathOf(made)+"/input", map[string]any{"data": "x"}).problem(403, terret.CodeForbidden, "")
		v.do("PATCH", pathOf(made), map[string]any{"columns": 10, "rows": 10}).problem(403, terret.CodeForbidden, "")
		v.do("DELETE", pathOf(made), nil).problem(403, terret.CodeForbidden, "")
	}
	stranger.do("GET", pathOf(made)+"/output", nil).problem(403, terret.CodeForbidden, "")
	f.do("GET", pathOf(made)+"/output", nil, "Authorization", "").problem(401, terret.CodeUnauthorized, "")

	// What is no longer shared is no longer shown, also to who looks at it.
	end := ""
	for ev, err := range viewers[0].events(pathOf(made) + "/output") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(ev.Data), `"shared":true`) {
			f.do("PATCH", pathOf(made), map[string]any{"shared": false}).want(200, nil)
			f.types(made, "echo hid''den\r")
		}
		if ev.Name == "output" {
			b, _ := base64.StdEncoding.DecodeString(string(ev.Data))
			if strings.Contains(string(b), "hidden") {
				t.Errorf("it shows %q", b)
			}
		}
		end = ev.Name
	}
	if end != "stream.end" {
		t.Errorf("the stream ends with %q", end)
	}
}

// TestTerminalsEndWithTheirSession holds that nothing that was started in a terminal
// outlives the session's agent, the session, or the server.
func TestTerminalsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(f *fixture, session string){
		"close":  func(f *fixture, id string) { f.do("POST", "/v1/sessions/"+id+"/close", nil).want(200, nil) },
		"delete": func(f *fixture, id string) { f.do("DELETE", "/v1/sessions/"+id, nil).want(204, nil) },
		"server": func(f *fixture, _ string) { f.server.Close() },
		"elsewhere": func(f *fixture, id string) { // another process deletes it
			if err := f.store.Delete(f.t.Context(), id); err != nil {
				f.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, shells)
			s := f.session()
			made, marker := f.opened(s.ID), guardtest.Marker()
			f.types(made, "(setsid sleep "+marker+" &); trap '' HUP; sleep "+marker+"\r")
			guardtest.AwaitSleeps(t, marker, 2)
			var list terret.Page[httpapi.Terminal]
			if f.do("GET", "/v1/sessions/"+s.ID+"/terminals", nil).want(200, &list); len(list.Items) != 1 || !list.Items[0].Busy || list.Items[0].Program != "sleep" {
				t.Errorf("%+v", list.Items)
			}
			end(f, s.ID)
			if name != "elsewhere" {
				guardtest.NoneAlive(t, marker)
			}
			guardtest.AwaitNone(t, marker)
		})
	}
}

func TestTerminalWhoseFolderIsGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shells)
	f.dir += "/sub"
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := f.session()
	if err := os.Remove(f.dir); err != nil {
		t.Fatal(err)
	}
	f.do("POST", "/v1/sessions/"+s.ID+"/terminals", nil).problem(422, terret.CodeInvalidRequest, "cwd")
}

// TestTerminalOfClient goes through the Go client.
func TestTerminalOfClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shells)
	c, err := client.New(f.url, client.Options{Token: f.token, HTTP: f.client})
	if err != nil {
		t.Fatal(err)
	}
	s := f.session()
	made, err := c.OpenTerminal(t.Context(), s.ID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.TypeIntoTerminal(t.Context(), s.ID, made.ID, "stty size; exit 3\r"); err != nil {
		t.Fatal(err)
	}
	seen, last := "", client.Terminal{}
	for o, err := range c.FollowTerminal(t.Context(), s.ID, made.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if seen += string(o.Data); o.State != nil {
			last = *o.State
		}
	}
	if !strings.Contains(seen, "24 80") || !last.Ended || last.ExitCode == nil || *last.ExitCode != 3 {
		b, _ := json.Marshal(last)
		t.Errorf("it showed %q, and is %s", seen, b)
	}
	shared := true
	if made, err = c.ChangeTerminal(t.Context(), s.ID, made.ID, client.TerminalChange{Shared: &shared}); err != nil || !made.Shared {
		t.Errorf("%+v, %v", made, err)
	}
	if list, err := c.Terminals(t.Context(), s.ID); err != nil || len(list) != 1 || list[0].ID != made.ID {
		t.Errorf("%+v, %v", list, err)
	}
	if err := c.CloseTerminal(t.Context(), s.ID, made.ID); err != nil {
		t.Error(err)
	}
	for _, err := range c.FollowTerminal(context.WithoutCancel(t.Context()), s.ID, made.ID, 0) {
		if !errors.Is(err, terret.ErrNotFound) {
			t.Errorf("one that is closed: %v", err)
		}
	}
}
