package httpapi

import (
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/notify"
	"github.com/terret-dev/terret/internal/server/push"
)

// PushNotes is what a browser would be told.
func (s *Server) PushNotes(ctx context.Context, to push.Subscription, topics []push.Topic) ([]push.Note, error) {
	return s.pushNotes(ctx, to, topics)
}

// NotifyMessage is what a channel would be told.
func (s *Server) NotifyMessage(ctx context.Context, p notify.Page, c notify.Channel, d notify.Delivery) (notify.Message, bool, error) {
	return s.notifyMessage(ctx, p, c, d)
}

// WantsPush reports whether the server takes it that somebody wants notifications.
func (s *Server) WantsPush() bool { return s.wantsPush() }

// TellsOf reports whether the server tells of a session.
func (s *Server) TellsOf(session string) bool { return s.tellsOf(session) }

// RememberedBlocks is how many blocks of prompts the server keeps with idempotency keys.
func (s *Server) RememberedBlocks() (n int) {
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	for _, e := range s.keys.known {
		if turn, ok := e.v.(terret.Turn); ok {
			n += len(turn.Prompt)
		}
	}
	return n
}
