package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/archive"
)

func (s *Server) transferRoutes() {
	handleStream(s, route{
		method: "GET", path: "/v1/sessions/{id}/export", id: "export-session", tag: tagSessions, scope: access.View,
		summary: "Export a session and its events as NDJSON",
		long:    "The first line is the session, the others are its events. If the connection breaks, the export is incomplete.",
		fails:   inSession(),
	}, s.exportSession, ndjsonType)
	handle(s, route{
		method: "POST", path: importPath, id: "import-session", tag: tagSessions, scope: access.Admin, status: http.StatusCreated,
		summary: "Create a session from an export",
		long:    "It gets new ids and keeps the conversation and its history. Permissions and the agent's own session id are not imported.",
		fails:   stored(),
		request: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{ndjsonType: {Schema: &huma.Schema{Type: huma.TypeString}}}},
	}, s.importSession)
}

// maxExports bounds how many sessions may be exported at once.
const maxExports = 16

func (s *Server) exportSession(ctx context.Context, in *SessionPath) (*streamAnswer, error) {
	session, err := s.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	id := access.From(ctx)
	return s.inSlot(func(w http.ResponseWriter, r *http.Request) {
		if n := s.exports.Add(1); n > maxExports { // each has a page of the log in its hands all the time
			s.exports.Add(-1)
			writeProblem(w, tooMany("%d sessions are being exported, which is the most there may be; try again in a while", n-1))
			return
		}
		defer s.exports.Add(-1)
		w.Header().Set("Content-Disposition", `attachment; filename="`+session.ID+`.ndjson"`)
		s.streaming(w, r, ndjsonType, s.stillAllowed(r.Context(), id, nil), func(ctx context.Context, st *stream) error {
			return archive.Write(streamWriter{st}, shown(id, session), s.engine.Events(ctx, engine.EventQuery{Session: session.ID, Raw: true}))
		})
	}), nil
}

// streamWriter writes to a stream.
type streamWriter struct{ st *stream }

// Write implements io.Writer.
func (w streamWriter) Write(p []byte) (int, error) {
	err := w.st.send(func(b []byte) []byte { return append(b, p...) })
	return len(p), err
}

type importInput struct {
	Cwd  string `query:"cwd" doc:"The folder for the session. Default: its original folder."`
	body *http.Request
}

// Resolve implements huma.Resolver: the body is read line by line, as it comes.
func (in *importInput) Resolve(c huma.Context) []error {
	in.body, _ = humago.Unwrap(c)
	return nil
}

func (s *Server) importSession(ctx context.Context, in *importInput) (*body[terret.Session], error) {
	if err := s.stopping(); err != nil {
		return nil, err
	}
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	if err := s.sessions.add(ctx, s); err != nil {
		return nil, err
	}
	made, err := archive.Read(ctx, s.store, in.body.Body, func(n *terret.Session) (err error) {
		if in.Cwd != "" {
			n.Cwd = in.Cwd
		}
		n.Agent = s.maker.Agents.Name(n.Agent)
		n.Cwd, err = s.inRoots("cwd", n.Cwd)
		return err
	})
	if err != nil {
		s.sessions.remove()
	}
	return reply(made, err)
}
