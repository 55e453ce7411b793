package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/guard"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

// nestingEnv makes this test binary an agent that calls the server: URL, token. It reads
// calls, "PATH BODY", one a line, and prints what is answered.
const nestingEnv = "HTTPAPI_NESTING_CALLS"

func TestNestingHelper(t *testing.T) {
	call := strings.Fields(os.Getenv(nestingEnv))
	if len(call) != 2 {
		t.Skip("runs only as another test's child")
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		path, body, _ := strings.Cut(lines.Text(), " ")
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, call[0]+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+call[1])
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		fmt.Printf("answer %d %s\n", res.StatusCode, strings.ReplaceAll(string(text), "\n", " "))
	}
}

// nestedAgent is a process inside an agent's tree.
type nestedAgent struct {
	t   *testing.T
	pid int
	in  io.WriteCloser
	out *bufio.Scanner
}

func (f *fixture) agent(token string) *nestedAgent {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), os.Args[0], "-test.run=^TestNestingHelper$")
	cmd.Env = []string{nestingEnv + "=" + f.url + " " + token, guard.OwnerEnv + "=somebody"}
	in, err := cmd.StdinPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	return &nestedAgent{f.t, cmd.Process.Pid, in, bufio.NewScanner(out)}
}

// call returns the status and the text of an answer.
func (a *nestedAgent) call(path, body string) (status, text string) {
	a.t.Helper()
	if _, err := fmt.Fprintf(a.in, "%s %s\n", path, body); err != nil {
		a.t.Fatal(err)
	}
	for a.out.Scan() {
		if rest, ok := strings.CutPrefix(a.out.Text(), "answer "); ok {
			status, text, _ = strings.Cut(rest, " ")
			return status, text
		}
	}
	a.t.Fatal("the agent has ended")
	return "", ""
}

func (a *nestedAgent) start(dir string) (id, text string) {
	a.t.Helper()
	status, text := a.call("/v1/sessions", `{"cwd":"`+dir+`"}`)
	var s terret.Session
	if err := json.Unmarshal([]byte(text), &s); err != nil || status != "201" {
		return "", text
	}
	return s.ID, text
}

// An agent with a token that lets programs prompt starts sessions within limits, and works
// with those alone.
func TestNesting(t *testing.T) {
	t.Parallel()
	spawn := &mock.RawEvent{Kind: terret.KindProcessSpawn}
	f := newFixture(t, script(mock.Step{Event: spawn}, mock.Step{Text: "Done."}), func(c *httpapi.Config, _ *engine.Config) {
		c.Nesting = config.Nesting{Depth: 1, Sessions: 2, MaxCostUSD: 3}
	})
	_, bearer := f.as("agents", access.Prompt, "")
	secret := strings.TrimPrefix(bearer, "Bearer ")
	agent, child := f.agent(secret), f.agent(secret)
	spawn.Data = terret.JSON(fmt.Sprintf(`{"argv":["mock"],"pid":%d}`, child.pid)) // of the first session

	person := f.session().ID
	for _, path := range []string{"/turns", "/fork", "/interrupt", "/handoff"} {
		if status, text := agent.call("/v1/sessions/"+person+path, `{"prompt":"go on","agent":"mock"}`); status != "403" || !strings.Contains(text, "only with sessions that agents have started") {
			t.Errorf("an agent does %s in a person's session: %s %s", path, status, text)
		}
	}
	if status, _ := agent.call("/v1/sessions", `{"cwd":"`+f.dir+`","policy":"auto-approve"}`); status != "403" {
		t.Errorf("an agent starts a session that asks nobody: %s", status)
	}

	first, text := agent.start(f.dir)
	if first == "" || !strings.Contains(text, `"max_cost_usd":3`) {
		t.Fatalf("an agent's session: %s", text)
	}
	if status, text := agent.call("/v1/sessions/"+first+"/turns", `{"prompt":"go on"}`); status != "202" {
		t.Errorf("an agent prompts its session: %s %s", status, text)
	}
	f.wait(first, terret.KindTurnComplete)
	if id, text := child.start(f.dir); id != "" || !strings.Contains(text, "1 deep") {
		t.Errorf("an agent of an agent starts a session: %s", text)
	}
	if second, text := agent.start(f.dir); second == "" {
		t.Errorf("the second session: %s", text)
	}
	if third, text := agent.start(f.dir); third != "" || !strings.Contains(text, "as many as there may be") {
		t.Errorf("the third session: %s", text)
	}
	f.do("DELETE", "/v1/sessions/"+first, nil).want(http.StatusNoContent, nil)
	if third, text := agent.start(f.dir); third == "" {
		t.Errorf("a session in place of one that is gone: %s", text)
	}
}

// A token that lets an agent do more is no way around what an agent may do, and neither is a
// preset that asks less.
func TestNestingByOtherTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Text: "Done."}))
	person := f.session().ID
	for _, scope := range []access.Scope{access.Prompt, access.Decide, access.Admin} {
		_, bearer := f.as("to "+string(scope), scope, "")
		agent := f.agent(strings.TrimPrefix(bearer, "Bearer "))
		for _, path := range []string{"/turns", "/undo", "/interrupt"} {
			if status, text := agent.call("/v1/sessions/"+person+path, `{"prompt":"go on"}`); status != "403" {
				t.Errorf("an agent with a token to %s does %s in a person's session: %s %s", scope, path, status, text)
			}
		}
	}
	var preset struct{ ID string }
	f.do("POST", "/v1/presets", map[string]any{"name": "free", "agent": "mock", "policy": "auto-approve"}).want(http.StatusCreated, &preset)
	_, bearer := f.as("agents", access.Prompt, "")
	agent := f.agent(strings.TrimPrefix(bearer, "Bearer "))
	if status, text := agent.call("/v1/sessions", `{"preset":"`+preset.ID+`","cwd":"`+f.dir+`"}`); status != "403" || !strings.Contains(text, "by a preset") {
		t.Errorf("an agent starts a session that asks nobody: %s %s", status, text)
	}
}
