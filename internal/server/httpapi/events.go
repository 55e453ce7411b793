package httpapi

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/sse"
	"github.com/terret-dev/terret/view"
)

const ndjsonType = "application/x-ndjson"

func (s *Server) eventRoutes() {
	handleStream(s, route{
		method: "GET", path: "/v1/sessions/{id}/events", id: "session-events", tag: tagEvents, scope: access.View,
		summary: "Read and follow the events of a session",
		long:    "As text/event-stream: history after a number, then live events, without gaps or duplicates; `id` is the number, `event` the kind, and a comment is sent after 15 seconds of silence. As application/x-ndjson: history, then the end. Last-Event-ID overrides after.",
		fails:   inSession(),
	}, s.sessionEvents, sse.ContentType, ndjsonType)
	handleStream(s, route{
		method: "GET", path: "/v1/events", id: "all-events", tag: tagEvents, scope: access.View,
		summary: "Read and follow the events of several or all sessions in one stream",
		long:    "Like the events of a session, in commit order. `id` is an opaque cursor. Without a cursor the stream starts with the oldest event; with cursor=now it starts with the next one, after an event stream.start that holds the cursor.",
		fails:   inSession(),
	}, s.allEvents, sse.ContentType, ndjsonType)
}

// streamAnswer is a response that the handler writes itself.
type streamAnswer = turnAnswer

// handleStream adds a route that returns a stream of one of these types.
func handleStream[I any](s *Server, r route, fn func(context.Context, *I) (*streamAnswer, error), types ...string) {
	r.answers = func(huma.Registry) map[string]*huma.Response {
		return map[string]*huma.Response{"200": written("A stream", &huma.Schema{Type: huma.TypeString}, types...)}
	}
	handle(s, r, fn)
}

// written describes a response that the handler writes itself.
func written(what string, schema *huma.Schema, types ...string) *huma.Response {
	content := map[string]*huma.MediaType{}
	for _, t := range types {
		content[t] = &huma.MediaType{Schema: schema}
	}
	return &huma.Response{Description: what, Content: content}
}

// EventFilter selects the events that a reader wants.
type EventFilter struct {
	Kinds  []terret.Kind `query:"kinds" doc:"Only these kinds, separated by commas."`
	Deltas string        `query:"deltas" enum:"0,1" doc:"0 omits pieces of text. A message that was broken off is only in its pieces."`
	Gates  []terret.Gate `query:"gates" doc:"Gates where agents wait for a decision while this stream is open: pre_tool, prompt, stop, subagent_stop, compact. Needs a token that may decide."`
	Accept string        `header:"Accept" hidden:"true"`
}

func (f EventFilter) check() error {
	for _, k := range f.Kinds {
		if !k.Known() {
			return terret.Invalid("kinds", "there is no kind %.64q", k)
		}
	}
	return terret.CheckGates("gates", f.Gates)
}

// decider lets a reader decide at the gates it names, in these sessions or in all,
// while its stream is open.
func (s *Server) decider(ctx context.Context, f EventFilter, sessions ...string) (want func() (release func()), err error) {
	if len(f.Gates) == 0 {
		return func() func() { return func() {} }, nil
	}
	if wants(f.Accept, ndjsonType) {
		return nil, terret.Invalid("gates", "only a live stream can decide; ask for %s", sse.ContentType)
	}
	if err := need(ctx, access.Decide); err != nil {
		return nil, err
	}
	if len(sessions) == 0 {
		sessions = []string{""}
	}
	return func() func() {
		var all []func()
		for _, id := range sessions {
			all = append(all, s.engine.Want(id, f.Gates...))
		}
		return func() {
			for _, release := range all {
				release()
			}
		}
	}, nil
}

// takes reports whether the reader wants the event.
func (f EventFilter) takes(e terret.Entry) bool {
	return (len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind)) && (f.Deltas != "0" || !e.Kind.Delta())
}

type sessionEventsInput struct {
	SessionPath
	EventFilter
	After int64  `query:"after" minimum:"0" doc:"Only events with a greater number."`
	Last  string `header:"Last-Event-ID" doc:"The same, as browsers send it. It overrides after."`
	View  string `query:"view" doc:"Another dialect: athena, hive, orchestration, neovate or chirality."`
	Raw   string `query:"raw" enum:"0,1" doc:"1 adds the agent's own messages, if they were kept."`
}

func (in sessionEventsInput) after(s terret.Session) (int64, error) {
	after, field := in.After, "after"
	if in.Last != "" {
		field = "Last-Event-ID"
		n, err := strconv.ParseInt(in.Last, 10, 64)
		if err != nil || n < 0 {
			return 0, terret.Invalid(field, "%.64q is not an event number", in.Last)
		}
		after = n
	}
	if after > s.LastSeq {
		return 0, terret.Invalid(field, "session %s has no event %d; its last one is %d", s.ID, after, s.LastSeq)
	}
	return after, nil
}

func (s *Server) sessionEvents(ctx context.Context, in *sessionEventsInput) (*streamAnswer, error) {
	session, err := s.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	after, err := in.after(session)
	if err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	follow := !wants(in.Accept, ndjsonType)
	w := &eventWriter{filter: in.EventFilter, after: after, lines: !follow}
	if w.want, err = s.decider(ctx, in.EventFilter, session.ID); err != nil {
		return nil, err
	}
	q := engine.EventQuery{Session: session.ID, After: after, Raw: in.Raw == "1", Follow: follow}
	if in.View != "" {
		if w.view, err = view.New(in.View, view.Options{Session: session}); err != nil {
			return nil, err
		}
		q.After = 0 // a view's output depends on what it has seen
	}
	return s.stream(access.From(ctx), w, func(ctx context.Context, last terret.Entry) iter.Seq2[terret.Entry, error] {
		q.After, q.PageBytes = max(q.After, last.Seq), s.readers.page()
		q.Places = s.readers.places(session.LastSeq - q.After)
		return s.engine.Events(ctx, q)
	}), nil
}

// eventsAfter yields the events of a stream after one of them; the zero value means
// from the start.
type eventsAfter func(ctx context.Context, last terret.Entry) iter.Seq2[terret.Entry, error]

// stream responds with events as they come.
func (s *Server) stream(id access.Identity, ew *eventWriter, events eventsAfter) *streamAnswer {
	contentType, end := sse.ContentType, appendEnd
	if ew.lines {
		contentType, end = ndjsonType, nil
	}
	return s.inSlot(func(w http.ResponseWriter, r *http.Request) {
		if ew.want != nil {
			defer ew.want()()
		}
		s.streaming(w, r, contentType, s.stillAllowed(r.Context(), id, end), func(ctx context.Context, st *stream) error {
			return s.sendEvents(ctx, st, ew, events)
		})
	})
}

// errEnough ends a stream that has sent everything it should.
var errEnough = errors.New("that is all")

// sendEvents sends events until there are no more, or nobody reads them. While a reader
// does not read, it holds only what waits to be written: it drops the page of the log
// and reads it again later.
func (s *Server) sendEvents(ctx context.Context, st *stream, ew *eventWriter, events eventsAfter) error {
	if ew.begin != nil {
		if err := st.send(ew.begin); err != nil {
			return err
		}
	}
	var last terret.Entry
	for {
		err := s.sendUntilStalled(ctx, st, ew, events, &last)
		switch {
		case errors.Is(err, errStalled):
			err = st.wait(nil)
		case errors.Is(err, errLarge):
			err = st.waitLarge(ctx)
		default:
			return err
		}
		if err != nil {
			return err
		}
	}
}

func (s *Server) sendUntilStalled(ctx context.Context, st *stream, ew *eventWriter, events eventsAfter, last *terret.Entry) error {
	for entry, err := range events(ctx, *last) {
		if err == nil {
			if err = st.waitBriefly(); err == nil {
				err = st.admit(len(entry.Body) + len(entry.Raw))
			}
			if err == nil {
				err = ew.write(st, entry)
				s.metrics.events.Add(1)
				st.sent()
			}
		}
		switch {
		case err == nil:
			*last = terret.Entry{Seq: entry.Seq, Pos: entry.Pos}
			if st.holdsLarge() {
				return errStalled // and do not read the next one, which may be as large
			}
			continue
		case errors.Is(err, errEnough):
			return nil
		case ctx.Err() == nil && !engine.IsClosed(err) && !ew.lines && !errors.Is(err, errStalled) && !errors.Is(err, errLarge):
			_ = st.send(func(b []byte) []byte { return appendEnd(b, err) }) // else the reader has gone
		}
		return err
	}
	return nil
}

// eventWriter writes events in the form that a reader wants.
type eventWriter struct {
	want   func() (release func()) // for deciding at gates while the stream is open
	filter EventFilter
	after  int64 // where the reader is; earlier events only feed the view
	lines  bool  // as NDJSON
	view   view.View
	// begin, if set, is written first; id returns the id of an event, and last whether
	// it ends the stream.
	begin func(b []byte) []byte
	id    func(terret.Entry) string
	last  func(terret.Entry) bool
	skip  func(terret.Entry) bool
}

func (w *eventWriter) idOf(e terret.Entry) string {
	if w.id != nil {
		return w.id(e)
	}
	return strconv.FormatInt(e.Seq, 10)
}

// appendEvent appends an event unchanged.
func (w *eventWriter) appendEvent(b []byte, e terret.Entry) []byte {
	if w.lines {
		at := len(b)
		b = e.AppendJSON(b)
		return append(append(b[:at], oneLine(b[at:])...), '\n')
	}
	start := len(b)
	if large := len(e.Body) + len(e.Raw); large > mostShare {
		b = slices.Grow(b, large+512) // at once: growing it would take twice as much
	}
	if w.id == nil {
		b = append(strconv.AppendInt(append(b, "id: "...), e.Seq, 10), '\n')
		b = sse.AppendHead(b, "", string(e.Kind))
	} else {
		b = sse.AppendHead(b, w.id(e), string(e.Kind))
	}
	at := len(b)
	b = e.AppendJSON(b)
	if sse.OneLine(b[at:]) { // almost always
		return append(b, "\n\n"...)
	}
	return sse.Append(b[:start], w.idOf(e), string(e.Kind), bytes.Clone(b[at:]))
}

// write sends one event, if the reader wants it. There must be room for it.
func (w *eventWriter) write(st *stream, e terret.Entry) error {
	var err error
	switch {
	case w.skip != nil && w.skip(e):
	case w.view != nil:
		err = w.translate(st, e)
	case w.filter.takes(e):
		err = st.append(func(b []byte) []byte { return w.appendEvent(b, e) })
	}
	if err == nil && w.last != nil && w.last(e) {
		return errEnough
	}
	return err
}

// translate sends an event in another dialect. Of several messages only the last has
// the id: nobody can resume in the middle of an event.
func (w *eventWriter) translate(st *stream, e terret.Entry) error {
	ev, err := e.Decode()
	if err != nil {
		return err
	}
	messages := w.view.Event(ev)
	if e.Seq <= w.after || !w.filter.takes(e) {
		return nil
	}
	return st.append(func(b []byte) []byte {
		for i, m := range messages {
			if w.lines {
				b = append(append(b, oneLine(m.Data)...), '\n')
				continue
			}
			id := ""
			if i == len(messages)-1 {
				id = w.idOf(e)
			}
			b = sse.Append(b, id, m.Name, m.Data)
		}
		return b
	})
}
