package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
)

// The routes under /api/harness are those of an older program, with its names and
// shapes: a session is one of Claude Code that runs a process for each turn and never
// waits for a person. Their shapes have no field for an agent, so the names of this one and
// its mode are words of the dialect, which no driver can say.

const (
	harnessAgent = "claude"
	harnessMode  = "dontAsk" // unless a turn sets another
)

func (s *Server) harnessRoutes() {
	for pattern, r := range map[string]struct {
		scope access.Scope
		fn    func(http.ResponseWriter, *http.Request) error
	}{
		"POST /api/harness/session/create": {access.Prompt, s.harnessCreate},
		"GET /api/harness/session/list":    {access.View, s.harnessList},
		"GET /api/harness/session/{id}":    {access.View, s.harnessGet},
		"DELETE /api/harness/session/{id}": {access.Prompt, s.harnessDelete},
		"POST /api/harness/turn":           {access.Prompt, s.harnessTurn},
		"POST /api/harness/interrupt":      {access.Prompt, s.harnessInterrupt},
	} {
		s.bodyLimits[pattern] = s.limits.Body
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
			err := need(req.Context(), r.scope)
			if err == nil {
				err = r.fn(w, req)
			}
			if err != nil {
				writeProblem(w, harnessError(err))
			}
		})
	}
}

// harnessNames maps field names of the other routes to the names here.
var harnessNames = map[string]string{
	"cwd": "projectRoot", "prompt": "message",
	"options.tools": "opts.tools", "options.disallowed_tools": "opts.disallowedTools", "options.auto_approve_tools": "opts.autoApproveTools",
	"options.tools_override": "opts.toolsOverride", "options.disallowed_tools_override": "opts.disallowedToolsOverride",
	"options.auto_approve_tools_override": "opts.autoApproveToolsOverride", "options.max_turns": "opts.maxTurns",
}

// harnessError answers invalid input with 400, as these routes always did, and uses
// their field names.
func harnessError(err error) error {
	p := *problemOf(err)
	if p.Status == http.StatusUnprocessableEntity {
		p.Status, p.Title = http.StatusBadRequest, http.StatusText(http.StatusBadRequest)
	}
	if name, ok := harnessNames[p.Field]; ok {
		p.Detail = name + ": " + strings.TrimPrefix(p.Detail, p.Field+": ")
		p.Field = name
	}
	return &p
}

// readBody reads one JSON value and rejects unknown fields.
func readBody(r *http.Request, into any) error {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return terret.Invalid("body", "%w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return terret.Invalid(nonEmpty(e.Field, "body"), "it must not be a %s", e.Value)
		}
		if name, ok := strings.CutPrefix(err.Error(), `json: unknown field "`); ok {
			return terret.Invalid(strings.TrimSuffix(name, `"`), "unknown field")
		}
		switch {
		case errors.Is(err, io.EOF):
			return terret.Invalid("body", "it is missing; send JSON")
		case errors.Is(err, io.ErrUnexpectedEOF):
			return terret.Invalid("body", "it ends too early")
		}
		return terret.Invalid("body", "%w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return terret.Invalid("body", "there is data after the JSON value")
	}
	return nil
}

// harnessSession is a session as these routes return it.
type harnessSession struct {
	harnessSummary
	ClaudeSessionID terret.NullString `json:"claudeSessionId"`
}

type harnessSummary struct {
	ID          string            `json:"id"`
	CreatedAt   terret.Time       `json:"createdAt"`
	UpdatedAt   terret.Time       `json:"updatedAt"`
	ProjectRoot string            `json:"projectRoot"`
	Persona     terret.NullString `json:"persona"`
	Mode        terret.Mode       `json:"mode"`
}

func summaryOf(s terret.Session) harnessSummary {
	return harnessSummary{ID: s.ID, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, ProjectRoot: s.Cwd, Persona: s.Persona, Mode: s.Mode}
}

// writeHarness writes a session, and notes for the person if there are any.
func writeHarness(w http.ResponseWriter, status int, s terret.Session, notes ...string) {
	out := map[string]any{"session": harnessSession{summaryOf(s), s.NativeID}}
	if len(notes) > 0 {
		out["notes"] = notes
	}
	writeJSON(w, status, out)
}

func (s *Server) harnessCreate(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	var in struct {
		ProjectRoot string  `json:"projectRoot"`
		Persona     *string `json:"persona"`
		Mode        string  `json:"mode"`
	}
	if err := readBody(r, &in); err != nil {
		return err
	}
	if err := errors.Join(s.stopping(), everywhere(ctx)); err != nil {
		return err
	}
	n := terret.Session{
		Agent: harnessAgent, Cwd: in.ProjectRoot, Mode: terret.Mode(in.Mode), OneShot: true, Policy: terret.PolicyDenyUnlessAllowed,
		PermissionMode: harnessMode, Options: terret.SessionOptions{BasePrompt: true},
	}
	if err := n.Mode.Validate(); err != nil {
		return err
	}
	if in.Persona != nil {
		if err := checkName("persona", *in.Persona); err != nil {
			return err
		}
		n.Persona = terret.NullString(*in.Persona)
	}
	var notes []string
	made, err := s.makeSession(ctx, n, assemble.CreateOptions{Tell: func(note string) { notes = append(notes, note) }})
	if err == nil {
		writeHarness(w, http.StatusCreated, made, notes...)
	}
	return err
}

func (s *Server) harnessList(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	f := terret.SessionFilter{Agent: harnessAgent, Limit: 1000, IDPrefix: access.From(ctx).Session}
	if root := r.URL.Query().Get("projectRoot"); root != "" {
		dir, err := s.inRoots("projectRoot", root)
		if err != nil {
			return err
		}
		f.Cwd = dir
	}
	list := []harnessSummary{}
	for {
		p, err := s.store.ListSessions(ctx, f)
		if err != nil {
			return err
		}
		for _, one := range p.Items {
			list = append(list, summaryOf(one))
		}
		if f.Cursor = p.Next; f.Cursor == "" {
			break
		}
	}
	// The pages are sorted, but a session may have been updated meanwhile.
	slices.SortStableFunc(list, func(a, b harnessSummary) int { return b.UpdatedAt.Compare(a.UpdatedAt.Time) })
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) harnessGet(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r.Context(), r.PathValue("id"))
	if err == nil {
		writeHarness(w, http.StatusOK, found)
	}
	return err
}

func (s *Server) harnessDelete(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	force := true // as these routes always did
	if q := r.URL.Query().Get("force"); q != "" {
		if force, err = strconv.ParseBool(q); err != nil {
			return terret.Invalid("force", "%q is neither true nor false", q)
		}
	}
	if node := s.engine.Elsewhere(found); node != "" {
		err = Ask(r.Context(), s.fleet, node, limited(access.From(r.Context())), http.MethodDelete, fmt.Sprintf("/v1/sessions/%s?force=%t", found.ID, force), nil, nil)
	} else if _, err = s.maker.Delete(r.Context(), found.ID, force); err == nil {
		s.sessions.remove()
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) harnessInterrupt(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		SessionID string `json:"sessionId"`
	}
	if err := readBody(r, &in); err != nil {
		return err
	}
	ctx := r.Context()
	found, err := s.session(ctx, in.SessionID)
	if err != nil {
		return err
	}
	if err := s.engine.Interrupt(ctx, found.ID, caller(ctx)); errors.Is(err, terret.ErrConflict) {
		return terret.Errorf(terret.CodeNotFound, "no turn is running in session %s", found.ID)
	} else if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
	return nil
}
