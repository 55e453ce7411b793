package opencode

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/terret-dev/terret/driver/internal/seat"
)

// pool holds the servers that run, by what they were started with. A server is started
// for the first who wants it and ended with the last, so that none outlives its use.
type pool struct {
	mu     sync.Mutex
	places map[string]*place
	closed bool
}

// place is where the server of one launch is, or would be.
type place struct {
	// turn is held, as a semaphore of one, while the server is started or stopped.
	turn   chan struct{}
	server *server // guarded by turn
	users  int     // guarded by turn
}

// lease is one user's share of a server.
type lease struct {
	*server
	place *place
	once  sync.Once
}

func (p *pool) place(key string) (*place, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, seat.ErrClosed
	}
	at := p.places[key]
	if at == nil {
		at = &place{turn: make(chan struct{}, 1)}
		if p.places == nil {
			p.places = map[string]*place{}
		}
		p.places[key] = at
	}
	return at, nil
}

// acquire returns a server for the launch, started if there is none that lives. The
// context bounds the wait. Whoever gets a lease releases it.
func (p *pool) acquire(ctx context.Context, l launch, owner string, patience time.Duration, log *slog.Logger) (*lease, error) {
	at, err := p.place(l.key())
	if err != nil {
		return nil, err
	}
	select {
	case at.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-at.turn }()
	if _, err := p.place(l.key()); err != nil { // it was closed while we waited
		return nil, err
	}
	if at.server != nil && !at.server.Alive() {
		at.server.stop() // it has crashed; those who use it find out by themselves
		at.server, at.users = nil, 0
	}
	if at.server == nil {
		if at.server, err = startServer(ctx, l, owner, patience, log); err != nil {
			return nil, err
		}
		at.users = 0
	}
	at.users++
	return &lease{server: at.server, place: at}, nil
}

// release gives the server back, and ends it if nobody else has it. It returns when
// the server is gone, if it goes. ended says that it did.
func (l *lease) release() (ended bool) {
	l.once.Do(func() {
		l.place.turn <- struct{}{}
		defer func() { <-l.place.turn }()
		if l.place.server == l.server { // or else it is gone, and may have been replaced
			if l.place.users--; l.place.users == 0 {
				l.stop()
				l.place.server = nil
			}
		}
		ended = !l.Alive()
	})
	return ended
}

// Discard implements seat.Prepared.
func (l *lease) Discard(context.Context) { l.release() }

// shared reports whether somebody else has the server too.
func (l *lease) shared() bool {
	l.place.turn <- struct{}{}
	defer func() { <-l.place.turn }()
	return l.place.server == l.server && l.place.users > 1
}

// shutdown ends all servers, and lets none be started.
func (p *pool) shutdown() {
	p.mu.Lock()
	p.closed = true
	var all []*place
	for _, at := range p.places {
		all = append(all, at)
	}
	p.mu.Unlock()
	var work sync.WaitGroup
	for _, at := range all {
		work.Go(func() {
			at.turn <- struct{}{}
			defer func() { <-at.turn }()
			if at.server != nil {
				at.server.stop()
				at.server = nil
			}
		})
	}
	work.Wait()
}
