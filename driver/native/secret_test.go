package native_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/terret-dev/terret"
)

// served is a fixture whose API is the handler.
func served(t *testing.T, h http.HandlerFunc, change ...func(*setup)) *fixture {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	s := setup{env: map[string]string{"ANTHROPIC_API_KEY": canary, "ANTHROPIC_BASE_URL": srv.URL}}
	for _, c := range change {
		c(&s)
	}
	return newFixture(t, s)
}

// event writes one event of a stream.
func event(w io.Writer, kind, data string) {
	_, _ = fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, data)
}

// TestKeyIsNeverSeen plants the key wherever a server could repeat it, and looks for
// it in the database, the log and the events.
func TestKeyIsNeverSeen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "terret.db")
	var n atomic.Int32
	f := served(t, func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Api-Key")
		if key != canary {
			t.Errorf("key %q", key)
		}
		w.Header().Set("X-Echo", key)
		switch n.Add(1) {
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"api_error","message":"cannot serve %s"}}`, key)
		case 2:
			w.WriteHeader(http.StatusBadGateway)
			_, _ = fmt.Fprintf(w, "<html>%s</html>", key)
		case 3:
			w.Header().Set("Content-Type", "text/event-stream")
			event(w, "message_start", `"message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":1}}`)
			event(w, "error", `"error":{"type":"overloaded_error","message":"`+key+`"}`)
		case 4:
			w.Header().Set("Content-Type", "text/event-stream")
			event(w, "message_start", `"message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":1}}`)
			_, _ = fmt.Fprintf(w, "event: content_block_start\ndata: {%s\n\n", key)
		default:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid key %s"}}`, key)
		}
	}, func(s *setup) { s.path = path })
	events := f.run(f.session(claude), "go")
	e := last[terret.TurnError](t, events).Error
	if e.Code != terret.CodeNotAuthenticated || len(all[terret.Retry](events)) != 4 {
		t.Errorf("%+v, %v", e, kindsOf(events))
	}
	wantWords(t, e.Message, "invalid key [redacted")
	// Nor do commands get it.
	demo := f.session()
	if text := f.says(demo, "run: env; set; cat /proc/self/environ"); !strings.Contains(text, "PATH") {
		t.Errorf("%q", text)
	}
	for _, ev := range append(events, f.until(demo, func(ev terret.Event) bool { return ev.Kind() == "turn.complete" })...) {
		if body, err := ev.MarshalJSON(); err != nil || strings.Contains(string(body), "CANARY") {
			t.Errorf("%v: %s", err, body)
		}
	}
	f.close()
	if strings.Contains(f.log.String(), "CANARY") {
		t.Error("the key is in the log")
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			continue
		}
		if content, err := os.ReadFile(name); err != nil || strings.Contains(string(content), "CANARY") {
			t.Errorf("%s holds the key (%v)", name, err)
		}
	}
}

// TestKeyStaysWithItsHost has an API that sends clients elsewhere.
func TestKeyStaysWithItsHost(t *testing.T) {
	t.Parallel()
	var there atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { there.Add(1) }))
	t.Cleanup(elsewhere.Close)
	f := served(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	events := f.run(f.session(claude), "go")
	if e := last[terret.TurnError](t, events).Error; e.Code != terret.CodeConnectionFailed || len(all[terret.Retry](events)) > 0 || there.Load() > 0 {
		t.Errorf("%+v, %d requests elsewhere", e, there.Load())
	}
}

// TestCutOffCall has an answer that ends in the middle of a call's input.
func TestCutOffCall(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	var second []byte
	f := served(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		event(w, "message_start", fmt.Sprintf(`"message":{"id":"m%d","role":"assistant","content":[],"usage":{"input_tokens":1}}`, n.Load()))
		stop := "end_turn"
		if n.Add(1) == 1 {
			stop = "max_tokens"
			event(w, "content_block_start", `"index":0,"content_block":{"type":"tool_use","id":"t","name":"Write","input":{}}`)
			event(w, "content_block_delta", `"index":0,"delta":{"type":"input_json_delta","partial_json":"{\"file_path\":\"a.txt\",\"content\":\"half"}`)
			event(w, "content_block_stop", `"index":0`)
		} else {
			second = body
			event(w, "content_block_start", `"index":0,"content_block":{"type":"text","text":""}`)
			event(w, "content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"sorry"}`)
			event(w, "content_block_stop", `"index":0`)
		}
		event(w, "message_delta", `"delta":{"stop_reason":"`+stop+`"},"usage":{"output_tokens":1}`)
		event(w, "message_stop", `"x":0`)
	})
	id := f.session(claude)
	events := f.run(id, "go")
	fail := last[terret.ToolFailure](t, events)
	wantWords(t, fail.Error, "not valid JSON", "cut off")
	if f.file("a.txt") != "(no file)" {
		t.Error("half a call was carried out")
	}
	if end := last[terret.TurnComplete](t, events); end.Text != "sorry" {
		t.Errorf("%+v", end)
	}
	wantWords(t, string(second), `"input":{}`, `"is_error":true`)
	// The session can be opened again.
	if err := f.CloseSession(context.Background(), id, "tester"); err != nil {
		t.Fatal(err)
	}
	if text := f.says(id, "again"); text != "sorry" {
		t.Errorf("%q", text)
	}
}
