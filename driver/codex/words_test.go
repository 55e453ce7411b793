package codex

import (
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

func runHook(t *testing.T, command, input string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "/bin/sh", "-c", command)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestPatchDiff(t *testing.T) {
	t.Parallel()
	patch := "*** Begin Patch\n*** Update File: /p/a.txt\n*** Move to: /p/b.txt\n@@\n one\n-two\n+zwei\n*** Add File: new\n+fresh\n*** Delete File: old\n*** End Patch\n"
	diff, paths := patchDiff(patch)
	if want := []string{"/p/a.txt", "/p/b.txt", "new", "old"}; !slices.Equal(paths, want) {
		t.Errorf("%v", paths)
	}
	want := "--- a/p/a.txt\n+++ b/p/a.txt\nrename to /p/b.txt\n@@\n one\n-two\n+zwei\n--- /dev/null\n+++ b/new\n@@\n+fresh\n--- a/old\n+++ /dev/null\n"
	if diff != want {
		t.Errorf("%s", diff)
	}
}

func TestReviewTarget(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		" ":            `{"type":"uncommittedChanges"}`,
		"base  main ":  `{"branch":"main","type":"baseBranch"}`,
		"commit abc":   `{"sha":"abc","type":"commit"}`,
		"base":         `{"instructions":"base","type":"custom"}`,
		"base of it":   `{"instructions":"base of it","type":"custom"}`,
		"commit":       `{"instructions":"commit","type":"custom"}`,
		"commit by me": `{"instructions":"commit by me","type":"custom"}`,
		"the tests":    `{"instructions":"the tests","type":"custom"}`,
	} {
		if got := string(seat.Encode(reviewTarget(args))); got != want {
			t.Errorf("%q: %s, want %s", args, got, want)
		}
	}
}

func TestToolFailures(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"status":"completed"}`:                                                                      "",
		`{"status":"completed","success":true}`:                                                       "",
		`{"status":"completed","success":false,"error":{"message":"no"}}`:                             "no",
		`{"status":"failed","success":true}`:                                                          "it failed",
		`{"type":"commandExecution","status":"failed","exitCode":2,"aggregatedOutput":" oh\n"}`:       "exit code 2: oh",
		`{"type":"fileChange","status":"failed","exitCode":2,"aggregatedOutput":" it does not fit "}`: "it does not fit",
	} {
		var it item
		if err := json.Unmarshal([]byte(text), &it); err != nil {
			t.Fatal(err)
		}
		if got := it.failure(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		`{"message":"no","additionalDetails":"really"}`: "no: really", `{"message":"no, really","additionalDetails":"really"}`: "no, really", `{"message":"no"}`: "no",
	} {
		var f turnFailure
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		if got := f.said(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestItems is what the calls of tools are named, and what the model thought.
func TestItems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"type":"commandExecution","command":"ls","cwd":"/p"}`:              `exec_command {"cmd":"ls"}`,
		`{"type":"commandExecution","command":"ls","cwd":"/q"}`:              `exec_command {"cmd":"ls","workdir":"/q"}`,
		`{"type":"mcpToolCall","server":"a","tool":"b","arguments":{"x":1}}`: `mcp__a__b {"x":1}`,
		`{"type":"dynamicToolCall","tool":"d","arguments":{"x":1}}`:          `d {"x":1}`,
		`{"type":"webSearch","query":"q"}`:                                   `web_search {"query":"q"}`,
		`{"type":"imageView","path":"/p/a.png"}`:                             `view_image {"path":"/p/a.png"}`,
		`{"type":"imageGeneration"}`:                                         `image_generation {}`,
		`{"type":"collabAgentToolCall","tool":"sendInput","prompt":"go"}`:    `send_input {"prompt":"go"}`,
		`{"type":"reasoning","summary":["a","b"]}`:                           "",
	} {
		var it item
		if err := json.Unmarshal([]byte(text), &it); err != nil {
			t.Fatal(err)
		}
		got := ""
		if c := callOf(it, "/p"); c != nil {
			got = c.name + " " + string(c.input)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for item, want := range map[string]string{
		`{"type":"reasoning","id":"r1","summary":["a","b"]}`:                 `{"type":"thinking","text":"a\n\nb"}`,
		`{"type":"reasoning","id":"r1","summary":["a"],"content":["c","d"]}`: `{"type":"thinking","text":"c\n\nd"}`,
		`{"type":"reasoning","id":"r1"}`:                                     "",
	} {
		tr := newTranslator()
		tr.thread = "root"
		tr.begin(terret.Settings{}, time.Time{})
		tr.hear("item/completed", json.RawMessage(`{"threadId":"root","item":`+item+`}`), nil, time.Time{})
		got := dump(tr.hear("turn/completed", json.RawMessage(`{"threadId":"root","turn":{"id":"t1","status":"completed"}}`), nil, time.Time{}))
		if !strings.Contains(got, want) || want == "" && strings.Contains(got, "message.complete") {
			t.Errorf("%s: %s", item, got)
		}
	}
}

// TestTokens is that what came from the cache counts once.
func TestTokens(t *testing.T) {
	t.Parallel()
	got := tokens{Input: 100, CacheRead: 60, CacheWrite: 30, Output: 7, Reasoning: 3}.usage()
	if want := (terret.Usage{Input: 10, CacheRead: 60, CacheWrite: 30, Output: 7, Reasoning: 3}); got != want {
		t.Errorf("%+v", got)
	}
	if got := (tokens{Input: 1, CacheRead: 2}).usage().Input; got != 0 {
		t.Errorf("%d", got)
	}
}

func TestToolNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"spawnAgent": "spawn_agent", "SendInput": "send_input", "wait": "wait", "": ""} {
		if got := snake(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for removed, config := range map[string]map[string]any{
		"": {"features.shell_tool": true, "web_search": "live"}, shellTool: {"features.shell_tool": false}, searchTool: {"web_search": "disabled"},
	} {
		want := slices.DeleteFunc(slices.Clone(toolNames), func(name string) bool { return name == removed })
		if got := (launch{config: config}).offered(); !slices.Equal(got, want) {
			t.Errorf("without %q: %v", removed, got)
		}
	}
}

// TestEndOfAnotherTurn is that only its own end ends a turn, and only once.
func TestEndOfAnotherTurn(t *testing.T) {
	t.Parallel()
	tr := newTranslator()
	tr.thread = "root"
	hear := func(method, params string) (ends int) {
		for _, ev := range tr.hear(method, json.RawMessage(params), []byte(params), time.Time{}) {
			if ev.Kind() == terret.KindTurnComplete {
				ends++
			}
		}
		return ends
	}
	const first, second = `{"threadId":"root","turn":{"id":"t1","status":"completed"}}`, `{"threadId":"root","turn":{"id":"t2","status":"completed"}}`
	var got []int
	got = append(got, hear("turn/completed", first)) // nothing is running
	tr.begin(terret.Settings{}, time.Time{})
	hear("turn/started", first)
	got = append(got, hear("turn/completed", second), hear("turn/completed", first), hear("turn/completed", first))
	tr.begin(terret.Settings{}, time.Time{})
	got = append(got, hear("turn/completed", first), hear("turn/completed", second)) // the id of the second is not known yet
	if want := []int{0, 0, 1, 0, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("ends: %v, want %v", got, want)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for failure, want := range map[string]terret.Error{
		`{"message":"x","codexErrorInfo":"unauthorized"}`:                                                         {Code: terret.CodeNotAuthenticated, HTTPStatus: 401},
		`{"message":"unexpected status 403 Forbidden: no"}`:                                                       {Code: terret.CodeNotAuthenticated, HTTPStatus: 403},
		`{"message":"Missing environment variable: X"}`:                                                           {Code: terret.CodeNotAuthenticated},
		`{"message":"x","codexErrorInfo":{"responseTooManyFailedAttempts":{"httpStatusCode":429}}}`:               {Code: terret.CodeRateLimited, HTTPStatus: 429, Retryable: true},
		`{"message":"x","codexErrorInfo":"usageLimitExceeded"}`:                                                   {Code: terret.CodeRateLimited, Retryable: true},
		`{"message":"x","codexErrorInfo":"serverOverloaded"}`:                                                     {Code: terret.CodeOverloaded, Retryable: true},
		`{"message":"x","codexErrorInfo":"modelNotFound"}`:                                                        {Code: terret.CodeModelNotFound, HTTPStatus: 404},
		`{"message":"x","codexErrorInfo":"internalServerError"}`:                                                  {Code: terret.CodeModelError, HTTPStatus: 500, Retryable: true},
		`{"message":"{\"error\":{\"type\":\"invalid_request_error\"}}"}`:                                          {Code: terret.CodeModelError, HTTPStatus: 400},
		`{"message":"x","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}}}`:                 {Code: terret.CodeConnectionFailed, Retryable: true},
		`{"message":"Connection failed: error sending request","codexErrorInfo":"other"}`:                         {Code: terret.CodeConnectionFailed, Retryable: true},
		`{"message":"x","codexErrorInfo":"of_a_later_version","additionalDetails":"and it is about the weather"}`: {Code: terret.CodeExecutionError},
		`{}`: {Code: terret.CodeExecutionError},
	} {
		var f turnFailure
		if err := json.Unmarshal([]byte(failure), &f); err != nil {
			t.Fatal(err)
		}
		got := f.asError()
		if got.Code != want.Code || got.HTTPStatus != want.HTTPStatus || got.Retryable != want.Retryable || got.Message == "" {
			t.Errorf("%s: %+v", failure, got)
		}
	}
	if (*turnFailure)(nil).asError().Message == "" {
		t.Error("a failure without words says nothing")
	}
}

func TestTOML(t *testing.T) {
	t.Parallel()
	args := hookArgs(`/bin/sh 'a: "b"' \`, []terret.Gate{terret.GateStop})
	want := `hooks.Stop=[{"hooks"=[{"command"="/bin/sh 'a: \"b\"' \\","timeout"=31622400,"type"="command"}]}]`
	if len(args) != 4 || args[3] != want {
		t.Errorf("%s", args)
	}
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	d := New(Config{Env: []string{"MY_TOKEN"}})
	r := terret.OpenRequest{
		Session: terret.Session{Cwd: "/p"},
		Env:     []string{"OPENAI_API_KEY=k", "MY_TOKEN=t", "OTHER_TOKEN=o", "CODEX_THREAD_ID=x", "PWD=/elsewhere", "LANG=C"},
	}
	l := d.launchOf(r, "", terret.Settings{})
	if want := []string{"OPENAI_API_KEY=k", "MY_TOKEN=t", "LANG=C", "PWD=/p"}; !slices.Equal(l.env, want) {
		t.Errorf("%v", l.env)
	}
	trust := func(l launch) string { return string(seat.Encode(l.config["projects"])) }
	if l.sandbox != noSandbox || trust(l) != `{"/p":{"trust_level":"untrusted"}}` || l.config["web_search"] != "disabled" {
		t.Errorf("%+v", l)
	}
	r.Trusted = true
	l = d.launchOf(r, workspaceWrite, terret.Settings{
		RemovedTools: []string{shellTool}, ApprovedTools: []string{searchTool}, Effort: "high", FallbackModel: "x",
		MCP: terret.JSON(`{"mcpServers":{"a":{"command":"c","args":["1"],"env":{"K":"v"}},"b":{"url":"http://x","headers":{"H":"v"}}}}`),
	})
	if trust(l) != `{"/p":{"trust_level":"trusted"}}` || l.config["features.shell_tool"] != false || l.config["web_search"] != nil ||
		l.config["model_reasoning_effort"] != "high" || len(l.warnings()) != 1 || slices.Contains(l.offered(), shellTool) {
		t.Errorf("%+v", l)
	}
	want := `{"a":{"args":["1"],"command":"c","default_tools_approval_mode":"approve","env":{"K":"v"}},"b":{"default_tools_approval_mode":"approve","http_headers":{"H":"v"},"url":"http://x"}}`
	if got := string(seat.Encode(l.config["mcp_servers"])); got != want {
		t.Errorf("%s", got)
	}
	if got := string(seat.Encode(l.config["sandbox_workspace_write"])); got != `{"exclude_slash_tmp":true,"exclude_tmpdir_env_var":true,"writable_roots":[]}` {
		t.Errorf("%s", got)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	d := New(Config{})
	for field, r := range map[string]terret.OpenRequest{
		"native_id":       {Session: terret.Session{NativeID: "../x"}},
		"permission_mode": {Session: terret.Session{PermissionMode: "yolo"}},
		"model":           {Session: terret.Session{Model: "-m"}},
		"effort":          {Settings: terret.Settings{Effort: "-e"}},
		"mcp":             {Settings: terret.Settings{MCP: terret.JSON("[]")}},
	} {
		if _, err := d.Open(t.Context(), r); terret.AsError(err).Field != field {
			t.Errorf("%s: %v", field, err)
		}
		if d.WarmKey(r) != "" {
			t.Errorf("%s: it could be prewarmed", field)
		}
	}
	if err := checkMode("yolo"); !strings.HasSuffix(err.Error(), "; use one of "+strings.Join(permissionModes, ", ")) {
		t.Error(err)
	}
	if _, err := inputOf([]terret.Block{terret.Text(strings.Repeat("x", maxPrompt+1))}); !strings.Contains(err.Error(), "1048576") {
		t.Error(err)
	}
	if _, err := inputOf([]terret.Block{{Type: terret.BlockDocument, MediaType: "application/pdf"}}); err == nil {
		t.Error("a document was taken")
	}
}

// TestHookWords is that a tool is the same for its hook, its item and the rules.
func TestHookWords(t *testing.T) {
	t.Parallel()
	shell := hookedCall(hookInput{Tool: "Bash", ToolID: "1", Input: json.RawMessage(`{"command":"ls"}`)})
	if shell.name != shellTool || string(shell.input) != `{"cmd":"ls"}` || string(nativeInput(shell.name, terret.JSON(`{"cmd":"pwd"}`))) != `{"command":"pwd"}` {
		t.Errorf("%+v", shell)
	}
	patch := hookedCall(hookInput{Tool: patchTool, ToolID: "2", Input: json.RawMessage(`{"command":"*** Add File: a\n+x\n"}`)})
	if string(nativeInput(patch.name, patch.input)) != `{"command":"*** Add File: a\n+x\n"}` || patch.paths[0] != "a" {
		t.Errorf("%+v", patch)
	}
	other := hookedCall(hookInput{Tool: "mcp__a__b", ToolID: "3", Input: json.RawMessage(`{"x":1}`)})
	if classOf(other.name) != terret.ClassMCP || string(nativeInput(other.name, other.input)) != `{"x":1}` {
		t.Errorf("%+v", other)
	}
	if hookKey("preToolUse", "pre-tool-use:0:/x/config.toml:call_1") != "call_1" || hookKey("stop", "stop:4:/x") != "stop" {
		t.Error("hooks are told apart wrongly")
	}
}

func TestNative(t *testing.T) {
	t.Parallel()
	for _, s := range []string{fakeID, fakeID + "@", fakeID + "@" + fakeID} {
		if n, err := parseNative(s); err != nil || n.String() != s {
			t.Errorf("%s: %v, %v", s, n, err)
		}
	}
}

const fakeID = "01a1df77-01af-7cd3-89e0-8cba7fa032f5"

func TestPlanUpdate(t *testing.T) {
	t.Parallel()
	tr := newTranslator()
	events := tr.hear("turn/plan/updated", json.RawMessage(`{"plan":[{"step":"a","status":"inProgress"},{"step":"b","status":"pending"}]}`), nil, time.Time{})
	got := dump(events)
	if got != `plan.update  {"entries":[{"text":"a","status":"in_progress"},{"text":"b","status":"pending"}]}`+"\n" {
		t.Error(got)
	}
}

// TestUntold is calls of which Codex says nothing before the next reply of the model.
func TestUntold(t *testing.T) {
	t.Parallel()
	for tool, fails := range map[string]bool{shellTool: true, patchTool: true, "update_plan": false} {
		tr := newTranslator()
		tr.begin(terret.Settings{}, time.Now())
		tr.call(toolCall{id: "1", name: tool, told: true, allowed: true})
		events := tr.hear("thread/tokenUsage/updated", json.RawMessage(`{"tokenUsage":{}}`), nil, time.Now())
		failures, posts := all[terret.ToolFailure](events), all[terret.ToolPost](events)
		if (len(failures) == 1 && failures[0].Error != "") != fails || len(failures)+len(posts) != 1 {
			t.Errorf("%s: %+v, %+v", tool, failures, posts)
		}
	}
}
