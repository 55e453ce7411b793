package httpapi

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"

	"github.com/terret-dev/terret"
)

// A response that breaks off is told to the node that asked, and ends nothing but the
// request: there is no HTTP server around it that would take the panic.
func TestRelayedResponseBreaksOff(t *testing.T) {
	t.Parallel()
	s := &Server{mux: http.NewServeMux(), log: slog.New(slog.DiscardHandler), life: t.Context(), cfg: Config{Node: "a"}}
	s.metrics.init()
	for path, with := range map[string]any{"/aborted": http.ErrAbortHandler, "/failed": "a mistake of ours"} {
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"items":[`))
			panic(with)
		})
		var p Problem
		a := s.answerTo(question{Method: "GET", URL: path})
		if err := json.Unmarshal(a.Body, &p); err != nil || a.Status != http.StatusInternalServerError || p.Kind != terret.CodeInternal || a.Type != problemType {
			t.Errorf("%s: %d %s %s, %v", path, a.Status, a.Type, a.Body, err)
		}
	}
}
