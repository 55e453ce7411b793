package opencode

import (
	"slices"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// nudge makes serve look at the turn.
func (s *stay) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next is when the turn must be looked at.
func (s *stay) next() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.t.turn == nil:
		return time.Hour
	case !s.idleAt.IsZero():
		return max(time.Until(s.idleAt.Add(s.a.d.tempo.settle*time.Duration(s.looked+1))), time.Millisecond)
	}
	return max(time.Until(s.spokeAt.Add(s.a.d.tempo.watch)), time.Millisecond)
}

// note takes from an event what says how far the turn is. It reports whether the server
// works though it was told to stop. s.mu is held.
func (s *stay) note(ev event) (again bool) {
	var of statusEvent
	seat.Decode(ev.Properties, &of)
	if _, ours := s.t.actor(of.SessionID); !ours {
		return false
	}
	s.spokeAt = time.Now()
	if of.SessionID != s.native {
		return false
	}
	switch {
	case ev.Type == "session.idle", ev.Type == "session.status" && of.Status.Type == "idle", ev.Type == "session.error":
		if s.idleAt.IsZero() {
			s.idleAt, s.looked = time.Now(), 0
		}
	case ev.Type == "session.status":
		s.idleAt = time.Time{}
		stray := s.t.turn == nil
		again = stray && s.stopped || !stray && (s.t.turn.interrupted || s.t.turn.gaveUp != nil)
		if limit := s.a.d.cfg.RetryFor; !stray && limit > 0 && s.t.turn.waited > limit && s.t.turn.gaveUp == nil {
			s.t.turn.gaveUp, again = tired(of.Status), true
		}
		if since := time.Since(s.abortAt); again && since < s.a.d.tempo.settle {
			again = false // it has just been told
		}
	}
	return again
}

// check ends the turn if it is over beyond doubt.
func (s *stay) check() error {
	s.mu.Lock()
	u := s.t.turn
	if u == nil {
		s.idleAt = time.Time{}
		s.mu.Unlock()
		return nil
	}
	settled, answered := s.t.settled()
	stopped := u.interrupted || u.gaveUp != nil || u.failure != nil || s.late != nil
	over := !s.idleAt.IsZero() && (answered || settled && stopped)
	s.mu.Unlock()
	if !over {
		return nil
	}
	return s.finish(nil)
}

// look asks the server how far the turn is. It is the truth; the events are a hint.
func (s *stay) look() error {
	s.mu.Lock()
	u, silent := s.t.turn, s.idleAt.IsZero()
	waiting := silent && len(s.asks) > 0 // then nobody expects the agent to say anything
	s.looked++
	since := s.idleAt
	if waiting {
		s.spokeAt = time.Now()
	}
	s.mu.Unlock()
	if u == nil || waiting {
		return nil
	}
	busy, err := s.c.busy(s.life, s.native)
	if err != nil || busy {
		s.mu.Lock()
		s.idleAt, s.spokeAt = time.Time{}, time.Now()
		s.mu.Unlock()
		return nil //nolint:nilerr // it is asked again, and if it is dead that is told
	}
	if err := s.readMessages(); err != nil {
		return err
	}
	s.mu.Lock()
	settled, _ := s.t.settled()
	stopped := u.interrupted || u.gaveUp != nil || u.failure != nil || s.late != nil
	if silent {
		s.idleAt, s.looked, since = time.Now(), 0, time.Now()
	}
	idle := time.Since(since)
	known := len(u.users) > 0
	s.mu.Unlock()
	switch {
	case settled, stopped && idle > 4*s.a.d.tempo.settle:
		return s.finish(nil)
	case idle > s.a.d.tempo.begun:
		return s.finish(terret.Errorf(terret.CodeExecutionError, "OpenCode stopped without an answer (it took the prompt: %v); prompt the session to try again", known))
	}
	return nil
}

// readMessages takes in the messages as they are stored.
func (s *stay) readMessages() error {
	s.mu.Lock()
	sessions := []string{s.native}
	for id := range s.t.children {
		sessions = append(sessions, id)
	}
	s.mu.Unlock()
	slices.Sort(sessions[1:])
	for _, id := range sessions {
		all, err := s.c.messages(s.life, id, 100)
		if err != nil {
			return nil //nolint:nilerr // what the events told is all there is
		}
		s.mu.Lock()
		events := s.t.stored(all, time.Now())
		s.mu.Unlock()
		if err := s.emit(events); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the turn.
func (s *stay) finish(why *terret.Error) error {
	s.mu.Lock()
	for _, q := range s.asks {
		q.cancel(seat.ErrWithdrawn)
	}
	if s.late != nil && why == nil && s.t.turn != nil && !s.t.turn.interrupted && s.t.turn.failure == nil {
		why = terret.AsError(s.diagnose(s.late))
	}
	s.idleAt, s.late = time.Time{}, nil
	s.stopped = s.t.turn != nil && (s.t.turn.interrupted || s.t.turn.gaveUp != nil)
	s.mu.Unlock()
	s.asking.Wait()
	s.mu.Lock()
	events := s.t.end(why, time.Now())
	s.mu.Unlock()
	s.a.turnEnded(s) // before the end is told: the next turn may begin with that
	return s.emit(events)
}
