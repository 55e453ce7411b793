package opencode

import (
	"context"
	"slices"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/proc"
)

// catchUp takes in what was said while the stream was broken.
func (s *seat) catchUp() error {
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
			q.cancel(errWithdrawn)
		}
	}
	s.idleAt, s.looked = time.Now(), 0 // the end may be among what was missed
	s.mu.Unlock()
	return nil
}

// died tells what a server that ended by itself leaves behind.
func (s *seat) died() {
	s.stop(errEnded)
	exit, _ := s.lease.proc.Kill()
	s.lease.release()
	why := s.lease.exitError(exit, "OpenCode's server ended in the middle of the turn", "prompt the session to go on")
	s.mu.Lock()
	events := s.t.end(&why, time.Now())
	s.mu.Unlock()
	events = append(events,
		terret.Event{Data: exitEvent(exit, s.lease.began)},
		terret.Event{Data: terret.SessionEnd{Reason: "agent_exit", NativeReason: exit.String()}})
	s.a.gone(s)
	s.last(events)
}

// left gives the server back, and tells what is left behind. Somebody else may go on
// with the server, so it is told to stop what it does for us.
func (s *seat) left() {
	s.mu.Lock()
	running := s.t.turn != nil
	s.mu.Unlock()
	if running && s.lease.alive() && s.lease.shared() {
		ctx, cancel := context.WithTimeout(context.Background(), abortTime)
		_ = s.c.post(ctx, "/session/"+s.native+"/abort", nil, nil)
		cancel()
	}
	s.stop(errClosed)
	ended := s.lease.release()
	s.mu.Lock()
	events := s.t.end(terret.Errorf(terret.CodeProcessFailed, "the agent was closed in the middle of the turn; prompt the session to go on"), time.Now())
	s.mu.Unlock()
	if ended {
		exit, _ := s.lease.proc.Kill() // it is gone: this says how
		events = append(events, terret.Event{Data: exitEvent(exit, s.lease.began)})
	}
	s.a.gone(s)
	s.last(events)
}

// last tells the last there is to tell.
func (s *seat) last(events []terret.Event) {
	if len(events) == 0 {
		return
	}
	if err := s.a.req.Host.Emit(context.Background(), events, nil); err != nil {
		s.a.req.Log.Warn("the end of the agent could not be logged", "error", err)
	}
}

func exitEvent(exit proc.Exit, began time.Time) terret.ProcessExit {
	out := terret.ProcessExit{DurationMS: time.Since(began).Milliseconds()}
	if exit.Signal != "" {
		out.Signal = terret.NullString(exit.Signal)
	} else {
		out.Code = &exit.Code
	}
	return out
}
