package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

// In a fleet any node serves any session. What is in the store every node reads; prompts,
// decisions and interrupts go by the inbox. What needs the machine itself, such as the
// files of a session, is passed on through the store to the node that has the session's
// folder: the whole request, and then the whole response.

// machineBound names the operations that only the machine with the session's folder can
// do. The parameter "node" sends any other operation to a node, except those that stream.
var machineBound = map[string]bool{
	"list-commands": true, "run-command": true, "compact": true, "session-models": true, "context": true, "list-copies": true, "restore-copy": true, "fork": true,
	"handoff": true, "undo": true, "redo": true, "changes": true, "take-back": true, "commit": true, "replay-command": true, "list-files": true, "read-file": true, "download-file": true, "find-files": true, "delete-session": true,
	"branch": true, "push": true, "pull-request": true, "open-pull-request": true, "merge-worktree": true, "rebase-worktree": true, "discard-worktree": true,
	"get-workflow": true, "resume-workflow": true, "get-review": true, "resume-review": true, "get-race": true, "resume-race": true, "keep-racer": true, "drop-race": true,
}

// ofToken names the operations on what belongs to the caller's token. Other nodes are not told
// which it is, and share what belongs to it.
var ofToken = map[string]bool{"get-push": true, "subscribe-push": true, "unsubscribe-push": true, "test-push": true}

var streams = map[string]bool{"session-events": true, "all-events": true, "prompt": true, "export-session": true}

const (
	maxRelayed  = 16 << 20 // bytes of a request or response that is passed on
	relayedAt   = 32       // how many requests of others are answered at the same time
	relayPause  = 20 * time.Millisecond
	relayFailed = time.Second
)

// question is a request that is passed on.
type question struct {
	Method string          `json:"method"`
	URL    string          `json:"url"`
	Type   string          `json:"type,omitempty"`
	Key    string          `json:"key,omitempty"` // Idempotency-Key
	Body   []byte          `json:"body,omitempty"`
	By     access.Identity `json:"by"`
}

// answer is the response to it.
type answer struct {
	Status int    `json:"status"`
	Type   string `json:"type,omitempty"`
	Body   []byte `json:"body,omitempty"`
}

type relayedKey struct{}

// elsewhere returns the node that must do the operation, or nothing if this one can. It
// removes the parameter "node", which is for us.
func (s *Server) elsewhere(r *http.Request, op string) string {
	if s.fleet == nil || r.Context().Value(relayedKey{}) != nil || streams[op] {
		return ""
	}
	if query := r.URL.Query(); query.Has("node") {
		node := query.Get("node")
		query.Del("node")
		r.URL.RawQuery = query.Encode()
		if node != s.cfg.Node {
			return node
		}
		return ""
	}
	if !machineBound[op] {
		return ""
	}
	id := r.PathValue("id")
	if id == "" {
		id = r.URL.Query().Get("session")
	}
	session, err := s.store.Session(r.Context(), id)
	if err != nil {
		return "" // the handler on this node says so
	}
	return s.engine.Elsewhere(session)
}

// relay has another node answer the request.
func (s *Server) relay(w http.ResponseWriter, r *http.Request, op route, node string) {
	err := need(r.Context(), op.scope)
	switch {
	case err != nil:
	case ofToken[op.id]:
		err = terret.Invalid("node", "all nodes share the subscriptions of a token; leave the parameter out")
	case op.tag == tagSetup: // keys must not be in the database, not even for a while
		err = terret.Invalid("node", "a node is set up only at its own address; open that, or leave the parameter out")
	}
	var body []byte
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(r.Body, maxRelayed+1))
	}
	if err == nil && len(body) > maxRelayed {
		err = tooLarge("body", "at most %d bytes can be passed on to node %s", maxRelayed, node)
	}
	if err != nil {
		writeProblem(w, err)
		return
	}
	bodyRead(r.Context())
	a, err := askNode(r.Context(), s.fleet, node, question{
		Method: r.Method, URL: r.URL.RequestURI(), Type: r.Header.Get("Content-Type"), Key: r.Header.Get("Idempotency-Key"), Body: body, By: limited(access.From(r.Context())),
	})
	switch gone := errors.Is(err, terret.ErrNotFound); {
	case gone && machineBound[op.id]:
		err = terret.Errorf(terret.CodeConflict, "%s: it has the folder of this session", terret.AsError(err).Message)
	case gone:
		err = terret.Invalid("node", "%s", terret.AsError(err).Message)
	}
	if err != nil {
		writeProblem(w, err)
		return
	}
	if a.Type != "" {
		w.Header().Set("Content-Type", a.Type)
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

// limited is an identity that may do on another node what it may do here: who runs inside
// an agent cannot be told there.
func limited(id access.Identity) access.Identity {
	if id.Scope.Includes(access.Decide) && id.May(access.Decide, id.Session) != nil {
		id.Scope = access.Prompt
	}
	return id
}

// answerCalls does what other nodes ask for, until the server is closed.
func (s *Server) answerCalls() {
	room := make(chan struct{}, relayedAt)
	for version := int64(0); s.life.Err() == nil; {
		wait := relayPause
		calls, err := s.fleet.Calls(s.life)
		for _, c := range calls {
			room <- struct{}{}
			s.background.Go(func() {
				defer func() { <-room }()
				s.answerCall(c)
			})
		}
		if err == nil {
			version, err = s.store.WaitForeign(s.life, version)
		}
		if err != nil && s.life.Err() == nil {
			s.log.Warn("cannot see what other nodes ask for", "error", err)
			wait = relayFailed
		}
		pause(s.life, wait)
	}
}

// answerCall answers one request of another node.
func (s *Server) answerCall(c terret.Call) {
	var q question
	a := answer{Status: http.StatusBadRequest}
	if err := json.Unmarshal(c.Question, &q); err == nil {
		a = s.answerTo(q)
	}
	text, err := json.Marshal(a)
	if err == nil {
		err = s.fleet.Reply(context.WithoutCancel(s.life), c.ID, text)
	}
	if err != nil {
		s.log.Warn("cannot answer another node", "method", q.Method, "error", err)
	}
}

func (s *Server) answerTo(q question) answer {
	ctx := access.With(context.WithValue(s.life, relayedKey{}, true), q.By)
	r, err := http.NewRequestWithContext(ctx, q.Method, q.URL, bytes.NewReader(q.Body))
	if err != nil {
		return answer{Status: http.StatusBadRequest}
	}
	for name, value := range map[string]string{"Content-Type": q.Type, "Idempotency-Key": q.Key} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	w := &kept{header: http.Header{}}
	whole := s.serveWhole(w, r)
	switch {
	case !whole:
		w = &kept{header: http.Header{}}
		writeProblem(w, terret.Errorf(terret.CodeInternal, "node %s broke its response off; see its log, and try again", s.cfg.Node))
	case w.body.Len() > maxRelayed:
		w = &kept{header: http.Header{}}
		writeProblem(w, terret.Errorf(terret.CodeUnsupported, "the response has more than %d bytes, which is too much to pass on; ask node %s itself", maxRelayed, s.cfg.Node))
	}
	return answer{w.status, w.header.Get("Content-Type"), w.body.Bytes()}
}

// serveWhole serves a request, and reports whether the response is whole. Handlers break a
// response off with a panic, which the HTTP server would take.
func (s *Server) serveWhole(w http.ResponseWriter, r *http.Request) (whole bool) {
	defer func() { _ = recover() }() // noted has logged it
	s.noted(s.mux).ServeHTTP(w, r)
	return true
}

// kept is a response that is kept for another node.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (k *kept) Header() http.Header { return k.header }

// WriteHeader implements http.ResponseWriter.
func (k *kept) WriteHeader(status int) {
	if k.status == 0 {
		k.status = status
	}
}

// Write implements http.ResponseWriter.
func (k *kept) Write(b []byte) (int, error) {
	k.WriteHeader(http.StatusOK)
	if k.body.Len() <= maxRelayed {
		k.body.Write(b)
	}
	return len(b), nil
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
