package httpapi

import (
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

func (s *Server) searchRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/search", id: "search", tag: tagSessions, scope: access.View,
		summary: "Find messages by their words, newest first",
		long:    "It looks at what people and agents said, not at what tools read or printed. All words must occur; each also finds longer words that begin with it, and case does not matter. A token for one session searches that session only.",
		fails:   inSession(),
	}, s.search)
}

func (s *Server) search(ctx context.Context, in *struct {
	Q       string `query:"q" required:"true" maxLength:"500" doc:"The words."`
	Session string `query:"session" doc:"Only this session."`
	Limit   int    `query:"limit" minimum:"1" maximum:"200" doc:"Default 50."`
	Cursor  string `query:"cursor" doc:"The next of the previous page."`
},
) (*body[terret.Page[terret.Found]], error) {
	q := terret.SearchQuery{Words: in.Q, Session: nonEmpty(in.Session, access.From(ctx).Session), Limit: in.Limit, Cursor: in.Cursor}
	if q.Session != "" {
		if _, err := s.session(ctx, q.Session); err != nil {
			return nil, err
		}
	}
	return reply(s.store.Search(ctx, q))
}
