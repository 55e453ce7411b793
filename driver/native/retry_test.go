package native_test

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
)

func TestRetriesShow(t *testing.T) {
	t.Parallel()
	f, _ := simulated(t, `
steps:
  - answer: {error: {status: 500, message: Oops}}
  - answer: {error: {status: 529, message: Busy, retry_after: 2s}}
  - answer: {error: {status: 429, message: Slow down, retry_after: 1500ms}}
  - answer: {error: {status: 503, headers: {retry-after: nonsense}}}
  - answer: {drop: before}
  - answer: {text: recovered}
`)
	id := f.session(claude)
	events := f.run(id, "go")
	var statuses []int
	for i, r := range all[terret.Retry](events) {
		statuses = append(statuses, r.HTTPStatus)
		if r.Attempt != i+1 || r.Max != 6 || r.Error == "" {
			t.Errorf("%+v", r)
		}
	}
	if diff := cmp.Diff([]int{500, 529, 429, 503, 0}, statuses); diff != "" {
		t.Error(diff)
	}
	// What the provider asked for reached the backoff.
	if diff := cmp.Diff([]time.Duration{0, 2 * time.Second, 1500 * time.Millisecond, 0, 0}, f.pauses.after); diff != "" {
		t.Error(diff)
	}
	if end := last[terret.TurnComplete](t, events); end.Text != "recovered" || end.NumSteps != 1 {
		t.Errorf("%+v", end)
	}
	var states []terret.SessionState
	for _, s := range all[terret.SessionStateChange](events) {
		states = append(states, s.State)
	}
	if !slices.Contains(states, terret.SessionRetrying) {
		t.Errorf("states %v", states)
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int]time.Duration{1: 500 * time.Millisecond, 2: time.Second, 6: 16 * time.Second, 100: 16 * time.Second} {
		if got := native.DefaultBackoff(attempt, 0); got != want {
			t.Errorf("after attempt %d: %v", attempt, got)
		}
	}
	if got := native.DefaultBackoff(1, 20*time.Second); got != 20*time.Second {
		t.Errorf("what the provider asks: %v", got)
	}
	if got := native.DefaultBackoff(1, time.Hour); got != time.Minute {
		t.Errorf("at most: %v", got)
	}
}

// TestErrors has a table of what a provider answers, and what the turn ends with.
func TestErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		kind   terret.ErrorCode
		status int
		tries  int
		words  []string
	}{
		"401":              {"{error: {status: 401, message: invalid x-api-key}}", terret.CodeNotAuthenticated, 401, 1, []string{"ANTHROPIC_API_KEY", "invalid x-api-key"}},
		"403":              {"{error: {status: 403, message: not yours}}", terret.CodeNotAuthenticated, 403, 1, []string{"ANTHROPIC_API_KEY", "not yours"}},
		"402":              {"{error: {status: 402, message: no money}}", terret.CodeBilling, 402, 1, []string{"no money"}},
		"billing as 400":   {"{error: {status: 400, type: billing_error, message: no money}}", terret.CodeBilling, 400, 1, []string{"no money"}},
		"credit":           {"{error: {status: 400, message: Your credit balance is too low to go on.}}", terret.CodeBilling, 400, 1, nil},
		"400":              {"{error: {status: 400, message: 'messages: no'}}", terret.CodeModelError, 400, 1, []string{"messages: no"}},
		"404":              {"{error: {status: 404, message: 'model: claude-test'}}", terret.CodeModelNotFound, 404, 1, []string{"claude-test"}},
		"404 of a proxy":   {"{error: {status: 404}, garbage: <html>nothing here</html>}", terret.CodeConnectionFailed, 404, 1, []string{"nothing here", "ANTHROPIC_BASE_URL"}},
		"413":              {"{error: {status: 413, message: too large}}", terret.CodeModelError, 413, 1, []string{"too large"}},
		"429":              {"{error: {status: 429, message: slow down}}", terret.CodeRateLimited, 429, 6, []string{"slow down"}},
		"429 and no use":   {"{error: {status: 429, message: slow down, headers: {x-should-retry: 'false'}}}", terret.CodeRateLimited, 429, 1, nil},
		"400 and some use": {"{error: {status: 400, message: odd, headers: {x-should-retry: 'true'}}}", terret.CodeModelError, 400, 6, nil},
		"500":              {"{error: {status: 500, message: oops}}", terret.CodeModelError, 500, 6, []string{"oops"}},
		"502 of a proxy":   {"{error: {status: 502}, garbage: '<html>Bad Gateway</html>'}", terret.CodeModelError, 502, 6, []string{"Bad Gateway"}},
		"529":              {"{error: {status: 529, message: busy}}", terret.CodeOverloaded, 529, 6, []string{"busy"}},
		"529 in an answer": {"{text: I was, error: {status: 529, message: busy}}", terret.CodeOverloaded, 0, 6, []string{"busy"}},
		"400 in an answer": {"{text: I was, error: {status: 400, message: bad}}", terret.CodeModelError, 0, 1, []string{"bad"}},
		"HTML":             {"{garbage: <html>sign in</html>}", terret.CodeMalformedOutput, 0, 1, []string{"ANTHROPIC_BASE_URL"}},
		"a broken event":   {"{text: Hi, garbage: \"event: content_block_delta\\ndata: {\\\"type\\\": \\\"content_block\"}", terret.CodeMalformedOutput, 0, 6, nil},
		"an odd event":     {"{text: Hi, garbage: \"event: content_block_start\\ndata: {\\\"type\\\":\\\"content_block_start\\\",\\\"index\\\":7}\"}", terret.CodeMalformedOutput, 0, 6, nil},
		"no answer":        {"{drop: before}", terret.CodeConnectionFailed, 0, 6, []string{"ANTHROPIC_BASE_URL"}},
		"half an answer":   {"{text: I was about to, drop: mid}", terret.CodeConnectionFailed, 0, 6, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, got := simulated(t, "steps: [{repeat: forever, answer: "+c.answer+"}]")
			id := f.session(claude)
			events := f.run(id, "go")
			e := last[terret.TurnError](t, events)
			if e.Error.Code != c.kind || e.Error.HTTPStatus != c.status {
				t.Errorf("%+v", e.Error)
			}
			wantWords(t, e.Error.Message, c.words...)
			if n, retries := len(got.list()), len(all[terret.Retry](events)); n != c.tries || retries != c.tries-1 {
				t.Errorf("%d requests, %d retries", n, retries)
			}
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	t.Parallel()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := nobody.Addr().String()
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, setup{env: map[string]string{"ANTHROPIC_API_KEY": canary, "ANTHROPIC_BASE_URL": "http://" + address}})
	events := f.run(f.session(claude), "go")
	e := last[terret.TurnError](t, events).Error
	if e.Code != terret.CodeConnectionFailed || len(all[terret.Retry](events)) != 5 {
		t.Errorf("%+v", e)
	}
	wantWords(t, e.Message, address, "connection refused", "ANTHROPIC_BASE_URL")
}

// TestRetryAfterHalfAnAnswer holds what the log shows of an answer that broke off:
// deltas and the beginning of a call under an id of their own, and no message.
func TestRetryAfterHalfAnAnswer(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: one}, answer: {text: I was about to, tools: [{name: Bash, input: {command: echo lost}}], drop: mid, usage: {input: 5, output: 1}}}
  - {match: {user: one}, answer: {text: Here it is., usage: {input: 5, output: 3}}}
  - {match: {user: two}, answer: {text: fine}}
`)
	id := f.session(claude)
	events := f.run(id, "one")
	text := map[string]string{}
	var order []string
	for _, d := range all[terret.MessageDelta](events) {
		if text[d.MessageID] == "" {
			order = append(order, d.MessageID)
		}
		text[d.MessageID] += d.Text
	}
	messages := all[terret.MessageComplete](events)
	if len(order) != 2 || text[order[0]] != "I was about to" || text[order[1]] != "Here it is." || len(messages) != 1 || messages[0].MessageID != order[1] {
		t.Errorf("%v, %+v", text, messages)
	}
	start, fail := last[terret.ToolStart](t, events), last[terret.ToolFailure](t, events)
	if start.ToolID != fail.ToolID || !fail.Interrupted || start.MessageID != order[0] {
		t.Errorf("%+v, %+v", start, fail)
	}
	if diff := cmp.Diff("turn.start tool.start tool.failure retry message.complete turn.complete", story(events)); diff != "" {
		t.Error(diff)
	}
	// Both attempts are billed.
	if end := last[terret.TurnComplete](t, events); end.Text != "Here it is." || end.Usage.Input != 10 {
		t.Errorf("%+v", end)
	}
	f.says(id, "two")
	if diff := cmp.Diff([]string{"user one", "assistant Here it is.", "user two"}, spoken(got.nth(t, 2))); diff != "" {
		t.Error(diff)
	}
}

func TestStalledAnswerIsGivenUp(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - answer: {wait: 1h, text: never}
  - answer: {pieces: [half, ""], delay: 0s, drop: mid}
  - answer: {text: back}
`)
	f.driver.SetStallLimit(300 * time.Millisecond)
	events := f.run(f.session(claude), "go")
	wantWords(t, all[terret.Retry](events)[0].Error, "no data for too long")
	if end := last[terret.TurnComplete](t, events); end.Text != "back" || len(got.list()) != 3 {
		t.Errorf("%+v", end)
	}
}

func TestNoKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	e := last[terret.TurnError](t, f.run(f.session(claude), "go")).Error
	if e.Code != terret.CodeNotAuthenticated || e.Retryable {
		t.Errorf("%+v", e)
	}
	wantWords(t, e.Message, "ANTHROPIC_API_KEY", "--model demo")
	e = last[terret.TurnError](t, f.run(f.session(func(s *terret.Session) { s.Model = "openai/x" }), "go")).Error
	if e.Code != terret.CodeNotAuthenticated {
		t.Errorf("%+v", e)
	}
	wantWords(t, e.Message, "OpenAI", "OPENAI_API_KEY", "--model demo")
	for _, model := range []string{"gpt-7", "anthropic/", "nobody/x", "demo/x"} {
		e := last[terret.TurnError](t, f.run(f.session(func(s *terret.Session) { s.Model = model }), "go")).Error
		if e.Code != terret.CodeModelNotFound || !strings.Contains(e.Message, "demo") {
			t.Errorf("%s: %+v", model, e)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, "require_key: "+canary+"\nsteps: [{answer: {text: ok}}]", func(s *setup) {
		s.env["ANTHROPIC_AUTH_TOKEN"], s.env["ANTHROPIC_API_KEY"] = canary+"\n", ""
	})
	f.says(f.session(claude), "go")
	if h := got.list()[0].Headers; h["authorization"] == "" || h["x-api-key"] != "" {
		t.Errorf("%v", h)
	}
}

func TestBadAddress(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"localhost:8080", "ftp://example.org", "http://", "::", "/v1"} {
		f := newFixture(t, setup{env: map[string]string{"ANTHROPIC_API_KEY": canary, "ANTHROPIC_BASE_URL": base}})
		events := f.run(f.session(claude), "go")
		if e := last[terret.TurnError](t, events).Error; e.Code != terret.CodeInvalidRequest || !strings.Contains(e.Message, "ANTHROPIC_BASE_URL") || len(all[terret.Retry](events)) > 0 {
			t.Errorf("%s: %+v", base, e)
		}
	}
}
