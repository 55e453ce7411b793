package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/server/setup"
	"github.com/terret-dev/terret/internal/test/oauthtest"
)

// ended is where a browser ends that cannot open the page at which it ends.
func ended(t *testing.T, link string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.Header.Get("Location")
}

// TestMCPSignIn signs in to an MCP server with a browser of this machine and with one of
// another machine, and out again. Nothing that the server gave is ever said.
func TestMCPSignIn(t *testing.T) {
	t.Parallel()
	a := oauthtest.New(t)
	var m machine
	f := newFixture(t, settable(t, &m))
	var said []byte
	list := func() (l httpapi.SignIns) {
		t.Helper()
		said = append(said, f.do("GET", "/v1/mcp/sign-ins", nil).want(200, &l).body...)
		return l
	}
	begin := func() (i setup.SignIn) {
		t.Helper()
		said = append(said, f.do("POST", "/v1/mcp/sign-ins", map[string]any{"server": a.URL}).want(201, &i).body...)
		return i
	}
	if l := list(); len(l.Items) != 0 || l.Last != nil {
		t.Errorf("%+v", l)
	}
	f.do("POST", "/v1/mcp/sign-ins", map[string]any{"server": "tracker"}).problem(422, terret.CodeInvalidRequest, "server")
	f.do("POST", "/v1/mcp/sign-ins", map[string]any{"server": "http://127.0.0.1:1/mcp"}).problem(502, terret.CodeConnectionFailed, "")
	f.do("POST", "/v1/mcp/sign-in/answer", map[string]any{"address": "x"}).problem(409, terret.CodeConflict, "")

	first := begin()
	if first.State != setup.SignInWaits || first.Link == "" {
		t.Fatalf("%+v", first)
	}
	f.do("DELETE", "/v1/mcp/sign-in", nil).want(204, nil)
	if l := list(); l.Last.State != setup.SignInCancelled || l.Last.Link != "" || len(l.Items) != 0 {
		t.Errorf("%+v", l)
	}
	f.do("DELETE", "/v1/mcp/sign-in", nil).problem(409, terret.CodeConflict, "")

	// A browser on another machine: the person gives the address at which it ended.
	begin()
	var out setup.SignIn
	said = append(said, f.do("POST", "/v1/mcp/sign-in/answer", map[string]any{"address": "http://127.0.0.1:1/callback?code=x&state=y"}).want(200, &out).body...)
	if out.State != setup.SignInFailed || !strings.Contains(out.Why, "is not the address") {
		t.Errorf("%+v", out)
	}
	one := begin()
	if one.Link == first.Link {
		t.Error("it is the link of before")
	}
	said = append(said, f.do("POST", "/v1/mcp/sign-in/answer", map[string]any{"address": ended(t, one.Link)}).want(200, &out).body...)
	if out.State != setup.SignedIn {
		t.Fatalf("%+v", out)
	}
	l := list()
	if len(l.Items) != 1 || !strings.HasPrefix(l.Items[0].Name, "mcp-127.0.0.1-") {
		t.Fatalf("%+v", l)
	}
	if again := begin(); again.State != setup.NotNeeded {
		t.Errorf("%+v", again)
	}
	f.do("DELETE", "/v1/mcp/sign-ins/"+l.Items[0].Name, nil).want(204, nil)
	f.do("DELETE", "/v1/mcp/sign-ins/"+l.Items[0].Name, nil).problem(404, terret.CodeNotFound, "")

	// A browser of this machine brings the answer itself.
	oauthtest.Browse(t, begin().Link)
	for end := time.Now().Add(time.Minute); list().Last.State == setup.SignInWaits && time.Now().Before(end); {
	}
	if l := list(); l.Last.State != setup.SignedIn || len(l.Items) != 1 {
		t.Errorf("%+v", l.Last)
	}
	if all := string(said) + m.log.String(); strings.Contains(all, "secret-") {
		t.Errorf("a token is said: %s", all)
	}
}
