package seat

import (
	"context"
	"errors"
	"sync"

	"github.com/terret-dev/terret"
)

// Occupant is what has a seat: a process, or a share of one.
type Occupant interface {
	comparable
	Alive() bool
	Leave(context.Context) error // ends it politely
	Force() error                // ends it at once
	Told() <-chan struct{}       // closed when its end was told
}

// Seat is an agent's place, which one occupant has at a time. It is replaced when it has
// ended and when a turn needs another.
type Seat[P Occupant] struct {
	Req terret.OpenRequest
	// Switching is held while an occupant is started, ended or set up for a turn.
	Switching sync.Mutex
	// Work is what Close and Kill wait for after the occupants: what reads them, and
	// turns that run. It must end with them.
	Work sync.WaitGroup

	life context.Context // ends when the agent is closed
	end  context.CancelCauseFunc

	mu      sync.Mutex
	current P
	retired P // its end was wanted
	closed  bool
	undone  []string
}

// New makes a seat for the session.
func New[P Occupant](r terret.OpenRequest) *Seat[P] {
	s := &Seat[P]{Req: r, undone: ReadCursor(r.Cursor).Undone}
	s.life, s.end = context.WithCancelCause(context.Background())
	return s
}

// Current is the occupant, or nil.
func (s *Seat[P]) Current() P {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// Occupied is Current, or an error if there is none.
func (s *Seat[P]) Occupied() (P, error) {
	var none P
	p := s.Current()
	if p == none {
		return none, terret.Errorf(terret.CodeConflict, "the agent has no process at the moment; prompt the session to start one")
	}
	return p, nil
}

// Closed reports whether the agent was closed.
func (s *Seat[P]) Closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Ready returns the occupant if it lives and fits, and otherwise what start starts in its
// place, after the end of the last one was told. The context of start ends when the agent
// is closed. Switching must be held.
func (s *Seat[P]) Ready(ctx context.Context, fits func(P) bool, start func(context.Context) (P, error)) (P, error) {
	var none P
	s.mu.Lock()
	p, retired, closed := s.current, s.retired, s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return none, ErrClosed
	case p == none:
		p = retired
	case !p.Alive():
	case fits(p):
		return p, nil
	default:
		s.Retire(ctx, p)
	}
	if p != none {
		select {
		case <-p.Told():
		case <-ctx.Done():
			return none, context.Cause(ctx)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(ErrClosed) })()
	return start(ctx)
}

// Take gives the seat to an occupant whose end will be told. Switching must be held.
func (s *Seat[P]) Take(p P) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = p
}

// Retire ends an occupant that will be replaced, and waits until that is told.
func (s *Seat[P]) Retire(ctx context.Context, p P) {
	s.dismiss(p)
	if err := p.Leave(ctx); err != nil {
		s.Req.Log.Error("could not end the agent's processes", "error", err)
	}
	<-p.Told()
}

// Release ends an occupant that has done its work, and does not wait: Ready does.
func (s *Seat[P]) Release(p P) {
	s.dismiss(p)
	s.Work.Go(func() { _ = p.Leave(context.Background()) })
}

func (s *Seat[P]) dismiss(p P) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = p
	s.leave(p)
}

// leave frees the seat if p has it. s.mu must be held.
func (s *Seat[P]) leave(p P) {
	var none P
	if s.current == p {
		s.current = none
	}
}

// Ended notes that an occupant has ended, and reports whether that was wanted.
func (s *Seat[P]) Ended(p P) (wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(p)
	return s.closed || s.retired == p
}

// Close implements terret.Agent.
func (s *Seat[P]) Close(ctx context.Context) error {
	return s.shut(func(p P) error { return p.Leave(ctx) })
}

// Kill implements terret.Killer.
func (s *Seat[P]) Kill(context.Context) error { return s.shut(P.Force) }

// shut ends every occupant, also one that is being started, and waits until all is told.
func (s *Seat[P]) shut(end func(P) error) error {
	var none P
	var errs error
	finish := func(p P) {
		if p != none {
			errs = errors.Join(errs, end(p))
			<-p.Told()
		}
	}
	s.mu.Lock()
	s.closed = true
	current, retired := s.current, s.retired
	s.mu.Unlock()
	s.end(ErrClosed) // cancels a start
	finish(current)
	finish(retired)
	s.Switching.Lock() // one that was being started has been taken, or given up
	late := s.Current()
	s.Switching.Unlock()
	finish(late)
	s.Work.Wait()
	return errs
}
