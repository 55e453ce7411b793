package sim_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/terret-dev/terret/test/sim"
)

const twoSteps = "steps:\n  - answer: {text: one}\n  - answer: {text: two}\n"

func TestSideCallsOverHTTP(t *testing.T) {
	t.Parallel()
	srv, url := start(t, parse(t, "steps:\n  - answer: {text: one}\n"), sim.Options{})
	c := client(t)
	for _, stream := range []bool{false, true} {
		res, data, err := post(t, c, url+"/v1/messages?beta=true", without(body(stream, user("quota")), "tools"))
		if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(data, []byte("Scripted.")) {
			t.Errorf("%v: %s", err, data)
		}
	}
	res, data, err := post(t, c, url+"/v1/messages/count_tokens?beta=true", without(body(false, user("hello")), "max_tokens"))
	var count struct {
		InputTokens int `json:"input_tokens"`
	}
	if err != nil || res.StatusCode != http.StatusOK || json.Unmarshal(data, &count) != nil || count.InputTokens < 10 {
		t.Errorf("%v: %s", err, data)
	}
	if got := text(t, c, url, user("x")); got != "one" {
		t.Error(got)
	}
	if got := text(t, c, url, user("x")); !strings.HasPrefix(got, "400 invalid_request_error: sim: no step of test.yaml answers request 4") {
		t.Error(got)
	}
	if got := srv.Player().Unmatched(); len(got) != 1 {
		t.Error(got)
	}
}

// TestContextAfterTheText is what Claude Code sends.
func TestContextAfterTheText(t *testing.T) {
	t.Parallel()
	_, url := start(t, parse(t, "steps:\n  - {match: {user: /^hello$/}, answer: {text: 'got {{last}}'}}\n"), sim.Options{})
	block := func(text string) any { return map[string]any{"type": "text", "text": text} }
	got := text(t, client(t), url,
		message{"user", []any{block("<system-reminder>rules</system-reminder>"), block("hello")}},
		message{"user", []any{block("<system-reminder>skills</system-reminder>\n")}},
		message{"system", "agents"},
	)
	if got != "got hello" {
		t.Error(got)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	srv, url := start(t, parse(t, "models: [claude-test]\n"+twoSteps), sim.Options{})
	c := client(t)
	for _, test := range []struct {
		path string
		body any
		want string
	}{
		{"/v1/messages", "text", "400 invalid_request_error: The request body is not valid JSON"},
		{"/v1/messages", without(body(false, user("x")), "model"), "400 invalid_request_error: model: Field required"},
		{"/v1/messages", without(body(false, user("x")), "max_tokens"), "400 invalid_request_error: max_tokens: Field required"},
		{"/v1/messages", body(false), "400 invalid_request_error: messages: at least one"},
		{"/v1/messages", body(false, message{"user", 3}), "400 invalid_request_error: messages: content is neither"},
		{"/v1/messages", map[string]any{"model": "gone", "max_tokens": 1, "messages": []message{user("x")}}, "404 not_found_error: model: gone"},
		{"/v1/messages/count_tokens", body(false), "400 invalid_request_error: messages"},
		{"/v1/nosuch", body(false), "404 not_found_error: sim: nothing is served at POST /v1/nosuch"},
	} {
		res, data, err := post(t, c, url+test.path, test.body)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := textOf(t, res, data); !strings.HasPrefix(got, test.want) {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
	if got := srv.Player().Remaining(); len(got) != 2 {
		t.Errorf("bad requests used up steps; left: %v", got)
	}
}

func TestLargeBody(t *testing.T) {
	t.Parallel()
	_, url := start(t, parse(t, twoSteps), sim.Options{})
	if got := text(t, client(t), url, user(strings.Repeat("x", 3<<20))); got != "one" {
		t.Error(got)
	}
	// Whoever does not read the answer while sending sees a broken connection instead.
	got := text(t, client(t), url, user(strings.Repeat("x", 33<<20)))
	if !strings.HasPrefix(got, "413 request_too_large") && !strings.Contains(got, "/v1/messages") {
		t.Error(got)
	}
}

func get(t *testing.T, c *http.Client, method, url string, header http.Header) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

func TestOtherPaths(t *testing.T) {
	t.Parallel()
	_, url := start(t, parse(t, "models: [a, b]\n"+twoSteps), sim.Options{})
	c := client(t)
	for _, test := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"HEAD", "/", 200, ""},
		{"GET", "/", 200, ""},
		{"GET", "/v1/models?limit=1000", 200, `{"object":"list","data":[{"type":"model","id":"a","display_name":"a","created_at":"2026-01-01T00:00:00Z","object":"model","created":1767225600,"owned_by":"sim"},{"type":"model","id":"b","display_name":"b","created_at":"2026-01-01T00:00:00Z","object":"model","created":1767225600,"owned_by":"sim"}],"has_more":false,"first_id":"a","last_id":"b"}`},
		{"GET", "/v1/models/b", 200, `{"type":"model","id":"b","display_name":"b","created_at":"2026-01-01T00:00:00Z","object":"model","created":1767225600,"owned_by":"sim"}`},
		{"GET", "/v1/models/c", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: c"},"request_id":"req_sim_3"}`},
		{"POST", "/api/event_logging/batch", 200, "{}"},
		{"GET", "/api/claude_cli/bootstrap", 200, "{}"},
		{"GET", "/v1/messages", 404, `{"type":"error","error":{"type":"not_found_error","message":"sim: nothing is served at GET /v1/messages"},"request_id":"req_sim_6"}`},
	} {
		if status, got := get(t, c, test.method, url+test.path, nil); status != test.status || got != test.want {
			t.Errorf("%s %s: %d %s", test.method, test.path, status, got)
		}
	}
}

func TestRequireKey(t *testing.T) {
	t.Parallel()
	_, url := start(t, parse(t, "require_key: sk-1\n"+twoSteps), sim.Options{})
	c := client(t)
	for _, test := range []struct {
		header, value string
		status        int
		want          string
	}{
		{"X-Other", "", 401, "x-api-key header is required"},
		{"X-Api-Key", "sk-2", 401, `"type":"authentication_error","message":"invalid x-api-key"`},
		{"Authorization", "Bearer sk-2", 401, "invalid x-api-key"},
		{"X-Api-Key", "sk-1", 200, ""},
		{"Authorization", "Bearer sk-1", 200, ""},
	} {
		status, got := get(t, c, "GET", url+"/v1/models", http.Header{test.header: {test.value}})
		if status != test.status || !strings.Contains(got, test.want) {
			t.Errorf("%s: %d %s", test.value, status, got)
		}
	}
	if got := text(t, c, url, user("x")); got != "401 authentication_error: invalid x-api-key" {
		t.Error(got)
	}
}

func TestRecording(t *testing.T) {
	t.Parallel()
	var file, log bytes.Buffer
	srv, err := sim.NewServer(parse(t, twoSteps), sim.Options{Record: sim.RecordTo(&file), Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	running, err := srv.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, url := client(t), running.URL()
	text(t, c, url, user("first\nline"))
	post(t, c, url+"/v1/messages", without(body(true, user("title")), "tools"))
	post(t, c, url+"/v1/messages/count_tokens", body(false, user("x")))
	post(t, c, url+"/v1/messages?key=sk-canary", "text")
	text(t, c, url, user("x"))
	text(t, c, url, user("x"))
	if err := running.Close(); err != nil { // so that all is written
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "canary") || strings.Contains(file.String(), "canary") {
		t.Error("a key was written")
	}
	if got := strings.Count(log.String(), "\n"); got != 6 {
		t.Errorf("%d lines in the log", got)
	}
	var got []string
	for dec := json.NewDecoder(&file); ; {
		var r sim.Recorded
		if err := dec.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if r.Time.IsZero() || r.Headers["x-api-key"] != "(hidden)" || r.Headers["content-type"] != "application/json" || len(r.Body) == 0 {
			t.Errorf("%+v", r)
		}
		got = append(got, fmt.Sprintf("%d %s %s: %s %.20s", r.Number, r.Method, r.Path, r.Step, r.Error))
	}
	want := []string{
		"1 POST /v1/messages: step 1 (test.yaml:2:5) ",
		"2 POST /v1/messages: side call ",
		"3 POST /v1/messages/count_tokens: aside ",
		"4 POST /v1/messages:  400 Bad Request: The",
		"5 POST /v1/messages: step 2 (test.yaml:3:5) ",
		"6 POST /v1/messages: no step 400 Bad Request: sim",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestRecordingFails(t *testing.T) {
	t.Parallel()
	_, url := start(t, parse(t, twoSteps), sim.Options{Record: func(sim.Recorded) error { return errors.New("disk full") }})
	if got := text(t, client(t), url, user("x")); got != "500 api_error: sim: could not record the request: disk full" {
		t.Error(got)
	}
}

func TestLoopbackOnly(t *testing.T) {
	t.Parallel()
	srv, err := sim.NewServer(parse(t, twoSteps), sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{"", ":0", "0.0.0.0:0", "[::]:0", "example.com:80", "10.0.0.1:0", "127.0.0.1", "127.0.0.1:nosuch"} {
		if r, err := srv.Start(t.Context(), addr); err == nil {
			t.Errorf("listens on %s", r.URL())
			r.Close()
		}
	}
	for _, addr := range []string{"localhost:0", "127.0.0.1:0"} {
		r, err := srv.Start(t.Context(), addr)
		if err != nil {
			t.Error(err)
			continue
		}
		r.Close()
	}
}

// TestClose holds that closing cuts what is being said, and waits for it.
func TestClose(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"Close", "ctx"} {
		srv, err := sim.NewServer(parse(t, "steps:\n  - answer: {pieces: [a, b], delay: 1h}\n"), sim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		running, err := srv.Start(ctx, "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(body(true, user("x")))
		if err != nil {
			t.Fatal(err)
		}
		res, err := client(t).Post(running.URL()+"/v1/messages", "application/json", bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if by == "ctx" {
			cancel()
			<-running.Done()
		}
		var work sync.WaitGroup
		for range 3 {
			work.Go(func() {
				if err := running.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		if _, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) && err == nil {
			t.Errorf("%s: the answer ended well", by)
		}
		res.Body.Close()
		if _, err := client(t).Get(running.URL()); err == nil {
			t.Errorf("%s: still listening", by)
		}
	}
}

// TestClientGoesAway holds that a request ends when nobody waits for it.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	_, url := start(t, parse(t, "steps:\n  - answer: {pieces: [a, b], delay: 1h}\n  - answer: {text: fine}\n"), sim.Options{})
	c := client(t)
	data, err := json.Marshal(body(true, user("x")))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/messages", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); line != "event: message_start\n" {
		t.Fatal(line, err)
	}
	cancel()
	if got := text(t, c, url, user("x")); got != "fine" {
		t.Error(got)
	}
}

func TestParallelRequests(t *testing.T) {
	t.Parallel()
	srv, url := start(t, parse(t, "steps:\n  - {repeat: 50, answer: {text: a b c d, delay: 1us}}\n"), sim.Options{Record: sim.RecordTo(io.Discard)})
	c := client(t)
	var work sync.WaitGroup
	for range 10 {
		work.Go(func() {
			for range 5 {
				if got := text(t, c, url, user("x")); got != "a b c d" {
					t.Error(got)
				}
			}
		})
	}
	work.Wait()
	if got := srv.Player().Remaining(); len(got) > 0 {
		t.Error(got)
	}
}
