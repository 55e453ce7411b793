package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/gitcmd"
	"github.com/terret-dev/terret/internal/proc"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/sse"
	"github.com/terret-dev/terret/internal/terminal"
)

const (
	terminalsPath = "/v1/sessions/{id}/terminals"
	// lookForGone is how long a terminal may live on after another process has deleted its
	// session.
	lookForGone = 2 * time.Second
	// terminalStart bounds the start of a shell.
	terminalStart = 20 * time.Second
)

func (s *Server) terminalRoutes() {
	handle(s, route{
		method: "POST", path: terminalsPath, id: "open-terminal", tag: tagTerminals, scope: access.Admin, status: http.StatusCreated,
		summary: "Open a terminal in a session's folder",
		long:    "Starts the person's shell on a pty, outside of any sandbox, with the environment that commands of the native agent get. It and all that it starts end with the session, with its agent when that is closed, and with the server. Nothing that it shows is in the log.",
		fails:   inSession(terret.CodeUnsupported, terret.CodeRateLimited, terret.CodeNotFound),
	}, s.openTerminal)
	handle(s, route{
		method: "GET", path: terminalsPath, id: "list-terminals", tag: tagTerminals, scope: access.View,
		summary: "List the terminals of a session",
		long:    "A token that is not for admins sees those that are shared.",
		fails:   inSession(),
	}, s.listTerminals)
	handleStream(s, route{
		method: "GET", path: terminalsPath + "/{terminal}/output", id: "terminal-output", tag: tagTerminals, scope: access.View,
		summary: "Follow what a terminal shows",
		long:    "As text/event-stream: `terminal`, its state, at the start and when it changes; `output`, bytes in base64, whose `id` is how many there were with them; and `missed` if what comes next does not follow what came before, because it is no longer kept. Each has such an `id`. Anybody may read at the same time. The stream ends with the terminal. A token that is not for admins may read one that is shared.",
		fails:   inSession(terret.CodeNotFound),
	}, s.terminalOutput, sse.ContentType)
	handle(s, route{
		method: "POST", path: terminalsPath + "/{terminal}/input", id: "type-into-terminal", tag: tagTerminals, scope: access.Admin, status: http.StatusNoContent,
		summary: "Type into a terminal",
		long:    "Does not wait until it is read. While too much waits to be read, this fails with rate_limited, and nothing of it is typed.",
		fails:   inSession(terret.CodeNotFound),
	}, s.typeIntoTerminal)
	handle(s, route{
		method: "PATCH", path: terminalsPath + "/{terminal}", id: "change-terminal", tag: tagTerminals, scope: access.Admin,
		summary: "Change the size of a terminal, or who may look at it",
		long:    "All who look at it have the same size: that of the last change.",
		fails:   inSession(terret.CodeNotFound),
	}, s.changeTerminal)
	handle(s, route{
		method: "DELETE", path: terminalsPath + "/{terminal}", id: "close-terminal", tag: tagTerminals, scope: access.Admin, status: http.StatusNoContent,
		summary: "Close a terminal",
		long:    "Returns when everything that it started has ended.",
		fails:   inSession(terret.CodeNotFound),
	}, s.closeTerminal)
}

// Terminal is a shell in a session's folder.
type Terminal struct {
	ID       string      `json:"id"`
	Session  string      `json:"session"`
	Shell    string      `json:"shell" doc:"The name of its shell."`
	OpenedBy string      `json:"opened_by"`
	OpenedAt terret.Time `json:"opened_at"`
	Columns  int         `json:"columns"`
	Rows     int         `json:"rows"`
	Shared   bool        `json:"shared" doc:"Whether tokens that may only view may look at it."`
	Written  int64       `json:"written" doc:"How many bytes it has shown so far."`
	Busy     bool        `json:"busy" doc:"Whether something else than the shell runs in the foreground."`
	Program  string      `json:"program,omitempty" doc:"The name of what runs in the foreground, if it is known."`
	Ended    bool        `json:"ended" doc:"Whether the shell has ended."`
	ExitCode *int        `json:"exit_code,omitempty" doc:"Of the shell, if it has ended by itself."`
	Signal   string      `json:"signal,omitempty" doc:"Signal that ended the shell."`
}

func terminalOf(s terminal.State) Terminal {
	t := Terminal{
		ID: s.ID, Session: s.Session, Shell: s.Shell, OpenedBy: s.By, OpenedAt: terret.TimeOf(s.OpenedAt), Columns: s.Columns, Rows: s.Rows,
		Shared: s.Shared, Written: s.Written, Busy: s.Busy, Program: s.Program, Ended: s.Ended, Signal: s.EndedBy,
	}
	if s.Ended && s.EndedBy == "" {
		t.ExitCode = &s.ExitCode
	}
	return t
}

// TerminalPath names a terminal in the path.
type TerminalPath struct {
	SessionPath
	Terminal string `path:"terminal" maxLength:"100" doc:"The terminal's id."`
}

type newTerminal struct {
	Columns int `json:"columns,omitempty" minimum:"1" maximum:"1000" doc:"Default: 80."`
	Rows    int `json:"rows,omitempty" minimum:"1" maximum:"1000" doc:"Default: 24."`
}

func (s *Server) openTerminal(ctx context.Context, in *struct {
	SessionPath
	Body *newTerminal
},
) (*body[Terminal], error) {
	record, err := s.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := s.stopping(); err != nil {
		return nil, err
	}
	if node := s.engine.Elsewhere(record); s.fleet != nil && node != "" {
		return nil, terret.Errorf(terret.CodeUnsupported, "the folder of session %s is on node %s, and terminals are not passed on; open it at that node's own address", in.ID, node)
	}
	dir, err := s.inRoots("cwd", record.Cwd)
	if err != nil {
		return nil, err
	}
	wanted := terminal.Spec{Session: record.ID, Dir: dir, Owner: s.store.Worker(), By: caller(ctx)}
	if in.Body != nil {
		wanted.Columns, wanted.Rows = in.Body.Columns, in.Body.Rows
	}
	ctx, cancel := context.WithTimeout(ctx, terminalStart)
	defer cancel()
	env := s.cfg.Env
	if trusts := s.roles.Trusts; trusts == nil || !trusts(record.Cwd) {
		env = gitcmd.Shield(ctx, env, dir)
	}
	wanted.Env = proc.FilterEnv(env, s.cfg.TerminalEnv...)
	t, err := s.terminals.Open(ctx, wanted)
	if err != nil {
		return nil, s.terminalError(err)
	}
	s.watchTerminals.Do(func() { s.background.Go(s.endOrphans) })
	s.log.InfoContext(ctx, "a terminal was opened", "session", record.ID, "terminal", t.ID(), "caller", wanted.By)
	return reply(terminalOf(t.State()), nil)
}

// terminalError says an error of package terminal in ours.
func (s *Server) terminalError(err error) error {
	switch {
	case errors.Is(err, terminal.ErrUnsupported):
		return &limitError{terret.Errorf(terret.CodeUnsupported, "%w; run Terret on Linux or macOS, or in WSL", err), http.StatusNotImplemented}
	case errors.Is(err, terminal.ErrTooMany), errors.Is(err, terminal.ErrFull):
		return tooMany("%w", err)
	case errors.Is(err, terminal.ErrNotFound):
		return terret.Errorf(terret.CodeNotFound, "%w", err)
	case errors.Is(err, terminal.ErrEnded):
		return terret.Errorf(terret.CodeConflict, "%w", err)
	case errors.Is(err, os.ErrNotExist):
		return terret.Errorf(terret.CodeConflict, "%w; put it back, or work in another session", err)
	}
	return err
}

// endOrphans ends the terminals of sessions that another process has deleted.
func (s *Server) endOrphans() {
	for version := int64(0); s.life.Err() == nil; {
		for _, t := range s.terminals.List("") {
			if _, err := s.store.Session(s.life, t.Session()); errors.Is(err, terret.ErrSessionNotFound) {
				s.terminals.RemoveAll(t.Session())
			}
		}
		pause(s.life, lookForGone)
		var err error
		if version, err = s.store.Wait(s.life, version); err != nil {
			pause(s.life, lookForGone)
		}
	}
}

// terminal returns a terminal, if the caller may look at it.
func (s *Server) terminal(ctx context.Context, in TerminalPath) (*terminal.Terminal, error) {
	if _, err := s.liveSession(ctx, in.ID); err != nil {
		return nil, err
	}
	t, err := s.terminals.Get(in.ID, in.Terminal)
	if err == nil && !mayLook(ctx, t) {
		err = terminal.ErrNotFound
	}
	if err != nil {
		return nil, s.terminalError(err)
	}
	return t, nil
}

// mayLook reports whether the caller may see what a terminal shows.
func mayLook(ctx context.Context, t *terminal.Terminal) bool {
	return t.Shared() || need(ctx, access.Admin) == nil
}

func (s *Server) listTerminals(ctx context.Context, in *SessionPath) (*body[terret.Page[Terminal]], error) {
	if _, err := s.liveSession(ctx, in.ID); err != nil {
		return nil, err
	}
	items := []Terminal{}
	for _, t := range s.terminals.List(in.ID) {
		if mayLook(ctx, t) {
			items = append(items, terminalOf(t.State()))
		}
	}
	return page(items, nil)
}

func (s *Server) terminalOutput(ctx context.Context, in *struct {
	TerminalPath
	After int64  `query:"after" minimum:"0" doc:"Only what comes after so many bytes."`
	Last  string `header:"Last-Event-ID" doc:"The same, as browsers send it. It overrides after."`
},
) (*streamAnswer, error) {
	t, err := s.terminal(ctx, in.TerminalPath)
	if err != nil {
		return nil, err
	}
	if in.Last != "" {
		if in.After, err = strconv.ParseInt(in.Last, 10, 64); err != nil || in.After < 0 {
			return nil, terret.Invalid("Last-Event-ID", "%.64q is not a number of bytes", in.Last)
		}
	}
	id := access.From(ctx)
	return s.inSlot(func(w http.ResponseWriter, r *http.Request) {
		valid := s.stillAllowed(r.Context(), id, appendEnd)
		s.streaming(w, r, sse.ContentType, valid, func(ctx context.Context, st *stream) error {
			return s.sendTerminal(ctx, st, t, in.After)
		})
	}), nil
}

// sendTerminal sends what a terminal shows. A slow reader holds up nobody: it misses what
// is no longer kept.
func (s *Server) sendTerminal(ctx context.Context, st *stream, t *terminal.Terminal, after int64) error {
	for r := t.Follow(after); ; {
		if err := st.wait(nil); err != nil {
			return err
		}
		c, err := r.Next(ctx)
		if errors.Is(err, terminal.ErrOver) {
			return nil
		} else if err != nil {
			return err
		}
		if !mayLook(ctx, t) { // it is no longer shared
			return st.append(func(b []byte) []byte { return appendEnd(b, s.terminalError(terminal.ErrNotFound)) })
		}
		err = st.append(func(b []byte) []byte { return appendTerminal(b, c) })
		if err != nil {
			return err
		}
	}
}

func appendTerminal(b []byte, c terminal.Chunk) []byte {
	from, next := strconv.FormatInt(c.Next-int64(len(c.Data)), 10), strconv.FormatInt(c.Next, 10)
	if c.Missed {
		b = sse.Append(b, from, "missed", []byte("{}"))
	}
	if len(c.Data) > 0 {
		b = sse.AppendHead(b, next, "output")
		b = base64.StdEncoding.AppendEncode(b, c.Data)
		b = append(b, "\n\n"...)
	}
	if c.Changed {
		if state, err := json.Marshal(terminalOf(c.State)); err == nil { // it always encodes
			b = sse.Append(b, next, "terminal", state)
		}
	}
	return b
}

func (s *Server) typeIntoTerminal(ctx context.Context, in *struct {
	TerminalPath
	Body struct {
		Data string `json:"data" minLength:"1" maxLength:"4096" doc:"What is typed, control characters included: Enter is \\r."`
	}
},
) (*nothing, error) {
	t, err := s.terminal(ctx, in.TerminalPath)
	if err == nil {
		err = t.Write([]byte(in.Body.Data))
	}
	if err != nil {
		return nil, s.terminalError(err)
	}
	return nil, nil
}

type terminalChange struct {
	Columns int   `json:"columns,omitempty" minimum:"1" maximum:"1000"`
	Rows    int   `json:"rows,omitempty" minimum:"1" maximum:"1000"`
	Shared  *bool `json:"shared,omitempty" doc:"Whether tokens that may only view may look at it. They cannot type."`
}

func (s *Server) changeTerminal(ctx context.Context, in *struct {
	TerminalPath
	Body terminalChange
},
) (*body[Terminal], error) {
	t, err := s.terminal(ctx, in.TerminalPath)
	if err != nil {
		return nil, err
	}
	c := in.Body
	if (c.Columns == 0) != (c.Rows == 0) || c == (terminalChange{}) {
		return nil, terret.Invalid("body", "say what to change: columns and rows, or shared")
	}
	if c.Columns > 0 {
		if err := t.Resize(c.Columns, c.Rows); err != nil {
			return nil, err
		}
	}
	if c.Shared != nil {
		t.Share(*c.Shared)
	}
	return reply(terminalOf(t.State()), nil)
}

func (s *Server) closeTerminal(ctx context.Context, in *TerminalPath) (*nothing, error) {
	t, err := s.terminal(ctx, *in)
	if err == nil {
		err = s.terminals.Remove(t.Session(), t.ID())
	}
	if err != nil {
		return nil, s.terminalError(err)
	}
	return nil, nil
}
