package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/sse"
)

// gate is a step that waits until it is opened.
type gate chan struct{}

func (g gate) step() mock.Step {
	return mock.Step{Do: func(ctx context.Context, _ string) error {
		select {
		case <-g:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}}
}

// TestHeldQueue stops a turn while another prompt waits: it is held until it is sent on.
func TestHeldQueue(t *testing.T) {
	t.Parallel()
	f := newFixture(t, turns([]mock.Step{{Text: "first"}, make(gate).step()}, []mock.Step{{Text: "next"}}))
	s := f.session()
	at := "/v1/sessions/" + s.ID
	f.prompt(s.ID, "one")
	f.wait(s.ID, "message.complete")
	var queued terret.Turn
	f.do("POST", at+"/turns", map[string]any{"prompt": "two", "when": "queue"}).want(202, &queued)
	f.do("POST", at+"/interrupt", nil).want(200, nil)
	f.wait(s.ID, "turn.error")
	f.do("GET", at+"/queue/"+queued.ID, nil).want(200, &queued)
	if !queued.Held {
		t.Errorf("queued %+v", queued)
	}
	f.do("POST", at+"/queue/send", map[string]any{"turn": "trn_x"}).problem(404, terret.CodeNotFound, "")
	f.do("POST", at+"/queue/send", map[string]any{"turn": queued.ID}).want(204, nil)
	f.wait(s.ID, "turn.complete")
}

func TestBusy(t *testing.T) {
	t.Parallel()
	g := make(gate)
	f := newFixture(t, turns([]mock.Step{{Text: "first"}, g.step()}, []mock.Step{{Text: "next"}}))
	s := f.session()
	turns, queue := "/v1/sessions/"+s.ID+"/turns", "/v1/sessions/"+s.ID+"/queue"
	f.prompt(s.ID, "one")
	f.wait(s.ID, "message.complete")
	f.do("POST", turns, map[string]any{"prompt": "two"}).problem(409, terret.CodeSessionBusy, "")
	var queued [3]terret.Turn
	for i, text := range []string{"a", "b", "c"} {
		f.do("POST", turns, map[string]any{"prompt": text, "when": "queue"}).want(202, &queued[i])
		if queued[i].State != terret.TurnQueued {
			t.Errorf("queued %+v", queued[i])
		}
	}
	order := func() string {
		var p terret.Page[terret.Turn]
		f.do("GET", queue, nil).want(200, &p)
		var out []string
		for _, q := range p.Items {
			out = append(out, terret.TextOf(q.Prompt))
		}
		return strings.Join(out, " ")
	}
	if got := order(); got != "a b c" {
		t.Errorf("queue %q", got)
	}
	f.do("PATCH", queue+"/"+queued[2].ID, map[string]any{"before": queued[0].ID}).want(200, nil)
	f.do("PATCH", queue+"/"+queued[1].ID, map[string]any{"prompt": "B"}).want(200, nil)
	f.do("PATCH", queue+"/"+queued[0].ID, map[string]any{"before": "end"}).want(200, nil)
	if got := order(); got != "c B a" {
		t.Errorf("queue %q", got)
	}
	var one terret.Turn
	f.do("GET", queue+"/"+queued[1].ID, nil).want(200, &one)
	if terret.TextOf(one.Prompt) != "B" {
		t.Errorf("queued %+v", one)
	}
	f.do("PATCH", queue+"/"+queued[1].ID, map[string]any{}).problem(422, terret.CodeInvalidRequest, "body")
	f.do("PATCH", queue+"/"+queued[1].ID, map[string]any{"before": "trn_x"}).problem(422, terret.CodeInvalidRequest, "before")
	f.do("PATCH", queue+"/trn_x", map[string]any{"before": "end"}).problem(404, terret.CodeNotFound, "")
	f.do("DELETE", queue+"/trn_x", nil).problem(404, terret.CodeNotFound, "")
	other := f.session()
	f.do("DELETE", "/v1/sessions/"+other.ID+"/queue/"+queued[0].ID, nil).problem(404, terret.CodeNotFound, "")
	f.do("DELETE", queue+"/"+queued[0].ID, nil).want(204, nil)
	f.do("DELETE", queue+"/"+queued[0].ID, nil).problem(404, terret.CodeNotFound, "")
	if got := order(); got != "c B" {
		t.Errorf("queue %q", got)
	}
	f.do("DELETE", queue, nil).want(204, nil)
	if got := order(); got != "" {
		t.Errorf("queue %q", got)
	}

	f.do("POST", turns, map[string]any{"prompt": "and this", "when": "steer"}).want(202, &one)
	if one.Origin != terret.OriginSteer {
		t.Errorf("steered %+v", one)
	}
	close(g)
	f.wait(s.ID, "turn.complete")
	var all terret.Page[terret.Turn]
	f.do("GET", turns, nil).want(200, &all)
	if len(all.Items) != 1 || all.Items[0].ID != one.ID {
		t.Errorf("turns %+v", all.Items)
	}
	var messages terret.Page[terret.Message]
	f.do("GET", "/v1/sessions/"+s.ID+"/messages", nil).want(200, &messages)
	var said []string
	for _, m := range messages.Items {
		said = append(said, string(m.Role)+": "+terret.TextOf(m.Blocks))
	}
	if diff := cmp.Diff([]string{"user: one", "assistant: first", "user: and this", "assistant: You added: and this"}, said); diff != "" {
		t.Error(diff)
	}
	var paged []terret.Message
	for cursor := ""; ; {
		var p terret.Page[terret.Message]
		f.do("GET", "/v1/sessions/"+s.ID+"/messages?limit=3&cursor="+cursor, nil).want(200, &p)
		paged = append(paged, p.Items...)
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(messages.Items, paged); diff != "" {
		t.Error(diff)
	}
}

func TestControls(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Text: "hm"}, mock.Step{Hang: true}))
	s := f.session()
	at := "/v1/sessions/" + s.ID
	f.do("POST", at+"/interrupt", nil).problem(409, terret.CodeConflict, "")
	f.do("POST", at+"/kill", nil).problem(409, terret.CodeConflict, "")
	for _, verb := range []string{"interrupt", "kill"} {
		turn := f.prompt(s.ID, "hang")
		until := func(kind string) {
			for ev, err := range f.events(at + "/events") {
				if err != nil {
					t.Fatal(err)
				}
				if ev.Name == kind && strings.Contains(string(ev.Data), turn.ID) {
					return
				}
			}
		}
		until("message.complete")
		f.do("POST", at+"/"+verb, nil).want(200, nil)
		until("turn.error")
		var all terret.Page[terret.Turn]
		f.do("GET", at+"/turns", nil).want(200, &all)
		last := all.Items[len(all.Items)-1]
		if want := map[string]terret.TurnState{"interrupt": terret.TurnInterrupted, "kill": terret.TurnKilled}[verb]; last.State != want || !strings.Contains(last.Error.Message, "by admin") {
			t.Errorf("%s: %+v %v", verb, last, last.Error)
		}
	}
	f.do("POST", at+"/close", nil).want(200, nil)
	f.do("POST", at+"/undo", nil).problem(501, terret.CodeUnsupported, "")
	f.do("POST", at+"/redo", map[string]any{"force": true}).problem(501, terret.CodeUnsupported, "")
	f.do("POST", at+"/undo", map[string]any{"sure": true}).problem(422, terret.CodeInvalidRequest, "sure")
	f.do("POST", at+"/fork", nil).problem(501, terret.CodeUnsupported, "")
}

func TestTurnStream(t *testing.T) {
	t.Parallel()
	f := newFixture(t, turns([]mock.Step{{Text: "first"}}, []mock.Step{{Text: "second"}}))
	s := f.session()
	for _, text := range []string{"first", "second"} {
		res, err := f.client.Do(f.request(t.Context(), "POST", "/v1/sessions/"+s.ID+"/turns", map[string]any{"prompt": "go"}, "Accept", "text/event-stream"))
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || got != "text/event-stream" {
			t.Fatalf("%d %s", res.StatusCode, got)
		}
		var kinds []string
		turn := ""
		for ev, err := range sse.Read(res.Body, 1<<20) { // ends by itself
			if err != nil {
				t.Fatal(err)
			}
			var e terret.Event
			if err := json.Unmarshal(ev.Data, &e); err != nil {
				t.Fatal(err)
			}
			if turn == "" {
				turn = e.Turn
			}
			if e.Turn != turn || turn == "" {
				t.Errorf("event %s of turn %q in the stream of %q", e.Kind(), e.Turn, turn)
			}
			if d, ok := e.Data.(terret.TurnComplete); ok && d.Text != text {
				t.Errorf("text %q", d.Text)
			}
			kinds = append(kinds, ev.Name)
		}
		res.Body.Close()
		if kinds[0] != "turn.start" || kinds[len(kinds)-1] != "turn.complete" {
			t.Errorf("kinds %v", kinds)
		}
	}
}

// TestLeaving holds that whoever closes a stream stops nothing.
func TestLeaving(t *testing.T) {
	t.Parallel()
	g := make(gate)
	f := newFixture(t, script(mock.Step{Text: "before"}, g.step(), mock.Step{Text: "after"}))
	s := f.session()
	ctx, leave := context.WithCancel(t.Context())
	res, err := f.client.Do(f.request(ctx, "POST", "/v1/sessions/"+s.ID+"/turns", map[string]any{"prompt": "go"}, "Accept", "text/event-stream"))
	if err != nil {
		t.Fatal(err)
	}
	for ev := range sse.Read(res.Body, 1<<20) {
		if ev.Name == "message.complete" {
			break
		}
	}
	leave()
	res.Body.Close()
	close(g)
	if end, ok := f.wait(s.ID, "turn.complete").Data.(terret.TurnComplete); !ok || end.Text != "after" {
		t.Errorf("the turn ended with %+v", end)
	}
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.session()
	turns := "/v1/sessions/" + s.ID + "/turns"
	var wait sync.WaitGroup
	ids := make([]string, 20)
	for i := range ids {
		wait.Go(func() {
			res, err := f.client.Do(f.request(t.Context(), "POST", turns, map[string]any{"prompt": "once"}, "Idempotency-Key", "k1"))
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			var turn terret.Turn
			if err := json.NewDecoder(res.Body).Decode(&turn); err != nil || res.StatusCode != http.StatusAccepted || terret.TextOf(turn.Prompt) != "once" {
				t.Errorf("%d %v %+v", res.StatusCode, err, turn)
			}
			ids[i] = turn.ID
		})
	}
	wait.Wait()
	if err := f.engine.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Errorf("turns %v", ids)
		}
	}
	if n := f.server.RememberedBlocks(); n > 0 { // they may be large
		t.Errorf("%d blocks of prompts are remembered", n)
	}
	f.do("POST", turns, map[string]any{"prompt": "else"}, "Idempotency-Key", "k1").problem(422, terret.CodeInvalidRequest, "Idempotency-Key")
	f.do("POST", turns, map[string]any{"prompt": "once"}, "Idempotency-Key", strings.Repeat("x", 300)).problem(422, terret.CodeInvalidRequest, "Idempotency-Key")

	// A server that was started anew knows the turn by its id, and streams it whole.
	again, err := httpapi.New(httpapi.Config{Engine: f.engine, Store: f.store, Tokens: f.tokens, Roots: []string{f.root}, Home: f.home})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	f2 := *f
	f2.serve(again)
	var turn terret.Turn
	f2.do("POST", turns, map[string]any{"prompt": "once"}, "Idempotency-Key", "k1").want(202, &turn)
	if turn.ID != ids[0] {
		t.Errorf("turn %s, want %s", turn.ID, ids[0])
	}
	third, err := httpapi.New(httpapi.Config{Engine: f.engine, Store: f.store, Tokens: f.tokens, Roots: []string{f.root}, Home: f.home})
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	f3 := *f
	f3.serve(third)
	f3.do("POST", turns, map[string]any{"prompt": "else"}, "Idempotency-Key", "k1").problem(422, terret.CodeInvalidRequest, "Idempotency-Key")
	a := f2.do("POST", turns, map[string]any{"prompt": "once"}, "Idempotency-Key", "k1", "Accept", "text/event-stream").want(200, nil)
	if got := string(a.body); !strings.Contains(got, "event: turn.start") || !strings.Contains(got, "event: turn.complete") {
		t.Errorf("stream %s", got)
	}
	var all terret.Page[terret.Turn]
	f.do("GET", turns, nil).want(200, &all)
	if len(all.Items) != 1 {
		t.Errorf("%d turns", len(all.Items))
	}
}

func TestDecisionIdempotency(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Question: &terret.Question{ID: "q", Text: "Which?"}}, mock.Step{Text: "ok"}))
	s := f.session()
	f.prompt(s.ID, "ask")
	r := f.wait(s.ID, "question.request").Expects.RequestID
	at := "/v1/decisions/" + r
	f.do("POST", at, map[string]any{"behavior": "allow"}, "Idempotency-Key", "d").problem(422, terret.CodeInvalidRequest, "behavior")
	f.do("POST", at, map[string]any{"behavior": "answer"}, "Idempotency-Key", "d").problem(422, terret.CodeInvalidRequest, "answers")
	answer := map[string]any{"behavior": "answer", "answers": map[string]any{"q": []string{"a", "b"}}}
	for range 2 {
		var got terret.Request
		f.do("POST", at, answer, "Idempotency-Key", "e").want(200, &got)
		if got.Decision == nil || !cmp.Equal(got.Decision.Answers, map[string]terret.Choice{"q": {"a", "b"}}) {
			t.Errorf("decision %+v", got.Decision)
		}
	}
	f.do("POST", at, answer, "Idempotency-Key", "f").problem(409, terret.CodeAlreadyDecided, "")
	f.do("POST", at, answer).problem(409, terret.CodeAlreadyDecided, "")
	var p terret.Page[terret.Request]
	f.do("GET", "/v1/decisions", nil).want(200, &p)
	if len(p.Items) != 0 {
		t.Errorf("open: %+v", p.Items)
	}
	f.do("GET", "/v1/decisions?state=all&session="+s.ID, nil).want(200, &p)
	if len(p.Items) != 1 || p.Items[0].RequestID != r {
		t.Errorf("all: %+v", p.Items)
	}
	var one terret.Request
	f.do("GET", at, nil).want(200, &one)
	f.do("GET", "/v1/decisions/req_x", nil).problem(404, terret.CodeNotFound, "")
	f.do("GET", "/v1/decisions?session=x", nil).problem(404, terret.CodeSessionNotFound, "")
}

// TestBadDecisions holds that nobody can say who decided, or how it came about.
func TestBadDecisions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true, Suggest: []string{"Bash(ls)"}}}))
	s := f.session()
	f.prompt(s.ID, "ask")
	r := f.wait(s.ID, "permission.request").Expects.RequestID
	at := "/v1/decisions/" + r
	for field, v := range map[string]any{"source": "rule", "by": "root", "gate": "plan", "request_id": "x", "delivered": true} {
		f.do("POST", at, map[string]any{"behavior": "allow", field: v}).problem(422, terret.CodeInvalidRequest, field)
	}
	f.do("POST", at, map[string]any{}).problem(422, terret.CodeInvalidRequest, "behavior")
	f.do("POST", at, map[string]any{"behavior": "maybe"}).problem(422, terret.CodeInvalidRequest, "behavior")
	f.do("POST", at, map[string]any{"behavior": "allow", "scope": "forever"}).problem(422, terret.CodeInvalidRequest, "scope")
	f.do("POST", at, map[string]any{"behavior": "deny", "updated_input": map[string]any{}}).problem(422, terret.CodeInvalidRequest, "updated_input")
	f.do("POST", at, map[string]any{"behavior": "allow", "input_hash": "sha256:0"}).problem(409, terret.CodeConflict, "")
	f.do("POST", at, map[string]any{"behavior": "allow", "scope": "session", "rule": "Bash("}).problem(422, terret.CodeInvalidRequest, "rule")
	f.do("POST", at, map[string]any{"behavior": "allow", "scope": "session"}).want(200, nil)
	var rules terret.Page[terret.Rule]
	f.do("GET", "/v1/rules?session="+s.ID, nil).want(200, &rules)
	if len(rules.Items) != 1 || !strings.HasPrefix(rules.Items[0].Pattern, "Bash(ls") || rules.Items[0].MadeBy != "admin" {
		t.Errorf("rules %+v", rules.Items)
	}
}

func TestBadTurns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.session()
	turns := "/v1/sessions/" + s.ID + "/turns"
	text := []any{map[string]any{"type": "text", "text": "x"}}
	for _, c := range []struct {
		name  string
		body  any
		field string
	}{
		{"nothing", map[string]any{}, "prompt"},
		{"blank", map[string]any{"prompt": " \n"}, "prompt"},
		{"both", map[string]any{"prompt": "x", "blocks": text}, "blocks"},
		{"when", map[string]any{"prompt": "x", "when": "now"}, "when"},
		{"by", map[string]any{"prompt": "x", "by": "root"}, "by"},
		{"turn", map[string]any{"prompt": "x", "turn": "trn_1"}, "turn"},
		{"origin", map[string]any{"prompt": "x", "origin": "bus"}, "origin"},
		{"tool result", map[string]any{"blocks": []any{map[string]any{"type": "tool_result", "text": "x"}}}, "blocks"},
		{"unknown block", map[string]any{"blocks": []any{map[string]any{"type": "script"}}}, "blocks"},
		{"field of a block", map[string]any{"blocks": []any{map[string]any{"type": "text", "html": "x"}}}, "blocks[0].html"},
		{"image without bytes", map[string]any{"blocks": []any{map[string]any{"type": "image"}}}, "blocks"},
		{"image from a file", map[string]any{"blocks": []any{map[string]any{"type": "image", "url": "file:///etc/passwd"}}}, "blocks"},
		{"bytes are not base64", map[string]any{"blocks": []any{map[string]any{"type": "image", "bytes": "%"}}}, "blocks[0].bytes"},
		{"message id is a flag", map[string]any{"prompt": "x", "message_id": "-x"}, "message_id"},
		{"model is a flag", map[string]any{"prompt": "x", "options": map[string]any{"model": "-x"}}, "options.model"},
		{"option", map[string]any{"prompt": "x", "options": map[string]any{"yolo": true}}, "options.yolo"},
		{"turns", map[string]any{"prompt": "x", "options": map[string]any{"max_turns": -1}}, "options.max_turns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := f.do("POST", turns, c.body)
			a.t = t
			a.problem(422, terret.CodeInvalidRequest, c.field)
		})
	}
	f.do("POST", "/v1/sessions/"+terret.NewSessionID()+"/turns", map[string]any{"prompt": "x"}).problem(404, terret.CodeSessionNotFound, "")
	f.do("POST", "/v1/sessions/-x/turns", map[string]any{"prompt": "x"}).problem(404, terret.CodeSessionNotFound, "")
}

// writeFile is what a turn does to its folder.
func writeFile(_ context.Context, dir string) error {
	return os.WriteFile(filepath.Join(dir, "made.txt"), []byte("by the turn\n"), 0o600)
}
