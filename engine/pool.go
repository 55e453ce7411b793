package engine

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

// Defaults of Pool.
const (
	DefaultPoolKeys   = 4
	DefaultPoolMemory = 1 << 30
)

const (
	poolCheck   = 30 * time.Second // how often warm agents are looked at
	prewarmTime = time.Minute      // that a start may take
	poolBackoff = 5 * time.Second  // after a failure, doubled with each
	poolRest    = 10 * time.Minute // at most
)

// Pool says how many agents are started before they are needed, for the kinds of
// sessions that were used last. A kind is all that is fixed when an agent starts:
// what a driver says that it is. The zero value means none.
type Pool struct {
	Size int // warm agents of each kind
	// Keys bounds the kinds, zero means the default; those used last stay.
	Keys int
	// MaxMemory bounds the bytes that all warm agents hold together, zero means the
	// default, and a negative value that there is no bound.
	MaxMemory int64
}

// pool keeps agents that are started and wait for the first prompt of a session. One
// goroutine starts them, one at a time, and closes those that are not wanted.
type pool struct {
	Pool
	e    *Engine
	life context.Context
	stop context.CancelFunc
	wake chan struct{}
	done chan struct{} // closed when the goroutine has ended
	shut sync.Mutex    // held while the pool is closed

	mu     sync.Mutex
	sizes  map[string]int64 // bytes that an agent of that name was seen to hold
	kinds  []*kind          // the one used last comes first
	dead   []terret.Warm
	closed bool
}

// kind is a kind of session.
type kind struct {
	driver  terret.Prewarmer
	key     string
	request terret.OpenRequest // of the last such session
	used    time.Time
	ready   []*warm
	// Failures to start, and agents that died while they waited, since one was
	// handed over.
	failures int
	rest     time.Time // no start before
}

// warm is an agent that waits.
type warm struct {
	terret.Warm
	agent string // its name
	alive bool
	size  int64
}

func (p *pool) init(e *Engine) {
	p.e, p.Pool = e, e.cfg.Pool
	if p.Keys == 0 {
		p.Keys = DefaultPoolKeys
	}
	if p.MaxMemory == 0 {
		p.MaxMemory = DefaultPoolMemory
	}
	p.life, p.stop = context.WithCancel(context.Background())
	p.sizes = map[string]int64{}
	p.wake, p.done = make(chan struct{}, 1), make(chan struct{})
}

func (p *pool) off() bool { return p.Size <= 0 }

func (p *pool) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Prewarm starts an agent for a session such as s, which may not exist yet, in the
// background. It returns at once. A session that has begun needs none.
func (e *Engine) Prewarm(ctx context.Context, s terret.Session) error {
	s, err := e.complete(s)
	if err != nil || s.NativeID != "" {
		return err
	}
	d, err := e.driver(s.Agent)
	if err != nil {
		return err
	}
	w, ok := d.(terret.Prewarmer)
	if !ok {
		return terret.Errorf(terret.CodeUnsupported, "%s cannot be started before it is needed", s.Agent)
	}
	if e.pool.off() {
		return terret.Errorf(terret.CodeUnsupported, "agents are not started before they are needed; set pool.size to change that")
	}
	if e.isClosed() {
		return refused()
	}
	in, err := e.settingsFor(ctx, s, terret.TurnOptions{})
	if err != nil {
		return err
	}
	if e.pool.touch(w, e.openRequest(s, in.Settings, e.log)) == nil {
		return terret.Errorf(terret.CodeUnsupported, "%s cannot be prewarmed with these options", s.Agent)
	}
	return nil
}

// touch notes that a session of a kind is used or about to be, and returns the kind;
// nil if such an agent cannot wait.
func (p *pool) touch(d terret.Prewarmer, r terret.OpenRequest) *kind {
	key := d.WarmKey(r)
	if key == "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	at := slices.IndexFunc(p.kinds, func(k *kind) bool { return k.agent() == r.Session.Agent && k.key == key })
	k := &kind{driver: d, key: key}
	if at >= 0 {
		k = p.kinds[at]
		p.kinds = slices.Delete(p.kinds, at, at+1)
	}
	k.request, k.used = template(r), time.Now()
	p.kinds = slices.Insert(p.kinds, 0, k)
	p.poke()
	return k
}

// template is what is known of such sessions in general.
func template(r terret.OpenRequest) terret.OpenRequest {
	r.Session.ID, r.Session.Title, r.Session.Turn = "", "", ""
	r.Cursor, r.History, r.Host, r.Warm = nil, nil, nil, nil
	return r
}

// claim returns a warm agent for a session that begins, or nil.
func (p *pool) claim(d terret.Driver, r terret.OpenRequest) terret.Warm {
	w, ok := d.(terret.Prewarmer)
	if !ok || p.off() || r.Session.NativeID != "" {
		return nil
	}
	k := p.touch(w, r)
	if k == nil {
		return nil
	}
	for {
		p.mu.Lock()
		if p.closed || len(k.ready) == 0 {
			p.mu.Unlock()
			return nil
		}
		first := k.ready[0]
		k.ready = slices.Delete(k.ready, 0, 1)
		p.mu.Unlock()
		alive := first.Alive()
		p.mu.Lock()
		if alive {
			k.failures = 0
			p.mu.Unlock()
			return first.Warm
		}
		k.failed()
		closed := p.closed
		if !closed {
			p.dead = append(p.dead, first.Warm)
		}
		p.mu.Unlock()
		if closed { // nobody else will
			p.closeAll(context.Background(), []terret.Warm{first.Warm})
		}
	}
}

func (k *kind) agent() string { return k.request.Session.Agent }

func (k *kind) failed() {
	k.rest = time.Now().Add(min(poolBackoff<<min(k.failures, 20), poolRest))
	k.failures++
}

// loop keeps the pool as it should be until it is closed.
func (p *pool) loop() {
	defer close(p.done)
	for {
		p.inspect()
		start, drop, next := p.plan(time.Now())
		p.closeAll(context.Background(), drop)
		if p.life.Err() != nil {
			return
		}
		if start != nil {
			p.start(start)
			continue
		}
		wait := time.NewTimer(next)
		select {
		case <-p.wake:
		case <-wait.C:
		case <-p.life.Done():
		}
		wait.Stop()
	}
}

// inspect finds out how those are that wait.
func (p *pool) inspect() {
	p.mu.Lock()
	var all []*warm
	for _, k := range p.kinds {
		all = append(all, k.ready...)
	}
	p.mu.Unlock()
	for _, w := range all {
		alive, size := w.Alive(), w.Memory()
		p.mu.Lock()
		w.alive, w.size = alive, size
		p.sizes[w.agent] = max(p.sizes[w.agent], size)
		p.mu.Unlock()
	}
}

// plan says what to do next: an agent to start, some to close, and how long to wait
// if there is none to start. Kinds that were used last have the first call on memory.
func (p *pool) plan(now time.Time) (start *kind, drop []terret.Warm, next time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	drop, p.dead = p.dead, nil
	next = time.Hour
	p.kinds = slices.DeleteFunc(p.kinds, func(k *kind) bool {
		idle := p.e.cfg.IdleAfter
		forget := idle > 0 && now.Sub(k.used) >= idle
		if forget {
			drop = append(drop, k.take()...)
		} else if idle > 0 {
			next = min(next, k.used.Add(idle).Sub(now))
		}
		return forget
	})
	for len(p.kinds) > p.Keys {
		last := len(p.kinds) - 1
		drop = append(drop, p.kinds[last].take()...)
		p.kinds = p.kinds[:last]
	}
	var total int64
	fits := func(size int64) bool { return p.MaxMemory < 0 || total+size <= p.MaxMemory }
	for _, k := range p.kinds {
		k.ready = slices.DeleteFunc(k.ready, func(w *warm) bool {
			stays := w.alive && fits(w.size)
			switch {
			case stays:
				total += w.size
			case !w.alive:
				k.failed()
			}
			if !stays {
				drop = append(drop, w.Warm)
			}
			return !stays
		})
		if len(k.ready) > 0 {
			next = min(next, poolCheck)
		}
		size := p.sizes[k.agent()]
		switch {
		case len(k.ready) >= p.Size || !fits(size):
		case k.rest.After(now):
			next = min(next, k.rest.Sub(now))
		case start == nil:
			start = k
			total += size // which it will need
		}
	}
	return start, drop, next
}

// take empties the kind.
func (k *kind) take() []terret.Warm {
	out := make([]terret.Warm, len(k.ready))
	for i, w := range k.ready {
		out[i] = w.Warm
	}
	k.ready = nil
	return out
}

// start starts one agent of the kind.
func (p *pool) start(k *kind) {
	p.mu.Lock()
	r := k.request
	p.mu.Unlock()
	r.Trusted = p.e.trusts(r.Session.Cwd) // which may be another matter by now
	if k.driver.WarmKey(r) != k.key {
		p.forget(k)
		return
	}
	ctx, cancel := context.WithTimeout(p.life, prewarmTime)
	w, err := k.driver.Prewarm(ctx, r)
	cancel()
	p.mu.Lock()
	wanted := !p.closed && slices.Contains(p.kinds, k)
	switch {
	case err != nil:
		k.failed()
	case wanted:
		k.ready = append(k.ready, &warm{Warm: w, agent: k.agent(), alive: true})
	}
	p.mu.Unlock()
	switch {
	case err != nil && p.life.Err() == nil:
		p.e.log.Warn("an agent could not be started before it is needed", "agent", r.Session.Agent, "error", err)
	case err == nil && !wanted:
		p.closeAll(context.Background(), []terret.Warm{w})
	}
}

// forget gives up a kind.
func (p *pool) forget(k *kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kinds = slices.DeleteFunc(p.kinds, func(other *kind) bool { return other == k })
	p.dead = append(p.dead, k.take()...)
}

// closeAll closes agents that wait, and returns when they are gone.
func (p *pool) closeAll(ctx context.Context, all []terret.Warm) {
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.e.cfg.CloseGrace)
	defer cancel()
	var group sync.WaitGroup
	for _, w := range all {
		group.Go(func() {
			if err := w.Close(ctx); err != nil {
				p.e.log.Warn("a warm agent did not close cleanly", "error", err)
			}
		})
	}
	group.Wait()
}

// close ends the pool and all agents that wait. The context bounds how long it stays
// polite. Everybody who calls it waits until that is done.
func (p *pool) close(ctx context.Context) {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	if p.off() {
		return
	}
	<-p.done
	p.shut.Lock()
	defer p.shut.Unlock()
	p.mu.Lock()
	rest := p.dead
	p.dead = nil
	for _, k := range p.kinds {
		rest = append(rest, k.take()...)
	}
	p.mu.Unlock()
	p.closeAll(ctx, rest)
}

// openRequest is what a driver is told of a session, without what only the session's
// own agent needs.
func (e *Engine) openRequest(s terret.Session, in terret.Settings, log *slog.Logger) terret.OpenRequest {
	s.Options = terret.SessionOptions{}
	return terret.OpenRequest{Session: s, Settings: in, Trusted: e.trusts(s.Cwd), Env: e.cfg.Env, Owner: e.store.Worker(), Log: log}
}
