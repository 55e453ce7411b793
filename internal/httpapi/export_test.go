package httpapi

import (
	"context"

	"github.com/terret-dev/terret/internal/push"
)

// PushNotes is what a browser would be told.
func (s *Server) PushNotes(ctx context.Context, to push.Subscription, topics []push.Topic) []push.Note {
	return s.pushNotes(ctx, to, topics)
}
