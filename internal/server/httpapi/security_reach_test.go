package httpapi_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/internal/server/access"
)

// A token of one session sees nothing of another, by any route.
func TestSecurityOneSessionOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, turns([]mock.Step{{Text: "one"}}))
	const canary = "canary-of-the-other"
	mine := f.session().ID
	theirs := f.session(func(b map[string]any) { b["title"] = canary }).ID
	for _, id := range []string{mine, theirs} {
		f.prompt(id, "x")
		f.wait(id, "turn.complete")
	}
	header, value := f.as("link", access.View, mine)
	for _, p := range f.places(theirs) {
		if p.scope == "" || !strings.Contains(p.path, theirs) {
			continue
		}
		if got := f.status(p, header, value); got != http.StatusForbidden && got != http.StatusNotFound && got != http.StatusUnprocessableEntity {
			t.Errorf("%s %s: %d", p.method, p.path, got)
		}
	}
	for _, path := range []string{
		"/v1/files?session=" + theirs, "/v1/files/content?path=x&session=" + theirs, "/v1/files/find?q=x&session=" + theirs,
		"/v1/decisions?session=" + theirs, "/v1/rules?session=" + theirs, "/v1/events?sessions=" + theirs, "/v1/events?sessions=" + mine + "," + theirs,
		"/metrics", "/v1/roots", "/v1/dirs?path=" + f.root, "/v1/usage", "/v1/tokens", "/v1/personas?cwd=" + f.dir, "/v1/trust?cwd=" + f.dir,
	} {
		answer := f.do("GET", path, nil, header, value)
		if answer.status < 400 || answer.status >= 500 || strings.Contains(string(answer.body), canary) {
			t.Errorf("GET %s: %d %s", path, answer.status, answer.body)
		}
	}
	for _, path := range []string{"/v1/sessions", "/v1/sessions?q=canary", "/v1/decisions?state=all", "/api/harness/session/list", "/v1/sessions?limit=1000", "/v1/me"} {
		answer := f.do("GET", path, nil, header, value)
		answer.want(http.StatusOK, nil)
		if body := string(answer.body); strings.Contains(body, theirs) || strings.Contains(body, canary) {
			t.Errorf("GET %s shows the other session: %s", path, body)
		}
	}
	answer := f.do("GET", "/v1/events", nil, header, value, "Accept", "application/x-ndjson")
	if body := string(answer.want(http.StatusOK, nil).body); strings.Contains(body, theirs) || !strings.Contains(body, mine) {
		t.Errorf("the stream of all sessions: %s", body)
	}
	f.do("GET", "/v1/sessions/"+mine, nil, header, value).want(http.StatusOK, nil)
}

// A cursor of another session, or of another server, is an error and never events.
func TestSecurityForeignCursors(t *testing.T) {
	t.Parallel()
	f := newFixture(t, turns([]mock.Step{{Text: "one"}}))
	long, short := f.session().ID, f.session().ID
	f.prompt(long, "x")
	last := f.wait(long, "turn.complete").Seq
	for _, header := range [][]string{{"Last-Event-ID", fmt.Sprint(last)}, {"Last-Event-ID", "x"}, {"Last-Event-ID", "-1"}, {"Last-Event-ID", "99999999999999999999"}} {
		answer := f.do("GET", "/v1/sessions/"+short+"/events", nil, append(header, "Accept", "application/x-ndjson")...)
		if answer.status != http.StatusUnprocessableEntity {
			t.Errorf("%q: %d %s", header, answer.status, answer.body)
		}
	}
	for _, cursor := range []string{"x", "MTAwMA", fmt.Sprint(last), "..", "cG9zOi0x", "cG9zOjk5OTk5OTk5OQ"} {
		if got := f.do("GET", "/v1/events?cursor="+cursor, nil, "Accept", "application/x-ndjson").status; got != http.StatusUnprocessableEntity {
			t.Errorf("cursor %q: %d", cursor, got)
		}
	}
}

func TestSecurityPaths(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	outside := t.TempDir()
	for path, content := range map[string]string{filepath.Join(outside, "secret"): "canary", filepath.Join(f.dir, "fine"): "fine"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"out": outside, "home": f.home, "up": ".."} {
		if err := os.Symlink(target, filepath.Join(f.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, cwd := range []string{outside, filepath.Join(f.dir, "out"), filepath.Join(f.dir, "home"), filepath.Join(f.dir, "up"), f.dir + "/../" + filepath.Base(outside), "/", "/proc/self/cwd", ".", "", "~", f.dir + "\x00", f.home} {
		for _, body := range []map[string]any{{"cwd": cwd}, {"cwd": f.dir, "add_dirs": []string{cwd}}} {
			if answer := f.do("POST", "/v1/sessions", body); answer.status != http.StatusForbidden && answer.status != http.StatusUnprocessableEntity {
				t.Errorf("a session with %q: %d %s", body, answer.status, answer.body)
			}
		}
		if answer := f.do("GET", "/v1/dirs?path="+escape(cwd), nil); answer.status < 400 || answer.status >= 500 {
			t.Errorf("dirs of %q: %d %s", cwd, answer.status, answer.body)
		}
	}
	id := f.session().ID
	for _, path := range []string{"../" + filepath.Base(outside) + "/secret", outside + "/secret", "out/secret", "home/token", "up/x", "fine\x00", "/etc/passwd", "/proc/self/environ"} {
		for _, route := range []string{"/v1/files/content", "/v1/files"} {
			answer := f.do("GET", route+"?session="+id+"&path="+escape(path), nil)
			if answer.status < 400 || answer.status >= 500 || strings.Contains(string(answer.body), "canary") || strings.Contains(string(answer.body), f.token) {
				t.Errorf("%s of %q: %d %s", route, path, answer.status, answer.body)
			}
		}
	}
	f.do("GET", "/v1/files/content?session="+id+"&path=fine", nil).want(http.StatusOK, nil)
}

func escape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

// Names that could be taken for a flag, or hold control characters, go nowhere.
func TestSecurityNames(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.session().ID
	for _, bad := range []string{"-x", "--dangerously-skip-permissions", "a\nb", "a\x00b", "\x1b[31m"} {
		for _, field := range []string{"agent", "model", "persona", "permission_mode", "effort", "native_id", "fallback_model"} {
			if got := f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, field: bad}).status; got != http.StatusUnprocessableEntity {
				t.Errorf("a session with %s %q: %d", field, bad, got)
			}
		}
		for _, body := range []map[string]any{{"model": bad}, {"permission_mode": bad}} {
			if got := f.do("PATCH", "/v1/sessions/"+id, body).status; got != http.StatusUnprocessableEntity {
				t.Errorf("change to %q: %d", body, got)
			}
		}
		for _, body := range []map[string]any{{"prompt": "x", "message_id": bad}, {"prompt": "x", "options": map[string]any{"model": bad}}, {"prompt": "x", "options": map[string]any{"tools": []string{bad}}}} {
			if got := f.do("POST", "/v1/sessions/"+id+"/turns", body).status; got != http.StatusUnprocessableEntity {
				t.Errorf("a turn of %q: %d", body, got)
			}
		}
	}
	for _, bad := range []string{"-x", "..", "%2e%2e", "x", "%00", "*", strings.Repeat("0", 5000)} {
		if answer := f.do("GET", "/v1/sessions/"+bad, nil); answer.status < 400 || answer.status >= 500 {
			t.Errorf("session %.20q: %d", bad, answer.status)
		}
	}
}

// A token that was revoked, by whichever process, is refused at once.
func TestSecurityRevocation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var made struct{ Name, Token string }
	f.do("POST", "/v1/tokens", map[string]any{"name": "x", "scope": "decide"}).want(http.StatusCreated, &made)
	header := []string{"Authorization", "Bearer " + made.Token}
	f.do("GET", "/v1/sessions", nil, header...).want(http.StatusOK, nil)
	list := f.do("GET", "/v1/tokens", nil).want(http.StatusOK, nil)
	if body := string(list.body); strings.Contains(body, made.Token) || strings.Contains(body, "sha256") || !strings.Contains(body, `"last_used_at"`) {
		t.Errorf("the list of tokens: %s", body)
	}
	elsewhere, err := access.Open(f.home)
	if err != nil {
		t.Fatal(err)
	}
	if err := elsewhere.Revoke(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	f.do("GET", "/v1/sessions", nil, header...).problem(http.StatusUnauthorized, terret.CodeUnauthorized, "")
}

func TestSecuritySignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	code := f.tokens.NewCode()
	body := map[string]any{"code": code, "device": "phone"}
	var made struct{ Token string }
	f.do("POST", "/v1/signin", body, "Authorization", "").want(http.StatusCreated, &made)
	f.do("GET", "/v1/sessions", nil, "Authorization", "Bearer "+made.Token).want(http.StatusOK, nil)
	f.do("POST", "/v1/signin", body, "Authorization", "").problem(http.StatusUnauthorized, terret.CodeUnauthorized, "")
	last := answer{}
	for range 20 {
		last = f.do("POST", "/v1/signin", body, "Authorization", "")
	}
	last.problem(http.StatusTooManyRequests, terret.CodeRateLimited, "")
	if last.header.Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	if got := f.do("GET", "/v1/signin?code="+code, nil, "Authorization", "").status; got != http.StatusMethodNotAllowed {
		t.Errorf("a code in the URL: %d", got)
	}
}

// Whoever has no token can make the server hold a few KB, and wrong codes lock nobody
// out.
func TestSecurityWithoutToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	large := map[string]any{"code": strings.Repeat("x", 8<<10)}
	if got := f.do("POST", "/v1/signin", large, "Authorization", "").status; got != http.StatusRequestEntityTooLarge {
		t.Errorf("a large sign-in: %d", got)
	}
	code := f.tokens.NewCode()
	for range 50 {
		f.do("POST", "/v1/signin", map[string]any{"code": "wrong"}, "Authorization", "")
	}
	f.do("POST", "/v1/signin", map[string]any{"code": code}, "Authorization", "").want(http.StatusCreated, nil)
}
