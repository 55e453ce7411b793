package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/view"
)

// With the parameter view, some routes speak another system's dialect: its frontends can
// then be used with every agent. What it may do is the same.

// decideDialect accepts a decision of Athena or a reply of Hive.
func (s *Server) decideDialect(w http.ResponseWriter, r *http.Request, name string) error {
	ctx := r.Context()
	q, err := s.request(ctx, r.PathValue("request"))
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return terret.Invalid("body", "%w", err)
	}
	from := view.FromAthena
	if name == "hive" {
		from = view.FromHive
	}
	d, err := from(q, raw)
	if err != nil {
		return err
	}
	decided, err := s.decideAs(ctx, q, r.Header.Get("Idempotency-Key"), d)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, decided)
	return nil
}

// listDialect lists open requests as Hive's events.
func (s *Server) listDialect(w http.ResponseWriter, r *http.Request, _ string) error {
	ctx := r.Context()
	f := terret.RequestFilter{Session: r.URL.Query().Get("session"), State: terret.RequestOpen, Limit: 1000}
	if own := access.From(ctx).Session; f.Session == "" {
		f.Session = own
	}
	if f.Session != "" {
		if _, err := s.session(ctx, f.Session); err != nil {
			return err
		}
	}
	open, err := s.store.ListRequests(ctx, f)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, view.HiveRequests(open.Items))
	return nil
}

// agentsDialect is Hive's table of capabilities.
func (s *Server) agentsDialect(w http.ResponseWriter, r *http.Request, _ string) error {
	writeJSON(w, http.StatusOK, view.HiveAgents(s.maker.Agents.Probe(r.Context())))
	return nil
}

// sessionModelsDialect is Hive's list of the models of a session's agent.
func (s *Server) sessionModelsDialect(w http.ResponseWriter, r *http.Request, _ string) error {
	ctx := r.Context()
	session, err := s.session(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	models, err := s.engine.Models(ctx, session.ID)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, view.HiveModels(session.Agent, models))
	return nil
}

// modelsDialect is Hive's list of models.
func (s *Server) modelsDialect(w http.ResponseWriter, r *http.Request, _ string) error {
	agent := r.PathValue("agent")
	models, err := s.models(r.Context(), agent)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, view.HiveModels(s.maker.Agents.Name(agent), models))
	return nil
}

// inOtherWords answers as Hive's calls do: success, and what the call returns or why it
// failed. The status is the route's own.
func (r route) inOtherWords(w http.ResponseWriter, request *http.Request, own http.Handler) {
	plain := request.Clone(request.Context())
	query := plain.URL.Query()
	query.Del("view")
	plain.URL.RawQuery = query.Encode()
	plain.Header.Set("Accept", "application/json")
	kept := &keptResponse{ResponseWriter: w, header: http.Header{}, status: http.StatusOK}
	own.ServeHTTP(kept, plain)
	out := map[string]any{"success": true}
	var err error
	if kept.status < 300 {
		var more map[string]any
		more, err = r.reword(request.Context(), request.PathValue("id"), kept.body.Bytes())
		maps.Copy(out, more)
	}
	if kept.status >= 300 || err != nil {
		var problem struct{ Detail string }
		_ = json.Unmarshal(kept.body.Bytes(), &problem) // another body says nothing
		if err != nil {
			kept.status, problem.Detail = http.StatusInternalServerError, err.Error()
		}
		out = map[string]any{"success": false, "error": cmp.Or(problem.Detail, http.StatusText(kept.status))}
	}
	for name, values := range kept.header {
		if name != "Content-Length" && name != "Content-Type" {
			w.Header()[name] = values
		}
	}
	writeJSON(w, kept.status, out)
}

// keptResponse keeps a response back.
type keptResponse struct {
	http.ResponseWriter
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *keptResponse) Header() http.Header         { return k.header }
func (k *keptResponse) WriteHeader(status int)      { k.status = status }
func (k *keptResponse) Write(b []byte) (int, error) { return k.body.Write(b) }

// Unwrap is for deadlines.
func (k *keptResponse) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// done is for calls of Hive that return nothing.
func done(context.Context, string, []byte) (map[string]any, error) { return nil, nil }

// hiveMessages says the messages of a session in Hive's words.
func hiveMessages(_ context.Context, _ string, response []byte) (map[string]any, error) {
	var list terret.Page[terret.Message]
	if err := json.Unmarshal(response, &list); err != nil {
		return nil, err
	}
	out := map[string]any{"messages": view.HiveMessages(list.Items)}
	if list.Next != "" {
		out["next"] = list.Next
	}
	return out, nil
}

// hiveRewound says which prompt an undo took back, or a redo brought back.
func (s *Server) hiveRewound(ctx context.Context, session string, response []byte) (map[string]any, error) {
	var rewound struct{ Turn string }
	if err := json.Unmarshal(response, &rewound); err != nil {
		return nil, err
	}
	turns, err := s.store.Turns(ctx, session)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(turns, func(t terret.Turn) bool { return t.ID == rewound.Turn })
	if i < 0 || !turns[i].Undone {
		return map[string]any{"revertMessageID": nil}, nil
	}
	return map[string]any{"revertMessageID": turns[i].MessageID, "restoredPrompt": terret.TextOf(turns[i].Prompt), "revertDiff": nil}, nil
}
