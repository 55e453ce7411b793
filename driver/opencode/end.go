package opencode

import (
	"context"
	"slices"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// catchUp takes in what was said while the stream was broken.
func (s *stay) catchUp() error {
	if err := s.readMessages(); err != nil {
		return err
	}
	var permissions []permissionAsked
	var questions []questionAsked
	if s.c.get(s.life, "/permission", &permissions) != nil || s.c.get(s.life, "/question", &questions) != nil {
		return nil // if the server is dead, that is told
	}
	var open []string
	for _, q := range permissions {
		open = append(open, q.ID)
		s.permission(q)
	}
	for _, q := range questions {
		open = append(open, q.ID)
		s.question(q)
	}
	s.mu.Lock()
	for id, q := range s.asks {
		if !slices.Contains(open, id) {
			q.cancel(seat.ErrWithdrawn)
		}
	}
	s.idleAt, s.looked = time.Now(), 0 // the end may be among what was missed
	s.mu.Unlock()
	return nil
}

// died tells what a server that ended by itself leaves behind.
func (s *stay) died() {
	s.stop(seat.ErrEnded)
	s.lease.release()
	why := s.lease.ExitError("OpenCode's server ended in the middle of the turn", "prompt the session to go on")
	s.mu.Lock()
	events := s.t.end(why, time.Now())
	s.mu.Unlock()
	s.last(append(events, s.lease.Exited(s.a.Ended(s))...))
}

// left gives the server back, and tells what is left behind. Somebody else may go on
// with the server, so it is told to stop what it does for us.
func (s *stay) left() {
	s.mu.Lock()
	running := s.t.turn != nil
	s.mu.Unlock()
	if running && s.lease.Alive() && s.lease.shared() {
		ctx, cancel := context.WithTimeout(context.Background(), abortTime)
		_ = s.c.post(ctx, "/session/"+s.native+"/abort", nil, nil)
		cancel()
	}
	s.stop(seat.ErrClosed)
	ended := s.lease.release()
	s.mu.Lock()
	events := s.t.end(terret.Errorf(terret.CodeProcessFailed, "the agent was closed in the middle of the turn; prompt the session to go on"), time.Now())
	s.mu.Unlock()
	if ended {
		events = append(events, s.lease.Exited(true)...)
	}
	s.a.Ended(s)
	s.last(events)
}

// last tells the last there is to tell.
func (s *stay) last(events []terret.Event) {
	if len(events) == 0 {
		return
	}
	if err := s.a.Req.Host.Emit(context.Background(), events, nil); err != nil {
		s.a.Req.Log.Warn("the end of the agent could not be logged", "error", err)
	}
}
