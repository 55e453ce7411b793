package httpapi_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/internal/guard"
	"github.com/terret-dev/terret/internal/server/access"
)

// asking is a session with an open request.
func asking(t *testing.T, options ...option) (f *fixture, session, request string) {
	t.Helper()
	f = newFixture(t, append([]option{script(
		mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true, Result: "a.go"}},
		mock.Step{Text: "Done."},
	)}, options...)...)
	session = f.session().ID
	f.prompt(session, "go on")
	f.wait(session, "permission.request")
	var open terret.Page[terret.Request]
	f.do("GET", "/v1/decisions", nil).want(http.StatusOK, &open)
	if len(open.Items) != 1 {
		t.Fatalf("%d open requests", len(open.Items))
	}
	return f, session, "/v1/decisions/" + open.Items[0].RequestID
}

func TestSecurityWhoMayAnswer(t *testing.T) {
	t.Parallel()
	f, session, request := asking(t)
	other := f.session().ID
	allow := map[string]any{"behavior": "allow"}
	for name, c := range map[string]struct {
		scope   access.Scope
		session string
		want    int
	}{
		"viewer":                   {access.View, "", 403},
		"prompter":                 {access.Prompt, "", 403},
		"viewer of it":             {access.View, session, 403},
		"prompter of it":           {access.Prompt, session, 403},
		"decider of another":       {access.Decide, other, 404},
		"decider of it, for ever":  {access.Decide, session, 403},
		"decider of a third, ever": {access.Decide, other, 404},
		"decider of all, for ever": {access.Decide, "", 403},
	} {
		header, value := f.as(name, c.scope, c.session)
		body := map[string]any{"behavior": "allow"}
		if strings.Contains(name, "ever") {
			body["scope"] = "always"
		}
		if got := f.do("POST", request, body, header, value).status; got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	header, value := f.as("phone", access.Decide, session)
	var decided terret.Request
	f.do("POST", request, allow, header, value).want(http.StatusOK, &decided)
	if decided.Decision == nil || decided.Decision.By != "phone" {
		t.Errorf("decided by %+v", decided.Decision)
	}
}

// Whoever may only prompt cannot make a session that asks nobody.
func TestSecurityPromptCannotWiden(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	header, value := f.as("ci", access.Prompt, "")
	var own terret.Session
	f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir}, header, value).want(http.StatusCreated, &own)
	for field, v := range map[string]any{
		"policy": "auto-approve", "permission_mode": "bypassPermissions", "allow": []string{"Bash"}, "auto_approve_tools": []string{"Bash"},
		"mcp": map[string]any{"x": map[string]any{"command": "sh"}},
	} {
		if got := f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, field: v}, header, value).status; got != http.StatusForbidden {
			t.Errorf("a session with %s %v: %d", field, v, got)
		}
	}
	for field, v := range map[string]any{"policy": "auto-approve", "permission_mode": "bypassPermissions"} {
		if got := f.do("PATCH", "/v1/sessions/"+own.ID, map[string]any{field: v}, header, value).status; got != http.StatusForbidden {
			t.Errorf("change %s to %v: %d", field, v, got)
		}
	}
	for field, v := range map[string]any{"permission_mode": "bypassPermissions", "auto_approve_tools": []string{"Bash"}, "auto_approve_tools_override": []string{"Bash"}} {
		if got := f.do("POST", "/v1/sessions/"+own.ID+"/turns", map[string]any{"prompt": "x", "options": map[string]any{field: v}}, header, value).status; got != http.StatusForbidden {
			t.Errorf("a turn with %s %v: %d", field, v, got)
		}
	}
}

func TestSecurityOneAnswerWins(t *testing.T) {
	t.Parallel()
	f, _, request := asking(t)
	var won, late atomic.Int32
	var wait sync.WaitGroup
	for i := range 8 {
		behavior := []string{"allow", "deny"}[i%2]
		wait.Go(func() {
			switch f.do("POST", request, map[string]any{"behavior": behavior}).status {
			case http.StatusOK:
				won.Add(1)
			case http.StatusConflict:
				late.Add(1)
			}
		})
	}
	wait.Wait()
	if won.Load() != 1 || late.Load() != 7 {
		t.Errorf("%d answers won, %d came late", won.Load(), late.Load())
	}
}

// A decision for another input than the one that was seen is none.
func TestSecurityDecisionsAreBoundToTheInput(t *testing.T) {
	t.Parallel()
	f, _, request := asking(t)
	if got := f.do("POST", request, map[string]any{"behavior": "allow", "input_hash": "0000"}).status; got < 400 || got >= 500 {
		t.Errorf("another input: %d", got)
	}
	f.do("POST", request, map[string]any{"behavior": "deny"}).want(http.StatusOK, nil)
}

// helperEnv makes this test binary a program that asks the server: URL, token.
const helperEnv = "HTTPAPI_SECURITY_CALL"

func TestSecurityHelper(t *testing.T) {
	call := strings.Fields(os.Getenv(helperEnv))
	if len(call) != 2 {
		t.Skip("runs only as another test's child")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, call[0], strings.NewReader(`{"behavior":"allow"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+call[1])
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	fmt.Printf("status=%d\n", res.StatusCode)
}

// An agent cannot answer its own request, raise its rights or make tokens, also
// with the admin token.
func TestSecurityAgentCannotAnswerItself(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("callers are known on Linux only")
	}
	f, _, request := asking(t)
	call := func(path string, env ...string) string {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSecurityHelper$")
		cmd.Env = append([]string{helperEnv + "=" + f.url + path + " " + f.token}, env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		_, rest, _ := strings.Cut(string(out), "status=")
		status, _, _ := strings.Cut(rest, "\n")
		return status
	}
	mark := guard.OwnerEnv + "=somebody"
	for _, path := range []string{request, "/v1/tokens", "/v1/trust"} {
		if got := call(path, mark); got != "403" && got != "422" {
			t.Errorf("an agent asks %s: %s", path, got)
		}
	}
	if got := call(request, mark); got != "403" {
		t.Errorf("an agent answers: %s", got)
	}
	if got := call(request); got != "200" {
		t.Errorf("a person's program answers: %s", got)
	}
}
