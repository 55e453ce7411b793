package httpapi

import (
	"context"
	"encoding/base64"
	"iter"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/sse"
)

// cursorNow asks for a stream that begins with the next event.
const cursorNow = "now"

type allEventsInput struct {
	EventFilter
	Sessions []string `query:"sessions" maxItems:"500" doc:"Only these sessions, separated by commas. Default: all."`
	Cursor   string   `query:"cursor" doc:"The id of the last event seen, or now."`
	Last     string   `header:"Last-Event-ID" doc:"The same, as browsers send it. It overrides cursor."`
}

// place is the cursor of a position. It is opaque to readers.
func place(pos int64) string {
	return base64.RawURLEncoding.EncodeToString([]byte("pos:" + strconv.FormatInt(pos, 10)))
}

func parsePlace(field, cursor string) (int64, error) {
	if b, err := base64.RawURLEncoding.DecodeString(cursor); err == nil {
		if text, ok := strings.CutPrefix(string(b), "pos:"); ok {
			if pos, err := strconv.ParseInt(text, 10, 64); err == nil && pos >= 0 {
				return pos, nil
			}
		}
	}
	return 0, terret.Invalid(field, "%.64q is not a cursor from a stream; leave it out to start with the oldest event, or use now", cursor)
}

func (s *Server) allEvents(ctx context.Context, in *allEventsInput) (*streamAnswer, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	sessions := in.Sessions
	if own := access.From(ctx).Session; own != "" && len(sessions) == 0 {
		sessions = []string{own}
	}
	for _, id := range sessions {
		if _, err := s.session(ctx, id); err != nil {
			return nil, err
		}
	}
	cursor, field := in.Cursor, "cursor"
	if in.Last != "" {
		cursor, field = in.Last, "Last-Event-ID"
	}
	w := &eventWriter{
		filter: in.EventFilter, lines: wants(in.Accept, ndjsonType),
		id: func(e terret.Entry) string { return place(e.Pos) },
	}
	var err error
	if w.want, err = s.decider(ctx, in.EventFilter, sessions...); err != nil {
		return nil, err
	}
	pos, err := s.startOf(ctx, field, cursor)
	if err != nil {
		return nil, err
	}
	end, err := s.store.LastPos(ctx)
	if err != nil {
		return nil, err
	}
	w.after = pos
	if !w.lines {
		w.begin = func(b []byte) []byte {
			return sse.Append(b, place(pos), "stream.start", []byte(`{"cursor":"`+place(pos)+`"}`))
		}
	}
	return s.stream(access.From(ctx), w, func(ctx context.Context, last terret.Entry) iter.Seq2[terret.Entry, error] {
		q := engine.AllQuery{After: max(pos, last.Pos), Sessions: sessions, Follow: !w.lines, PageBytes: s.readers.page()}
		q.Places = s.readers.places(end - q.After)
		return s.engine.AllEvents(ctx, q)
	}), nil
}

// startOf is the position after which a stream begins.
func (s *Server) startOf(ctx context.Context, field, cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	last, err := s.store.LastPos(ctx)
	if err != nil || cursor == cursorNow {
		return last, err
	}
	pos, err := parsePlace(field, cursor)
	if err == nil && pos > last {
		err = terret.Invalid(field, "%.64q is a cursor of another server; leave it out, or use now", cursor)
	}
	return pos, err
}
