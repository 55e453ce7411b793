package uhp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/door/uhp"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/server/installation"
	"github.com/terret-dev/terret/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a server with the door, and a caller with a token.
type fixture struct {
	t               *testing.T
	dir, url, token string
	tokens          *access.Tokens
	server          *httpapi.Server
	requests        *http.Client
	open, shut      func() // another server on the same store
}

func newFixture(t *testing.T, s mock.Script) *fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	store, err := sqlite.Open(t.Context(), filepath.Join(home, "terret.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := access.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	token, err := tokens.AdminToken()
	if err != nil {
		t.Fatal(err)
	}
	drivers := []terret.Driver{lister{mock.New(s), s.Models}}
	e, err := engine.New(t.Context(), engine.Config{Store: store, Drivers: drivers})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, dir: dir, token: token, tokens: tokens}
	var hs *httptest.Server
	f.open = func() {
		sessions := &installation.Sessions{Sessions: assemble.Sessions{
			Engine: e, Store: store, Home: home, Roles: &assemble.Roles{}, Agents: assemble.NewAgents(drivers),
			Defaults: func(_ context.Context, s *terret.Session) {
				if s.Agent == "" {
					s.Agent = "mock"
				}
			},
		}}
		f.server, err = httpapi.New(httpapi.Config{
			Engine: e, Store: store, Tokens: tokens, Roots: []string{dir}, Home: home, Drivers: drivers, Sessions: sessions,
			Doors: []httpapi.Door{{
				Path: uhp.Path, Public: uhp.Public, OtherBody: uhp.OtherBody, Refuse: uhp.Refuse,
				Open: func(server http.Handler) httpapi.OpenDoor { return uhp.New(server, "test") },
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		hs = httptest.NewServer(f.server.Handler())
		f.url, f.requests = hs.URL+uhp.Path, hs.Client()
	}
	f.shut = func() {
		hs.CloseClientConnections()
		hs.Close()
		f.server.Close()
	}
	f.open()
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		f.shut()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// lister lists its models before it is opened, as the real agents do.
type lister struct {
	*mock.Driver

	models []terret.Model
}

func (l lister) Models(context.Context) ([]terret.Model, error) { return l.models, nil }

func (f *fixture) holding(scope access.Scope, session string) *fixture {
	f.t.Helper()
	secret, _, err := f.tokens.Create(f.t.Context(), access.Spec{Name: string(scope) + session, Scope: scope, Session: session})
	if err != nil {
		f.t.Fatal(err)
	}
	other := *f
	other.token = secret
	return &other
}

type object = map[string]any

type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

// send sends a request, and holds that the answer names the version.
func (f *fixture) send(method, path string, body any, header ...string) answer {
	f.t.Helper()
	res := f.request(method, path, body, header...)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	if got := res.Header.Get("UHP-Version"); got != "2026-08-11" {
		f.t.Errorf("%s %s: version %q", method, path, got)
	}
	return answer{f.t, res.StatusCode, res.Header, raw}
}

func (f *fixture) request(method, path string, body any, header ...string) *http.Response {
	f.t.Helper()
	var r io.Reader
	if raw, ok := body.([]byte); ok {
		r = bytes.NewReader(raw)
	} else if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			f.t.Fatal(err)
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, r)
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+f.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i+1] == "" {
			req.Header.Del(header[i])
		}
	}
	res, err := f.requests.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	return res
}

func (a answer) ok() object {
	a.t.Helper()
	var v object
	if a.status != 200 {
		a.t.Fatalf("%d %s", a.status, a.body)
	}
	if err := json.Unmarshal(a.body, &v); err != nil {
		a.t.Fatalf("%v in %s", err, a.body)
	}
	return v
}

// fails holds that the answer is an error in the protocol's form, which shows no path of
// the machine.
func (a answer) fails(status int, code string) object {
	a.t.Helper()
	var v struct{ Error object }
	if err := json.Unmarshal(a.body, &v); err != nil || a.status != status || v.Error["code"] != code || v.Error["message"] == "" || v.Error["type"] == "" {
		a.t.Errorf("%d %s, want %d %s", a.status, a.body, status, code)
	}
	for _, field := range []string{"param", "detail"} {
		if _, ok := v.Error[field]; !ok {
			a.t.Errorf("no %s in %s", field, a.body)
		}
	}
	if text, _ := v.Error["message"].(string); strings.Contains(text, "/tmp") || strings.Contains(text, "goroutine") {
		a.t.Errorf("it shows too much: %s", text)
	}
	return v.Error
}

func str(v object, path ...string) string {
	for _, p := range path[:len(path)-1] {
		v, _ = v[p].(object)
	}
	s, _ := v[path[len(path)-1]].(string)
	return s
}

// stream runs a task and reads its events. It holds what the protocol guarantees of their
// order.
func (f *fixture) stream(method, path string, body any) []object {
	f.t.Helper()
	res := f.request(method, path, body)
	defer res.Body.Close()
	if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") || res.Header.Get("Cache-Control") != "no-cache" {
		raw, _ := io.ReadAll(res.Body)
		f.t.Fatalf("%d %v %s", res.StatusCode, res.Header, raw)
	}
	var out []object
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var e object
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				f.t.Fatal(err)
			}
			out = append(out, e)
		}
	}
	return out
}

func (f *fixture) inOrder(events []object) {
	f.t.Helper()
	open, closed := map[string]bool{}, map[string]bool{}
	for i, e := range events {
		kind := str(e, "type")
		last := kind == "response.completed" || kind == "response.incomplete" || kind == "response.failed"
		if e["sequence_number"] != float64(i) || (kind == "response.created") != (i == 0) || last != (i == len(events)-1) {
			f.t.Errorf("event %d is %v", i, e)
		}
		id := str(e, "item_id")
		switch kind {
		case "response.output_item.added":
			open[str(e, "item", "id")] = true
			continue
		case "response.output_item.done":
			id = str(e, "item", "id")
		}
		if id == "" {
			continue
		}
		if !open[id] || closed[id] {
			f.t.Errorf("event %d is about an item that is not open: %v", i, e)
		}
		closed[id] = kind == "response.output_item.done"
	}
}

func edited(dir, name string) mock.Step {
	return mock.Step{Do: func(_ context.Context, cwd string) error {
		return os.WriteFile(filepath.Join(cwd, name), []byte("<b>"+dir), 0o600)
	}}
}

func told(name, change string) mock.Step {
	data, _ := json.Marshal(object{"path": name, "change": change})
	return mock.Step{Event: &mock.RawEvent{Kind: terret.KindFileChanged, Data: data}}
}

// TestTask holds that a task is the same while it runs, at its end and when it is read again.
func TestTask(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{
		{Think: "Hm."},
		{Text: "I will look."},
		{Tool: &mock.Tool{Name: "Read", Input: terret.JSON(`{"path":"a"}`), Result: "text"}},
		edited("x", "page.html"), told("page.html", "created"),
		{Text: "Done, see the page."},
		{Text: "Bye."},
		{Usage: &terret.UsageUpdate{Usage: terret.Usage{Input: 5, Output: 7, CacheRead: 2}}},
	}}})
	body := object{"input": "go", "stream": true, "metadata": object{"ticket": "7"}}
	events := f.stream("POST", "/v1/responses", body)
	f.inOrder(events)
	last, _ := events[len(events)-1]["response"].(object)
	again := f.send("GET", "/v1/responses/"+str(last, "id"), nil).ok()
	if diff := cmp.Diff(last, again); diff != "" {
		t.Errorf("read again it is another: %s", diff)
	}
	replayed := f.stream("GET", "/v1/responses/"+str(last, "id")+"?stream=true&starting_after=3", nil)
	if diff := cmp.Diff(events[4:], replayed); diff != "" {
		t.Errorf("the rest of the stream is another: %s", diff)
	}
	var types, deltas []string
	output, _ := last["output"].([]any)
	for _, it := range output {
		types = append(types, str(it.(object), "type"))
	}
	if want := []string{"reasoning", "message", "function_call", "function_call_output", "message", "message"}; !slices.Equal(types, want) {
		t.Errorf("output %v, want %v", types, want)
	}
	for _, e := range events {
		if e["type"] == "response.output_text.delta" {
			deltas = append(deltas, str(e, "delta"))
		}
	}
	if got := strings.Join(deltas, ""); got != "I will look.Done, see the page.Bye." {
		t.Errorf("streamed %q", got)
	}
	final := output[4].(object)["content"].([]any)[0].(object)
	cited := final["annotations"].([]any)
	if len(cited) != 1 || str(cited[0].(object), "filename") != "page.html" || !strings.HasPrefix(str(cited[0].(object), "download_url"), f.url+"/v1/containers/cntr_") {
		t.Errorf("cited %v", cited)
	}
	if more := output[5].(object)["content"].([]any)[0].(object)["annotations"].([]any); len(more) > 0 {
		t.Errorf("cited again %v", more)
	}
	if last["status"] != "completed" || str(last, "metadata", "ticket") != "7" || str(last, "metadata", "harness_id") != "chrn_agent_mock" || last["model"] == "" ||
		last["usage"].(object)["total_tokens"] != float64(14) {
		t.Errorf("response %v", last)
	}
	delete(body, "stream")
	plain := f.send("POST", "/v1/responses", body).ok()
	kinds := func(r object) (out []string) {
		for _, it := range r["output"].([]any) {
			out = append(out, str(it.(object), "type"))
		}
		return out
	}
	if diff := cmp.Diff(kinds(last), kinds(plain)); diff != "" || plain["status"] != "completed" {
		t.Errorf("without a stream it is another: %s", diff)
	}
	items := f.send("GET", "/v1/responses/"+str(last, "id")+"/input_items", nil).ok()
	if text := items["data"].([]any)[0].(object)["content"].([]any)[0].(object)["text"]; text != "go" {
		t.Errorf("input %v", items)
	}
}

// TestSession holds that a session continues with its harness, runs one task at a time, that
// a cancel stops it for good, and that nothing is left of it once it is deleted.
func TestSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "one"}}, {{Text: "begun"}, {Hang: true}}, {{Text: "three"}}}})
	one := f.send("POST", "/v1/responses", object{"input": "one"}).ok()
	id, session := str(one, "id"), str(one, "metadata", "session_id")
	next := object{"input": "two", "previous_response_id": id}

	other := f.send("POST", "/v1/harnesses", object{"name": "other", "base": "mock"}).ok()
	with := maps.Clone(next)
	with["metadata"] = object{"harness_id": str(other, "id")}
	f.send("POST", "/v1/responses", with).fails(409, "harness_mismatch")
	with["metadata"] = object{"harness_id": "chrn_nobody"}
	f.send("POST", "/v1/responses", with).fails(404, "harness_not_found")
	for _, unknown := range []string{"resp_x", "resp_" + strings.Repeat("0", 64), id[:len(id)-1] + "g", "../../v1/sessions"} {
		f.send("POST", "/v1/responses", object{"input": "x", "previous_response_id": unknown}).fails(404, "response_not_found")
	}

	next["background"] = true
	two := f.send("POST", "/v1/responses", next).ok()
	if two["status"] != "in_progress" || two["previous_response_id"] != id || str(two, "metadata", "session_id") != session {
		t.Errorf("second %v", two)
	}
	f.send("POST", "/v1/responses", object{"input": "x", "previous_response_id": id}).fails(409, "session_busy")
	f.send("DELETE", "/v1/responses/"+str(two, "id"), nil).fails(409, "session_busy")
	f.send("POST", "/v1/responses/"+id+"/cancel", nil).ok() // it has ended: nothing happens
	if got := f.send("GET", "/v1/responses/"+str(two, "id"), nil).ok(); got["status"] != "in_progress" {
		t.Errorf("the other task was stopped: %v", got)
	}
	f.send("POST", "/v1/responses/"+str(two, "id")+"/cancel", nil).ok()
	events := f.stream("GET", "/v1/responses/"+str(two, "id")+"?stream=true", nil) // until it has ended
	f.inOrder(events)
	end := events[len(events)-1]
	if end["type"] != "response.failed" || str(end, "response", "status") != "cancelled" || end["response"].(object)["error"] != nil || len(end["response"].(object)["output"].([]any)) == 0 {
		t.Errorf("cancelled %v", end)
	}
	f.send("POST", "/v1/responses/"+str(two, "id")+"/cancel", nil).ok()
	f.send("POST", "/v1/sessions/"+session+"/cancel", nil).ok()
	three := f.send("POST", "/v1/responses", object{"input": "three", "previous_response_id": str(two, "id")}).ok()
	if three["status"] != "completed" || str(three, "metadata", "session_id") != session {
		t.Errorf("third %v", three)
	}

	turns := f.send("GET", "/v1/sessions/"+session+"/turns", nil).ok()["turns"].([]any)
	var statuses []string
	for i, turn := range turns {
		statuses = append(statuses, str(turn.(object), "status"))
		if str(turn.(object), "response_id") != str([]object{one, two, three}[i], "id") {
			t.Errorf("turn %d is %v", i, turn)
		}
	}
	if !slices.Equal(statuses, []string{"completed", "cancelled", "completed"}) {
		t.Errorf("turns %v", statuses)
	}
	f.send("DELETE", "/v1/responses/"+id, nil).fails(409, "terret_part_of_session")
	lone := f.send("POST", "/v1/responses", object{"input": "lone"}).ok()
	page := f.send("GET", "/v1/sessions?limit=1&harness=chrn_agent_mock", nil).ok()
	if len(page["sessions"].([]any)) != 1 || page["next_cursor"] == nil {
		t.Errorf("first page %v", page)
	}
	page = f.send("GET", "/v1/sessions?limit=1&cursor="+str(page, "next_cursor"), nil).ok()
	if list := page["sessions"].([]any); len(list) != 1 || str(list[0].(object), "id") != session || page["next_cursor"] != nil {
		t.Errorf("last page %v", page)
	}
	f.send("DELETE", "/v1/responses/"+str(lone, "id"), nil).ok()
	f.send("GET", "/v1/responses/"+str(lone, "id"), nil).fails(404, "response_not_found")
	f.send("DELETE", "/v1/traces/"+session, nil).ok()
	f.send("GET", "/v1/sessions/"+session, nil).fails(404, "session_not_found")
	f.send("GET", "/v1/responses/"+id, nil).fails(404, "response_not_found")
	f.send("POST", "/v1/responses", next).fails(404, "response_not_found")
}

// TestBudgets holds that a task that a budget stopped is incomplete, and says which it was.
func TestBudgets(t *testing.T) {
	t.Parallel()
	tool := mock.Step{Tool: &mock.Tool{Name: "Read", Input: terret.JSON(`{}`), Result: "x"}}
	for reason, c := range map[string]struct {
		steps []mock.Step
		field string
	}{
		"timeout":           {[]mock.Step{{Text: "begun"}, {Hang: true}}, "timeout_seconds"},
		"max_output_tokens": {[]mock.Step{{Text: "begun"}, {Usage: &terret.UsageUpdate{Usage: terret.Usage{Output: 9}}}, {Hang: true}}, "max_output_tokens"},
		"max_step":          {[]mock.Step{{Text: "begun"}, tool, {Text: "more"}, tool, {Text: "most"}, tool, {Hang: true}}, "max_step"},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, mock.Script{Turns: [][]mock.Step{c.steps}})
			r := f.send("POST", "/v1/responses", object{"input": "go", c.field: 1}).ok()
			if r["status"] != "incomplete" || str(r, "incomplete_details", "reason") != reason || r["error"] != nil || len(r["output"].([]any)) == 0 {
				t.Errorf("%v", r)
			}
			if again := f.send("GET", "/v1/responses/"+str(r, "id"), nil).ok(); !cmp.Equal(r, again) {
				t.Errorf("read again: %v", again)
			}
			f.send("POST", "/v1/responses", object{"input": "go", c.field: 0}).fails(400, "invalid_input")
		})
	}
}

// TestFailed holds that a task that failed is told in its response, without paths.
func TestFailed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "begun"}, {Fail: terret.Errorf(terret.CodeModelError, "cannot reach https://internal.example/x with /home/me/key")}}}})
	r := f.send("POST", "/v1/responses", object{"input": "go"}).ok()
	if e := r["error"].(object); r["status"] != "failed" || e["type"] != "harness_error" || e["code"] != "provider_error" || e["message"] != "cannot reach (an address) with (a path)" {
		t.Errorf("%v", r)
	}
}

// TestKeys holds that a repeated request runs nothing again, also after a restart.
func TestKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "once"}}}})
	body := object{"input": "go"}
	var wait sync.WaitGroup
	ids := make([]string, 4)
	for i := range ids {
		wait.Go(func() { ids[i] = str(f.send("POST", "/v1/responses", body, "Idempotency-Key", "k").ok(), "id") })
	}
	wait.Wait()
	f.send("POST", "/v1/responses", object{"input": "other"}, "Idempotency-Key", "k").fails(400, "invalid_input")
	f.shut()
	f.open()
	ids = append(ids, str(f.send("POST", "/v1/responses", body, "Idempotency-Key", "k").ok(), "id"))
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("tasks %v", ids)
		}
	}
	if list := f.send("GET", "/v1/sessions", nil).ok()["sessions"].([]any); len(list) != 1 {
		t.Errorf("%d sessions", len(list))
	}
	if other := str(f.send("POST", "/v1/responses", body, "Idempotency-Key", "k2").ok(), "id"); other == ids[0] {
		t.Error("another key is the same task")
	}
	if other := str(f.holding(access.Prompt, "").send("POST", "/v1/responses", body, "Idempotency-Key", "k").ok(), "id"); other == ids[0] {
		t.Error("the key of another caller is the same task")
	}
}

// TestHarnesses holds that a harness is kept whole, is used, and cannot be what could not be
// used.
func TestHarnesses(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Overseen: true, Turns: [][]mock.Step{{{Text: "hi"}}}, Models: []terret.Model{{ID: "m1"}, {ID: "m2"}}})
	supported := f.send("POST", "/v1/harnesses", object{"base": "nobody"}).fails(422, "unsupported_base")["detail"].(object)["supported"]
	if !cmp.Equal(supported, []any{"mock"}) {
		t.Errorf("supported %v", supported)
	}
	bundle := object{"name": "way", "enabled": true, "files": []object{{"path": "SKILL.md", "content": "Like this."}, {"path": "a/b.bin", "content_b64": "AAEC"}, {"path": "empty", "content": ""}}}
	made := f.send("POST", "/v1/harnesses", object{
		"name": "Mine", "base": "mock", "default_model": "m1", "system_prompt": "Be brief.", "disabled_tools": []string{"WebSearch"}, "max_step": 5, "timeout_seconds": 60, "skills": []object{bundle},
		"mcp_servers": []object{{"name": "the vault", "url": "https://vault.example/mcp", "enabled": false, "auth": "canary", "headers": object{"X-Key": "canary"}}},
	})
	h := made.ok()
	at := "/v1/harnesses/" + str(h, "id")
	if got := f.send("GET", at, nil).ok(); !cmp.Equal(got, h) || strings.Contains(string(made.body), "canary") || got["maxStep"] != float64(5) || str(got["mcpServers"].([]any)[0].(object), "name") != "the_vault" {
		t.Errorf("made %s, got %v", made.body, got)
	}
	files := f.send("GET", at+"/skills/way/files", nil).ok()["files"]
	h["name"] = "Renamed"
	put := f.send("PUT", at, h).ok()
	if !cmp.Equal(put, h) || !cmp.Equal(f.send("GET", at+"/skills/way/files", nil).ok()["files"], files) {
		t.Errorf("sent back %v, got %v", h, put)
	}
	h["skills"] = []object{{"name": "way"}} // as one that was shown without its files
	f.send("PUT", at, h).ok()
	if got := f.send("GET", at+"/skills/way/files", nil).ok()["files"]; !cmp.Equal(got, files) || len(files.([]any)) != 3 {
		t.Errorf("files %v, were %v", got, files)
	}
	f.send("PUT", at, object{"base": "other"}).fails(409, "terret_conflict")
	f.send("PUT", "/v1/harnesses/chrn_agent_mock", object{"name": "x"}).fails(409, "terret_fixed_harness")

	prompt := f.holding(access.Prompt, "")
	r := prompt.send("POST", "/v1/responses", object{"input": "go", "metadata": object{"harness_id": str(h, "id")}}).ok()
	if r["model"] != "m1" || str(r, "metadata", "harness_id") != str(h, "id") {
		t.Errorf("ran %v", r)
	}
	if _, err := os.Stat(filepath.Join(f.dir, ".terret/given")); err != nil {
		t.Error(err)
	}
	before := len(f.send("GET", "/v1/sessions", nil).ok()["sessions"].([]any))
	f.send("POST", "/v1/responses", object{"input": "go", "model": "m9"}).fails(422, "model_unavailable")
	if after := len(f.send("GET", "/v1/sessions", nil).ok()["sessions"].([]any)); after != before {
		t.Errorf("what was refused has left a session: %d, were %d", after, before)
	}
	f.send("POST", "/v1/responses", object{"input": "go", "model": "m9", "metadata": object{"harness_id": str(h, "id")}}).fails(422, "model_unavailable")
	f.send("POST", "/v1/responses", object{"input": "go", "tools": []object{{"type": "function"}}}).fails(422, "terret_tools_unsupported")

	for name, skill := range map[string]object{
		"no manual": {"files": []object{{"path": "x.md", "content": ""}}},
		"outside":   {"files": []object{{"path": "SKILL.md", "content": ""}, {"path": "../../x", "content": ""}}},
		"absolute":  {"files": []object{{"path": "SKILL.md", "content": ""}, {"path": "/etc/x", "content": ""}}},
		"base64":    {"files": []object{{"path": "SKILL.md", "content_b64": "%"}}},
		"bomb":      {"files": []object{{"path": "SKILL.md", "content": strings.Repeat("x", 5<<20)}}},
		"nothing":   {},
	} {
		skill["name"] = "bad"
		f.send("POST", "/v1/harnesses", object{"name": name, "base": "mock", "skills": []object{skill}}).fails(400, "invalid_input")
	}
	prompt.send("POST", "/v1/harnesses", object{"base": "mock"}).fails(403, "insufficient_scope")
	prompt.send("DELETE", at, nil).fails(403, "insufficient_scope")
	f.send("DELETE", at, nil).ok()
	f.send("GET", at, nil).fails(404, "harness_not_found")
	prompt.send("POST", "/v1/responses", object{"input": "go", "metadata": object{"harness_id": str(h, "id")}}).fails(404, "harness_not_found")
	f.send("GET", "/v1/responses/"+str(r, "id"), nil).ok()
	prompt.send("POST", "/v1/responses", object{"input": "go", "previous_response_id": str(r, "id")}).ok()
}

// TestFiles holds that files come in by both ways, and that only what a session's turns
// changed comes out, as nothing that a browser would run.
func TestFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{edited("x", "page.html"), told("page.html", "created"), told("../outside", "created"), told("gone.txt", "deleted"), {Text: "done"}}}})
	upload := func(f *fixture, size int) answer {
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		part, err := w.CreateFormFile("file", "../../a\".txt")
		if err == nil {
			_, err = part.Write(bytes.Repeat([]byte("x"), size))
		}
		if err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return f.send("POST", "/v1/files", form.Bytes(), "Content-Type", w.FormDataContentType())
	}
	got := upload(f, 3).ok()
	if got["filename"] != "a.txt" || got["bytes"] != float64(3) {
		t.Errorf("uploaded %v", got)
	}
	if detail := upload(f, 20<<20+1).fails(413, "file_too_large")["detail"].(object); detail["max_bytes"] != float64(20<<20) {
		t.Errorf("detail %v", detail)
	}
	upload(f.holding(access.View, ""), 1).fails(403, "insufficient_scope")
	ask := func(parts ...object) object { return object{"input": []object{{"role": "user", "content": parts}}} }
	byID := ask(object{"type": "input_file", "file_id": str(got, "id")})
	f.holding(access.Prompt, "").send("POST", "/v1/responses", byID).fails(404, "file_not_found")
	data := "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte("inline"))
	r := f.send("POST", "/v1/responses", ask(object{"type": "input_text", "text": "see"}, object{"type": "input_file", "filename": "b.txt", "file_data": data}, object{"type": "input_file", "file_id": str(got, "id")})).ok()
	items := f.send("GET", "/v1/responses/"+str(r, "id")+"/input_items", nil)
	if !strings.Contains(string(items.body), "inline") || !strings.Contains(string(items.body), "xxx") {
		t.Errorf("input %s", items.body)
	}
	for _, bad := range []object{
		{"input": ""},
		{"input": 5},
		{},
		{"input": []object{}},
		ask(object{"type": "input_file", "file_data": "data:text/plain,x"}), ask(object{"type": "odd"}),
		ask(object{"type": "input_image", "image_url": "http://x.example/a.png"}),
		{"input": "x", "metadata": 7},
		{"input": "x", "metadata": object{"terret_cwd": "/etc"}},
	} {
		if a := f.send("POST", "/v1/responses", bad); a.status != 400 && a.status != 403 || !strings.Contains(string(a.body), `"code":"in`) {
			t.Errorf("%v: %d %s", bad, a.status, a.body)
		}
	}

	session := str(r, "metadata", "session_id")
	list := f.send("GET", "/v1/sessions/"+session+"/files", nil).ok()["files"].([]any)
	if len(list) != 1 || str(list[0].(object), "filename") != "page.html" {
		t.Fatalf("artifacts %v", list)
	}
	container, id := str(list[0].(object), "container_id"), str(list[0].(object), "id")
	at := "/v1/containers/" + container + "/files/"
	a := f.send("GET", at+id+"/content", nil)
	if string(a.body) != "<b>x" || a.header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") ||
		a.header.Get("Content-Disposition") != "attachment; filename=page.html" || !strings.Contains(a.header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%s %v", a.body, a.header)
	}
	f.send("GET", at+id+"/pdf", nil).fails(501, "preview_unavailable")
	if z := f.send("GET", "/v1/sessions/"+session+"/files/archive", nil); z.status != 200 || !bytes.HasPrefix(z.body, []byte("PK")) || !bytes.Contains(z.body, []byte("page.html")) {
		t.Errorf("archive %d %q", z.status, z.body)
	}
	for _, trick := range []string{"../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e%2fpage.html", "page.html", "file_" + strings.Repeat("0", 32), "%00"} {
		if a := f.send("GET", at+trick+"/content", nil); a.status != 404 && a.status != 400 || strings.Contains(string(a.body), "root:") {
			t.Errorf("%s: %d %s", trick, a.status, a.body)
		}
	}
	f.send("GET", "/v1/containers/cntr_x/files/"+id+"/content", nil).fails(404, "file_not_found")
	secret := filepath.Join(t.TempDir(), "secret")
	page := filepath.Join(f.dir, "page.html")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(page); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, page); err != nil {
		t.Fatal(err)
	}
	f.send("GET", at+id+"/content", nil).fails(404, "file_not_found")
}

// TestScopes holds that a caller sees and does what the token permits, and no more.
func TestScopes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "hi"}}}})
	mine, theirs := f.send("POST", "/v1/responses", object{"input": "mine"}).ok(), f.send("POST", "/v1/responses", object{"input": "theirs"}).ok()
	view := f.holding(access.View, "")
	view.send("GET", "/v1/responses/"+str(mine, "id"), nil).ok()
	view.send("POST", "/v1/responses", object{"input": "x"}).fails(403, "insufficient_scope")
	view.send("DELETE", "/v1/traces/"+str(mine, "metadata", "session_id"), nil).fails(403, "insufficient_scope")

	// Sharing is a token that may look at one session.
	at := "/v1/sessions/" + str(mine, "metadata", "session_id") + "/share"
	view.send("POST", at, nil).fails(403, "insufficient_scope")
	share := f.send("POST", at, nil).ok()
	f.send("POST", at, nil).fails(409, "terret_shared_already")
	if got := f.send("GET", at, nil).ok(); got["shared"] != true || got["token"] != nil {
		t.Errorf("shared %v", got)
	}
	guest := *f
	guest.token = str(share, "token")
	guest.send("GET", "/v1/responses/"+str(mine, "id"), nil).ok()
	other, session := str(theirs, "id"), str(theirs, "metadata", "session_id")
	container := strings.Replace(session, "hsess", "cntr_", 1)
	for _, c := range [][2]string{
		{"GET", "/v1/responses/" + other},
		{"POST", "/v1/responses/" + other + "/cancel"},
		{"DELETE", "/v1/responses/" + other},
		{"GET", "/v1/responses/" + other + "/input_items"},
		{"GET", "/v1/sessions/" + session},
		{"GET", "/v1/sessions/" + session + "/turns"},
		{"GET", "/v1/sessions/" + session + "/files"},
		{"POST", "/v1/sessions/" + session + "/cancel"},
		{"DELETE", "/v1/traces/" + session},
		{"POST", "/v1/sessions/" + session + "/share"},
		{"GET", "/v1/containers/" + container + "/files/x/content"},
	} {
		if a := guest.send(c[0], c[1], nil); a.status != 404 {
			t.Errorf("%s %s: %d %s", c[0], c[1], a.status, a.body)
		}
	}
	guest.send("POST", "/v1/responses", object{"input": "x", "previous_response_id": other}).fails(404, "response_not_found")
	guest.send("POST", "/v1/responses", object{"input": "x", "previous_response_id": str(mine, "id")}).fails(403, "insufficient_scope")
	if list := guest.send("GET", "/v1/sessions", nil).ok()["sessions"].([]any); len(list) != 1 {
		t.Errorf("sessions %v", list)
	}
	f.send("DELETE", at, nil).ok()
	guest.send("GET", "/v1/responses/"+str(mine, "id"), nil).fails(401, "invalid_credential")
}

// TestWay holds how the door answers what is no request of the protocol.
func TestWay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	if d := f.send("GET", "/v1/uhp", nil, "Authorization", "").ok(); d["conformance_class"] != "full" || d["protocol"] != "uhp" {
		t.Errorf("%v", d)
	}
	for _, c := range []struct {
		method, path string
		header       []string
		body         any
		status       int
		code         string
	}{
		{"GET", "/v1/uhp", []string{"UHP-Version", "1999-01-01"}, nil, 400, "unsupported_protocol_version"},
		{"GET", "/v1/harnesses", []string{"UHP-Version", "1999-01-01"}, nil, 400, "unsupported_protocol_version"},
		{"GET", "/v1/harnesses", []string{"Authorization", ""}, nil, 401, "missing_credential"},
		{"GET", "/v1/harnesses", []string{"Authorization", "Bearer nobody"}, nil, 401, "invalid_credential"},
		{"POST", "/v1/uhp", []string{"Authorization", ""}, nil, 401, "missing_credential"},
		{"GET", "/v1/harnesses", []string{"Origin", "https://evil.example"}, nil, 403, "insufficient_scope"},
		{"POST", "/v1/responses", []string{"Content-Type", "text/plain"}, []byte("x"), 415, "invalid_input"},
		{"POST", "/v1/responses", nil, []byte("{"), 400, "invalid_input"},
		{"POST", "/v1/responses", nil, bytes.Repeat([]byte(" "), 33<<20), 413, "file_too_large"},
		{"POST", "/v1/responses", nil, []byte(`{"input":[` + strings.Repeat("{},", 20_000) + `{}]}`), 413, "file_too_large"},
		{"PATCH", "/v1/responses", nil, nil, 405, "invalid_input"},
		{"GET", "/v1/nothing", nil, nil, 404, "terret_no_route"},
		{"GET", "/v1/sessions?limit=0", nil, nil, 400, "invalid_input"},
		{"GET", "/v1/sessions/%2e%2e", nil, nil, 400, "invalid_input"},
	} {
		f.send(c.method, c.path, c.body, c.header...).fails(c.status, c.code)
	}
	if a := f.send("GET", "/v1/uhp", nil, "UHP-Version", "2026-08-11"); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	models := f.send("GET", "/v1/models", nil).ok()
	if _, ok := models["backends"].(object)["mock"]; !ok {
		t.Errorf("%v", models)
	}
	f.send("GET", "/v1/harnesses/chrn_agent_mock/models", nil).ok()
	f.send("GET", "/v1/harnesses/chrn_nobody/models", nil).fails(404, "harness_not_found")
}
