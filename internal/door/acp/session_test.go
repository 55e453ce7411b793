package acp

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// TestCancelInFlight holds that a cancel behind two prompts does not stop the first one before
// the second one is in the queue, where the stop finds it: it would run.
func TestCancelInFlight(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var calls []string
	note := func(call string) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, call)
	}
	posted := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/turns"):
			close(posted)
			time.Sleep(200 * time.Millisecond)
			note("queued")
			w.WriteHeader(http.StatusAccepted)
			_ = json.NewEncoder(w).Encode(terret.Turn{ID: "second", Session: "s"})
		case strings.HasSuffix(path, "/interrupt"):
			note("interrupted")
			w.WriteHeader(http.StatusNoContent)
		case r.Method == http.MethodDelete && strings.HasSuffix(path, "/second"):
			note("dropped")
			w.WriteHeader(http.StatusNoContent)
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": terret.Error{Code: terret.CodeConflict, Message: "it runs"}})
		default:
			_ = json.NewEncoder(w).Encode(terret.Session{ID: "s", Turn: "first"})
		}
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := &door{ctx: ctx, cfg: Config{Log: slog.New(slog.DiscardHandler), Connect: func(context.Context) (*client.Client, error) {
		return client.New(server.URL, client.Options{})
	}}}
	s := newSession(d, terret.Session{ID: "s", Turn: "first"})
	s.waiting["first"] = make(chan ended, 1)

	s.arrived("2")
	var wait sync.WaitGroup
	wait.Go(func() { _, _ = s.prompt(ctx, "2", []block{{Type: "text", Text: "say hello"}}) })
	<-posted
	s.cancelPrompts()
	wait.Wait()
	d.wait.Wait()
	queued, stopped := slices.Index(calls, "queued"), slices.Index(calls, "interrupted")
	if queued < 0 || stopped < queued || !slices.Contains(calls, "dropped") {
		t.Error(calls)
	}
}
