package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/sse"
)

// turnStream responds with the events of one turn, from beginning to end. A queued turn
// that is dropped ends the stream too.
func (s *Server) turnStream(ctx context.Context, session, turn string, after int64, release func()) *turnAnswer {
	allowed := s.stillAllowed(ctx, access.From(ctx), appendEnd)
	return &turnAnswer{Body: func(c huma.Context) {
		defer release()
		r, w := humago.Unwrap(c)
		ew := &eventWriter{
			skip: func(e terret.Entry) bool { return turnOf(e) != turn },
			last: func(e terret.Entry) bool { return e.Kind.EndsTurn() && turnOf(e) == turn },
		}
		live := func() error {
			if err := allowed(); err != nil {
				return err
			}
			if t, err := s.engine.FindTurn(r.Context(), session, turn); err != nil || t != nil {
				return err
			}
			err := terret.Errorf(terret.CodeNotFound, "turn %s was dropped from the queue", turn)
			return &parting{err, appendEnd(nil, err)}
		}
		s.streaming(w, r, sse.ContentType, live, func(ctx context.Context, st *stream) error {
			return s.sendEvents(ctx, st, ew, func(ctx context.Context, last terret.Entry) iter.Seq2[terret.Entry, error] {
				return s.events(ctx, session, max(after, last.Seq))
			})
		})
	}}
}

func (s *Server) events(ctx context.Context, session string, after int64) iter.Seq2[terret.Entry, error] {
	return s.engine.Events(ctx, engine.EventQuery{Session: session, After: after, Follow: true, PageBytes: s.readers.page()})
}

// turnOf is the turn that an event belongs to. It looks at the usual place in the
// encoding, and parses the whole event only if that fails.
func turnOf(e terret.Entry) string {
	_, rest, ok := bytes.Cut(e.Body, []byte(`"session":"`+e.Session+`",`))
	if ok && len(e.Body)-len(rest) < 80 {
		if rest, ok = bytes.CutPrefix(rest, []byte(`"turn":"`)); !ok {
			return ""
		}
		if i := bytes.IndexByte(rest, '"'); i >= 0 {
			return string(rest[:i])
		}
	}
	var ev struct {
		Turn string `json:"turn"`
	}
	_ = json.Unmarshal(e.Body, &ev) // an unreadable event belongs to no turn
	return ev.Turn
}
