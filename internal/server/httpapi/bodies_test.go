package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

// TestBodiesByRoute holds that a route reads no more than it needs, and says how much
// that is.
func TestBodiesByRoute(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.session()
	viewer := f.holding("view", access.View, "")
	long := fmt.Sprintf(`{"effect":"deny","pattern":"Edit(x)"%s}`, strings.Repeat(" ", 17<<10))
	for _, path := range []string{"/v1/rules/dry-run", "/v1/tokens", "/v1/trust", "/v1/sessions/" + s.ID + "/fork"} {
		p := viewer.do("POST", path, long).problem(http.StatusRequestEntityTooLarge, terret.CodeInvalidRequest, "")
		if !strings.Contains(p.Detail, "at most 16384") {
			t.Errorf("%s: %s", path, p.Detail)
		}
	}
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(long), long)
	f.send("POST /v1/rules/dry-run HTTP/1.1\r\nTransfer-Encoding: chunked", chunked).problem(http.StatusRequestEntityTooLarge, terret.CodeInvalidRequest, "")
	f.do("POST", "/v1/rules/dry-run", strings.Replace(long, strings.Repeat(" ", 2<<10), "", 1)).want(http.StatusOK, nil)

	spec, err := httpapi.Describe()
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Paths map[string]map[string]struct {
			Body  any   `json:"requestBody"`
			Limit int64 `json:"x-max-body-bytes"`
		}
	}
	if err := json.Unmarshal(spec, &described); err != nil {
		t.Fatal(err)
	}
	for path, methods := range described.Paths {
		for method, op := range methods {
			if op.Body != nil && op.Limit == 0 && path != "/v1/sessions/import" {
				t.Errorf("%s %s does not say how large its body may be", method, path)
			}
		}
	}
	if got := described.Paths["/v1/rules/dry-run"]["post"].Limit; got != 16<<10 {
		t.Errorf("a dry run takes %d bytes", got)
	}
}

// TestBodyOfManyValues holds that a body is refused for the number of its values, of which each
// may take three bytes and a hundred times that in memory. What a text says does not count.
func TestBodyOfManyValues(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.session()
	many := `{"blocks":[` + strings.Repeat("{},", 20_000) + `{}]}`
	p := f.do("POST", "/v1/sessions/"+s.ID+"/turns", many).problem(http.StatusRequestEntityTooLarge, terret.CodeInvalidRequest, "")
	if !strings.Contains(p.Detail, "more than 20000 values") {
		t.Error(p.Detail)
	}
	text, err := json.Marshal(strings.Repeat(`[{"a":"\\",`, 20_000))
	if err != nil {
		t.Fatal(err)
	}
	f.do("POST", "/v1/sessions/"+s.ID+"/turns", `{"prompt":`+string(text)+`}`).want(http.StatusAccepted, nil)
}

// TestBodiesTogether holds that large bodies wait for room when others are being read, and
// are refused if there is none. Small ones need none.
func TestBodiesTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.session()
	address := strings.TrimPrefix(f.url, "http://")
	var slow []net.Conn
	for range 2 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		slow = append(slow, conn)
		_, _ = fmt.Fprintf(conn, "POST /v1/sessions/%s/turns HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n\r\n",
			s.ID, address, f.token)
	}
	large := map[string]any{"effect": "deny", "pattern": strings.Repeat("x", 20<<10)}
	deadline := time.Now().Add(time.Minute)
	for {
		a := f.do("POST", "/v1/sessions", large)
		if a.status == http.StatusTooManyRequests {
			if a.header.Get("Retry-After") == "" || !strings.Contains(string(a.body), "busy") {
				t.Errorf("%v %s", a.header, a.body)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no request was refused")
		}
	}
	f.do("POST", "/v1/rules/dry-run", map[string]any{"effect": "deny", "pattern": "Edit(x)"}).want(http.StatusOK, nil)
	for _, conn := range slow {
		_ = conn.Close()
	}
	for f.do("POST", "/v1/sessions", large).status == http.StatusTooManyRequests { // until the server has seen that they are gone
		if time.Now().After(deadline) {
			t.Fatal("the room is not given back")
		}
	}
}
