package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

// foreign is a client that knows nothing of Terret but its address and one dialect.
type foreign struct {
	t *testing.T
	f *fixture
}

func (c foreign) call(method, path string, body, into any) int {
	c.t.Helper()
	res, err := c.f.client.Do(c.f.request(c.t.Context(), method, path, body))
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if into != nil {
		if err := json.NewDecoder(bytes.NewReader(b)).Decode(into); err != nil {
			c.t.Fatalf("%s %s: %v in %s", method, path, err, b)
		}
	}
	return res.StatusCode
}

// hiveClient is Hive's contract of an agent, as far as a conversation needs it.
type hiveClient struct{ foreign }

type hiveEvent struct {
	Type, SessionID string
	StatusPayload   struct{ Type string }
	Data            struct {
		ID        string
		Questions []struct {
			Question string
			Options  []struct{ Label string }
		}
		Permission, Result string
		Kind               string
		Part               struct{ Type, Tool, Text string }
		Role               string
	}
}

func (c hiveClient) capabilities() (out map[string]map[string]bool) {
	c.call("GET", "/v1/agents?view=hive", nil, &out)
	return out
}

// hiveModels are models as Hive lists them, by provider.
type hiveModels []struct {
	ID     string
	Models map[string]struct {
		ID, Name string
		Limit    struct{ Context, Output int64 }
	}
}

func (c hiveClient) getAvailableModels(agent string) (out hiveModels) {
	c.call("GET", "/v1/agents/"+agent+"/models?view=hive", nil, &out)
	return out
}

func (c hiveClient) sessionModels(session string) (out hiveModels) {
	c.call("GET", "/v1/sessions/"+session+"/models?view=hive", nil, &out)
	return out
}

func (c hiveClient) connect(agent string) string {
	var s struct{ ID string }
	c.call("POST", "/v1/sessions", map[string]any{"cwd": c.f.dir, "agent": agent, "policy": "ask"}, &s)
	return s.ID
}

func (c hiveClient) prompt(session, text string) int {
	return c.call("POST", "/v1/sessions/"+session+"/turns", map[string]any{"prompt": text}, nil)
}

// hiveDone is what Hive's calls return.
type hiveDone struct {
	Success         bool
	Error           string
	RevertMessageID string
	RestoredPrompt  string
	Messages        []struct {
		ID, Role string
		Parts    []struct{ Type, Text string }
	}
}

func (c hiveClient) does(method, session, what string, body any) (out hiveDone, status int) {
	status = c.call(method, "/v1/sessions/"+session+what+"?view=hive", body, &out)
	return out, status
}

// TestHiveCalls makes the calls of Hive that are not about decisions, in its words.
func TestHiveCalls(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hiveAgents(mock.Step{Do: writeFile}, mock.Step{Text: "done"}), func(_ *httpapi.Config, e *engine.Config) { e.Undo = engine.UndoLimits{} })
	c := hiveClient{foreign{t, f}}
	id := c.connect("claude-code")
	if out, status := c.does("POST", id, "/turns", map[string]any{"prompt": "go"}); !out.Success || status != http.StatusAccepted {
		t.Fatalf("prompt: %d %+v", status, out)
	}
	for ev, err := range f.events("/v1/sessions/" + id + "/events?kinds=turn.complete") {
		if err != nil || ev.Name != "turn.complete" {
			t.Fatal(ev.Name, err)
		}
		break
	}
	out, _ := c.does("GET", id, "/messages", nil)
	if !out.Success || len(out.Messages) != 2 || out.Messages[0].Role != "user" || out.Messages[1].Parts[0].Text != "done" {
		t.Errorf("messages: %+v", out)
	}
	if out, status := c.does("POST", id, "/interrupt", nil); out.Success || out.Error == "" || status != http.StatusConflict {
		t.Errorf("abort of nothing: %d %+v", status, out)
	}
	if out, _ := c.does("PATCH", id, "", map[string]any{"title": "A name"}); !out.Success {
		t.Errorf("rename: %+v", out)
	}
	prompted := out.Messages[0].ID
	if out, _ := c.does("POST", id, "/undo", nil); !out.Success || out.RestoredPrompt != "go" || out.RevertMessageID != prompted {
		t.Errorf("undo: %+v, of %s", out, prompted)
	}
	if out, status := c.does("GET", "ses_none", "/messages", nil); out.Success || status != http.StatusNotFound {
		t.Errorf("no session: %d %+v", status, out)
	}
	if _, status := c.does("GET", id, "/turns", nil); status != http.StatusUnprocessableEntity {
		t.Errorf("a route without this dialect: %d", status)
	}
}

func (c hiveClient) permissionList(session string) (out []hiveEvent) {
	c.call("GET", "/v1/decisions?view=hive&session="+session, nil, &out)
	return out
}

func (c hiveClient) reply(request string, body any) int {
	return c.call("POST", "/v1/decisions/"+request+"?view=hive", body, nil)
}

func (c hiveClient) permissionReply(request, reply string) int {
	return c.reply(request, map[string]any{"reply": reply})
}

func (c hiveClient) questionReply(request string, answers ...[]string) int {
	return c.reply(request, map[string]any{"answers": answers})
}

func (c hiveClient) questionReject(request string) int {
	return c.reply(request, map[string]any{"rejected": true})
}

// modelled is an agent with models, which it offers without a session.
type modelled struct {
	terret.Driver
	models []terret.Model
}

func (d modelled) Models(_ context.Context) ([]terret.Model, error) { return d.models, nil }

func (d modelled) Probe(ctx context.Context) (terret.Probe, error) {
	return d.Driver.(terret.Prober).Probe(ctx)
}

func (d modelled) Describe() terret.Description { return terret.DescriptionOf(d.Driver) }

// hiveAgents are two agents that follow the script, by the names that Hive knows.
func hiveAgents(steps ...mock.Step) option {
	return func(_ *httpapi.Config, e *engine.Config) {
		e.Drivers = nil
		for name, models := range map[string][]terret.Model{
			"claude":   {{ID: "opus", Name: "Opus", Context: 200_000, MaxOutput: 32_000}},
			"opencode": {{ID: "anthropic/opus"}, {ID: "openai/gpt"}},
		} {
			d := mock.NewFunc(name, func(terret.Session) mock.Script { return mock.Script{Turns: [][]mock.Step{steps}, Models: models} })
			e.Drivers = append(e.Drivers, modelled{d, models})
		}
	}
}

// TestHiveClient holds a conversation in Hive's dialect alone: it is told what happens,
// answers a permission, two questions and a plan, and learns what agents and models
// there are.
func TestHiveClient(t *testing.T) {
	t.Parallel()
	question := func(id string) mock.Step {
		return mock.Step{Question: &terret.Question{ID: id, Text: "Which " + id + "?", Options: []terret.Option{{Label: "red"}, {Label: "blue"}}}}
	}
	f := newFixture(t, hiveAgents(
		mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true, Result: "a.go"}},
		question("colour"), question("shape"), mock.Step{Plan: "1. Do it."}, mock.Step{Text: "done"},
	))
	c := hiveClient{foreign{t, f}}
	for agent, table := range c.capabilities() {
		if !slices.Contains([]string{"claude-code", "opencode"}, agent) || len(table) != 8 || !table["supportsPermissionRequests"] || table["supportsRedo"] {
			t.Errorf("%s: %v", agent, table)
		}
	}
	if m := c.getAvailableModels("opencode"); len(m) != 2 || m[0].ID != "anthropic" || m[1].Models["gpt"].Name != "gpt" {
		t.Errorf("models of OpenCode: %+v", m)
	}
	if m := c.getAvailableModels("claude-code"); len(m) != 1 || m[0].ID != "claude-code" || m[0].Models["opus"].Limit.Context != 200_000 || m[0].Models["opus"].Limit.Output != 32_000 {
		t.Errorf("models of Claude: %+v", m)
	}
	if m := c.sessionModels(c.connect("opencode")); len(m) != 2 || m[0].ID != "anthropic" || m[1].Models["gpt"].Name != "gpt" {
		t.Errorf("models of a session of OpenCode: %+v", m)
	}

	id := c.connect("claude-code")
	if status := c.prompt(id, "go"); status != http.StatusAccepted {
		t.Fatalf("prompt: %d", status)
	}
	var told []string
	busy := false // once the prompt is there, until the turn ends
	for ev, err := range f.events("/v1/sessions/" + id + "/events?view=hive") {
		if err != nil {
			t.Fatal(err)
		}
		var e hiveEvent
		if err := json.Unmarshal(ev.Data, &e); err != nil {
			t.Fatal(err)
		}
		if e.Type == "session.status" {
			busy = busy || e.StatusPayload.Type == "busy"
		}
		answered := 0
		switch e.Type {
		case "permission.asked":
			if list := c.permissionList(id); len(list) != 1 || list[0].Data.ID != e.Data.ID || list[0].Type != e.Type || list[0].SessionID != id {
				t.Errorf("open: %+v", list)
			}
			answered = c.permissionReply(e.Data.ID, "once")
		case "question.asked":
			if strings.Contains(e.Data.Questions[0].Question, "colour") {
				answered = c.questionReply(e.Data.ID, []string{e.Data.Questions[0].Options[1].Label})
			} else {
				answered = c.questionReject(e.Data.ID)
			}
		case "plan.ready":
			answered = c.reply(e.Data.ID, map[string]any{"approved": true})
		}
		if answered != 0 {
			if answered != http.StatusOK || !busy {
				t.Fatalf("%s was answered with %d, busy %v", e.Type, answered, busy)
			}
			told = append(told, e.Type)
			if status := c.permissionReply(e.Data.ID, "once"); status == http.StatusOK {
				t.Errorf("%s was answered twice", e.Type)
			}
		}
		if strings.HasSuffix(e.Type, "ed") && (strings.HasPrefix(e.Type, "permission.re") || strings.HasPrefix(e.Type, "question.re") || strings.HasPrefix(e.Type, "plan.re")) {
			told = append(told, e.Type)
		}
		if e.Type == "session.completed" {
			if e.Data.Result != "done" || e.StatusPayload.Type != "idle" {
				t.Errorf("the end is %s", ev.Data)
			}
			break
		}
	}
	want := []string{
		"permission.asked", "permission.replied", "question.asked", "question.replied", "question.asked", "question.rejected", "plan.ready", "plan.resolved",
	}
	if d := cmp.Diff(want, told); d != "" {
		t.Error(d)
	}
	if list := c.permissionList(id); len(list) != 0 {
		t.Errorf("still open: %+v", list)
	}
	var answers []string
	for ev := range f.events("/v1/sessions/" + id + "/events?kinds=question.decision,turn.complete") {
		if ev.Name == "turn.complete" {
			break
		}
		answers = append(answers, string(ev.Data))
	}
	if len(answers) != 2 || !strings.Contains(answers[0], `"blue"`) || !strings.Contains(answers[1], `"reject"`) {
		t.Errorf("the agent heard %v", answers)
	}
}

// TestHiveMessages is Hive's prompt, abort and getMessages: what was said can be read, and
// an aborted turn ends with an error after which the session is idle.
func TestHiveMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(
		mock.Step{Text: "I begin."},
		mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true, Result: "a.go"}},
	))
	c := hiveClient{foreign{t, f}}
	id := f.session(func(b map[string]any) { b["policy"] = "ask" }).ID
	if status := c.prompt(id, "go"); status != http.StatusAccepted {
		t.Fatalf("prompt: %d", status)
	}
	var end hiveEvent
	for ev, err := range f.events("/v1/sessions/" + id + "/events?view=hive") {
		end = hiveEvent{}
		if err == nil {
			err = json.Unmarshal(ev.Data, &end)
		}
		if err != nil {
			t.Fatal(err)
		}
		if end.Type == "permission.asked" {
			if status := c.call("POST", "/v1/sessions/"+id+"/interrupt", nil, nil); status != http.StatusOK {
				t.Fatalf("abort: %d", status)
			}
		}
		if end.Type == "session.error" || end.Type == "session.completed" {
			break
		}
	}
	if end.Type != "session.error" || end.Data.Kind != "interrupted" || end.StatusPayload.Type != "idle" {
		t.Errorf("the aborted turn ended with %+v", end)
	}
	var messages struct {
		Items []struct {
			Role   string
			Blocks []struct{ Type, Text, Name string }
		}
	}
	c.call("GET", "/v1/sessions/"+id+"/messages", nil, &messages)
	var said []string
	for _, m := range messages.Items {
		for _, b := range m.Blocks {
			said = append(said, strings.TrimSpace(m.Role+" "+b.Type+" "+b.Text+b.Name))
		}
	}
	if len(said) < 2 || said[0] != "user text go" || said[1] != "assistant text I begin." {
		t.Errorf("messages: %q", said)
	}
}

// TestAthenaClient holds a conversation in Athena's dialect alone: every event that
// expects a decision gets one by sendDecision. Nobody waits when the subagent stops, so that
// event expects none.
func TestAthenaClient(t *testing.T) {
	t.Parallel()
	tool := func(command string) mock.Step {
		return mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"` + command + `"}`), Ask: true, Result: "ok"}}
	}
	f := newFixture(t, script(tool("ls"), mock.Step{Gate: terret.GateSubagentStop}, tool("rm -rf x"), mock.Step{Question: &terret.Question{ID: "q", Text: "Which?"}}, mock.Step{Gate: terret.GateStop}, mock.Step{Text: "done"}))
	c := foreign{t, f}
	s := f.session(func(b map[string]any) { b["policy"] = "ask" })
	f.prompt(s.ID, "go")
	sendDecision := func(request string, decision map[string]any) int {
		return c.call("POST", "/v1/decisions/"+request+"?view=athena", map[string]any{"type": "decision", "requestId": request, "decision": decision}, nil)
	}
	intent := func(kind string, more ...any) map[string]any {
		in := map[string]any{"kind": kind}
		for i := 0; i+1 < len(more); i += 2 {
			in[more[i].(string)] = more[i+1]
		}
		return map[string]any{"type": "json", "source": "user", "intent": in}
	}
	var kinds []string
	for ev, err := range f.events("/v1/sessions/" + s.ID + "/events?view=athena&gates=stop") {
		if err != nil {
			t.Fatal(err)
		}
		var e struct {
			ID, Kind, ToolName string
			Data               json.RawMessage
			Interaction        struct{ ExpectsDecision bool }
		}
		if err := json.Unmarshal(ev.Data, &e); err != nil {
			t.Fatal(err)
		}
		if !e.Interaction.ExpectsDecision {
			continue
		}
		kinds = append(kinds, e.Kind)
		decision := intent("permission_allow")
		switch {
		case e.Kind == "stop.request":
			decision = map[string]any{"type": "passthrough", "source": "user"}
		case strings.Contains(string(e.Data), "rm -rf"):
			decision = intent("permission_deny", "reason", "too much")
		case strings.Contains(string(e.Data), "Which?"):
			decision = intent("question_answer", "answers", map[string]any{"Which?": "that"})
		}
		if status := sendDecision(e.ID, map[string]any{"type": "json", "source": "user"}); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: a decision without intent: %d", e.Kind, status)
		}
		if status := sendDecision(e.ID, decision); status != http.StatusOK {
			t.Fatalf("%s: %d", e.Kind, status)
		}
		if e.Kind == "stop.request" {
			break
		}
	}
	f.wait(s.ID, terret.KindTurnComplete)
	var decided []string
	var p terret.Page[terret.Request]
	f.do("GET", "/v1/decisions?state=all&session="+s.ID, nil).want(200, &p)
	for _, r := range p.Items {
		decided = append(decided, string(r.Gate)+" "+string(r.Decision.Behavior)+" "+r.Decision.Reason)
		if r.Gate != terret.GateSubagentStop && (r.Decision.Source != terret.ByUser || r.Decision.By == "") {
			t.Errorf("decided by %+v", r.Decision)
		}
	}
	want := []string{"permission allow ", "subagent_stop passthrough ", "permission deny too much", "question answer ", "stop passthrough "}
	if d := cmp.Diff(want, decided); d != "" {
		t.Errorf("%s\n%v", d, kinds)
	}
}

// TestDialects holds that a dialect gives no more rights, and that an unknown one is
// said to be.
func TestDialects(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true}}))
	s := f.session(func(b map[string]any) { b["policy"] = "ask" })
	f.prompt(s.ID, "go")
	at := "/v1/decisions/" + f.wait(s.ID, terret.KindPermissionRequest).Expects.RequestID
	once, always := map[string]any{"reply": "once"}, map[string]any{"reply": "always"}
	for _, path := range []string{at + "?view=klingon", at + "?view="} {
		f.do("POST", path, once).problem(422, terret.CodeInvalidRequest, "view")
	}
	for _, path := range []string{"/v1/agents?view=athena", "/v1/agents/mock/models?view=x", "/v1/decisions?view=athena"} {
		f.do("GET", path, nil).problem(422, terret.CodeInvalidRequest, "view")
	}
	f.do("POST", at+"?view=hive", map[string]any{"reply": "perhaps"}).problem(422, terret.CodeInvalidRequest, "reply")
	f.do("POST", at+"?view=athena", "{").problem(422, terret.CodeInvalidRequest, "decision")
	f.holding("reader", access.View, "").do("POST", at+"?view=hive", once).problem(403, terret.CodeForbidden, "")
	f.holding("decider", access.Decide, "").do("POST", at+"?view=hive", always).problem(403, terret.CodeForbidden, "")
	f.holding("other", access.Decide, f.session().ID).do("POST", at+"?view=hive", once).problem(404, terret.CodeNotFound, "")
	f.holding("decider2", access.Decide, "").do("POST", at+"?view=hive", once).want(200, nil)
}
