package httpapi

import (
	"io"
	"net/http"

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
