package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

// send sends a request as it is, and nothing after it.
func (f *fixture) send(head, body string) answer {
	f.t.Helper()
	address := strings.TrimPrefix(f.url, "http://")
	conn, err := (&net.Dialer{}).DialContext(f.t.Context(), "tcp", address)
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	_, _ = fmt.Fprintf(conn, "%s\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n\r\n%s", head, address, f.token, body)
	_ = conn.(*net.TCPConn).CloseWrite()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer{f.t, res.StatusCode, res.Header, got}
}

// TestBrokenBodies holds that a body that cannot be read is the sender's fault.
func TestBrokenBodies(t *testing.T) {
	t.Parallel()
	const limit = 2000
	f := newFixture(t, limits(httpapi.Limits{Body: limit}))
	const chunked = "\r\nTransfer-Encoding: chunked"
	chunk := func(n int) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", n, strings.Repeat(" ", n)) }
	for _, c := range []struct {
		head, body string
		want       int
	}{
		{"POST /v1/sessions HTTP/1.1\r\nContent-Length: 50", `{"cwd"`, http.StatusBadRequest},
		{"POST /v1/sessions HTTP/1.1" + chunked, "what?\r\n", http.StatusBadRequest},
		{"POST /v1/sessions HTTP/1.1" + chunked, chunk(limit + 1), http.StatusRequestEntityTooLarge},
		{"POST /v1/signin HTTP/1.1" + chunked, chunk(5 << 10), http.StatusRequestEntityTooLarge},
	} {
		p := f.send(c.head, c.body).problem(c.want, terret.CodeInvalidRequest, "")
		if strings.Contains(p.Detail, "EOF") || strings.Contains(p.Detail, "http:") || strings.Contains(p.Detail, "chunk") {
			t.Errorf("%s: %s", c.head, p.Detail)
		}
	}
	// As long as a body may be.
	body := fmt.Sprintf("{\"cwd\":%q}", f.dir)
	f.do("POST", "/v1/sessions", body+strings.Repeat(" ", limit-len(body))).want(http.StatusCreated, nil)
}

// TestPlainWords holds that people are told what is wrong with their JSON, without the
// words of this program.
func TestPlainWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true}}))
	s := f.session()
	f.prompt(s.ID, "list")
	decision := "/v1/decisions/" + f.wait(s.ID, terret.KindPermissionRequest).Expects.RequestID
	for _, c := range []struct{ path, body, want string }{
		{"/v1/sessions", `{"cwd":`, "ends too early"},
		{"/v1/sessions", `{} {}`, "see byte 4"},
		{"/v1/sessions", `{"cwd": NaN}`, "see byte 9"},
		{"/v1/sessions", strings.Repeat("[", 20_000), "nested too deeply"},
		{"/v1/sessions", `{"max_cost_usd": 1e999}`, "1e999 is too large"},
		{"/v1/sessions", `{"max_turns": 1e30}`, "max_turns: 1e30 is too large"},
		{"/v1/sessions", ``, "the body is missing"},
		{decision + "?view=athena", `[]`, "wrong type of value: array"},
		{decision + "?view=athena", `{"decision": 5}`, "wrong type of value: number"},
		{decision + "?view=hive", `{`, "ends too early"},
		{decision + "?view=hive", `"once"`, "wrong type of value: string"},
		{"/api/harness/turn", `{"sessionId": x}`, "see byte 15"},
		{"/api/harness/turn", `{"sessionId":`, "body: it ends too early"},
		{"/api/harness/turn", `[]`, "body: it must not be"},
		{"/api/harness/turn", ``, "body: it is missing"},
	} {
		var p httpapi.Problem
		a := f.do("POST", c.path, c.body)
		if err := json.Unmarshal(a.body, &p); err != nil || p.Kind != terret.CodeInvalidRequest {
			t.Errorf("%s %.40s: %s (%v)", c.path, c.body, a.body, err)
		}
		if !strings.Contains(p.Detail, c.want) {
			t.Errorf("%s %.40s: %q does not contain %q", c.path, c.body, p.Detail, c.want)
		}
		for _, word := range []string{"Go ", "json:", "struct", "character '"} {
			if strings.Contains(p.Detail, word) {
				t.Errorf("%s %.40s: %q contains %q", c.path, c.body, p.Detail, word)
			}
		}
	}
}

// TestLongErrors holds that an error does not repeat all that was sent.
func TestLongErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	long := strings.Repeat("x", 50_000)
	unknown := map[string]int{}
	for i := range 5000 {
		unknown[fmt.Sprint("x", i)] = i
	}
	for _, a := range []answer{
		f.do("POST", "/v1/sessions", map[string]any{"cwd": long}),
		f.do("POST", "/v1/sessions", map[string]any{long: 1}),
		f.do("POST", "/v1/sessions", unknown),
		f.do("GET", "/v1/me?"+long, nil),
	} {
		if a.status != http.StatusUnprocessableEntity || len(a.body) > 20_000 {
			t.Errorf("%d, %d bytes: %.200s", a.status, len(a.body), a.body)
		}
	}
}

// TestRepeatedFields holds that no field is checked in one place and read in another.
func TestRepeatedFields(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for body, ok := range map[string]bool{
		`{"cwd":%q,"policy":"ask","POLICY":"whatever"}`:                  false,
		`{"cwd":%q,"title":"a","title":"b"}`:                             false,
		`{"cwd":%q,"mcp":{"a":{"env":{"x":"1","x":"2"}}}}`:               false,
		`{"cwd":%q,"mcp":{"a":{"command":"a","env":{"x":"","X":""}}}}`:   true,
		`{"cwd":%q,"tools":["title","title"],"title":"cwd","model":"m"}`: true,
	} {
		a := f.do("POST", "/v1/sessions", fmt.Sprintf(body, f.dir))
		if got := a.status == http.StatusCreated; got != ok {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
}
