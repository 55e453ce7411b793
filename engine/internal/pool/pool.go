// Package pool keeps started agents that wait for the first prompt of a session, so
// that a new session need not wait for a start.
//
// Agents are kept by kind: everything that is fixed when an agent starts, which the
// driver expresses as its WarmKey. The most recently used kinds get places and memory
// first, and a kind that is unused for a while is dropped. The pool never causes a
// failure: if it has nothing that fits, Claim returns nil and the driver starts an
// agent itself.
//
// # When agents are started
//
// One at a time, and not while a session begins: for two seconds after a claim the pool
// starts nothing, because a start keeps a processor busy for a second just when the
// first turn needs it. Claims in that time do not extend it, so a busy machine gets its
// agents too. A failed start is retried later, with a pause that doubles each time.
//
// # Who owns what
//
// [New] starts one goroutine, which starts and closes agents; [Pool.Close] ends it,
// waits for it and closes the waiting agents. A claimed agent belongs to the caller.
package pool

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

// Defaults of Config.
const (
	DefaultKeys      = 4
	DefaultMaxMemory = 1 << 30
)

// Config says how many agents to keep, and for how long. The zero value means none.
type Config struct {
	Size int // agents of each kind
	// Keys bounds the kinds; zero means the default.
	Keys int
	// MaxMemory bounds the memory of all agents together, in bytes; zero means the
	// default, a negative value means no limit.
	MaxMemory int64
	// IdleAfter is how long an unused kind is kept; zero or less means for good.
	IdleAfter time.Duration
	// CloseGrace is how long agents may take to close.
	CloseGrace time.Duration
	// Trusted reports whether a person trusts a folder; nil means no folder is trusted.
	// It is called before each start.
	Trusted func(dir string) bool
	// Log is for the operator; nil discards it.
	Log *slog.Logger
}

// Pool keeps warm agents. It is safe for concurrent use.
type Pool struct {
	cfg  Config
	life context.Context // the goroutine's
	stop context.CancelFunc
	wake chan struct{} // has room for one
	done chan struct{} // closed when the goroutine has ended
	gone chan struct{} // closed when Close is done

	mu     sync.Mutex
	sizes  map[string]int64 // the memory that an agent of that name was seen to use
	kinds  []*kind          // most recently used first
	dead   []terret.Warm    // to be closed
	quiet  time.Time        // no start before this
	closed bool
}

// kind is a kind of session.
type kind struct {
	driver  terret.Prewarmer
	key     string
	request terret.OpenRequest // of the last such session
	used    time.Time
	ready   []*warm
	// failures counts failed starts, and agents that died while waiting, since an agent
	// was last handed over.
	failures int
	rest     time.Time // no start before this
}

// warm is a waiting agent.
type warm struct {
	terret.Warm
	alive bool
	size  int64
}

// New makes a pool and starts it. The caller must Close it.
func New(cfg Config) *Pool {
	if cfg.Keys == 0 {
		cfg.Keys = DefaultKeys
	}
	if cfg.MaxMemory == 0 {
		cfg.MaxMemory = DefaultMaxMemory
	}
	if cfg.Trusted == nil {
		cfg.Trusted = func(string) bool { return false }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	p := &Pool{cfg: cfg, sizes: map[string]int64{}, wake: make(chan struct{}, 1), done: make(chan struct{}), gone: make(chan struct{})}
	p.life, p.stop = context.WithCancel(context.Background())
	if p.Off() {
		close(p.done)
	} else {
		go p.loop()
	}
	return p
}

// Off reports whether the pool keeps no agents at all.
func (p *Pool) Off() bool { return p.cfg.Size <= 0 }

// Touch says that a session like the request's is about to be used, so that the pool
// starts agents for it in the background. It reports false if such a session cannot be
// prewarmed, or the pool is off or closed.
func (p *Pool) Touch(d terret.Prewarmer, r terret.OpenRequest) bool {
	return !p.Off() && p.touch(d, r, time.Time{}) != nil
}

// Claim returns an agent for a new session, or nil. The agent then belongs to the
// caller. It never waits for a start.
func (p *Pool) Claim(d terret.Driver, r terret.OpenRequest) terret.Warm {
	w, ok := d.(terret.Prewarmer)
	if !ok || p.Off() || r.Session.NativeID != "" {
		return nil
	}
	k := p.touch(w, r, time.Now().Add(quietTime))
	if k == nil {
		return nil
	}
	for {
		first := p.take(k)
		switch {
		case first == nil:
			return nil
		case first.Alive():
			p.handed(k)
			return first.Warm
		}
		p.bury(k, first)
	}
}

// touch marks a kind as used and returns it; nil if the session cannot be prewarmed.
// Nothing is started until quiet; a quiet time that has begun is not extended.
func (p *Pool) touch(d terret.Prewarmer, r terret.OpenRequest, quiet time.Time) *kind {
	key := d.WarmKey(r)
	if key == "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	now := time.Now()
	if !p.quiet.After(now) {
		p.quiet = quiet
	}
	at := slices.IndexFunc(p.kinds, func(k *kind) bool { return k.agent() == r.Session.Agent && k.key == key })
	k := &kind{driver: d, key: key}
	if at >= 0 {
		k = p.kinds[at]
		p.kinds = slices.Delete(p.kinds, at, at+1)
	}
	k.request, k.used = p.template(r), now
	p.kinds = slices.Insert(p.kinds, 0, k)
	p.poke()
	return k
}

// template is the request without what belongs to one session.
func (p *Pool) template(r terret.OpenRequest) terret.OpenRequest {
	r.Session.ID, r.Session.Title, r.Session.Turn = "", "", ""
	r.Cursor, r.History, r.Host, r.Warm = nil, nil, nil, nil
	r.Log = p.cfg.Log // the session's own log names the session
	return r
}

func (p *Pool) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// take takes the agent that has waited longest, or nil.
func (p *Pool) take(k *kind) *warm {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(k.ready) == 0 {
		return nil
	}
	first := k.ready[0]
	k.ready = slices.Delete(k.ready, 0, 1)
	return first
}

func (p *Pool) handed(k *kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k.failures = 0
}

// bury leaves a dead agent to the goroutine, or closes it if that has ended.
func (p *Pool) bury(k *kind, w *warm) {
	p.mu.Lock()
	k.failed()
	closed := p.closed
	if !closed {
		p.dead = append(p.dead, w.Warm)
	}
	p.mu.Unlock()
	if closed {
		p.closeAll(context.Background(), []terret.Warm{w.Warm})
	}
}

// Close ends the pool and all waiting agents. After the first caller's context ends it
// uses force. All callers wait until it is done.
func (p *Pool) Close(ctx context.Context) {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	p.mu.Unlock()
	if !first {
		<-p.gone
		return
	}
	defer close(p.gone)
	p.stop()
	<-p.done
	p.mu.Lock()
	rest := p.dead
	p.dead = nil
	for _, k := range p.kinds {
		rest = append(rest, k.empty()...)
	}
	p.mu.Unlock()
	p.closeAll(ctx, rest)
}

// closeAll closes agents and returns when they are gone.
func (p *Pool) closeAll(ctx context.Context, all []terret.Warm) {
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.CloseGrace)
	defer cancel()
	var group sync.WaitGroup
	for _, w := range all {
		group.Go(func() {
			if err := w.Close(ctx); err != nil {
				p.cfg.Log.Warn("a warm agent did not close cleanly", "error", err)
			}
		})
	}
	group.Wait()
}

func (k *kind) agent() string { return k.request.Session.Agent }

// failed delays the next start, longer each time.
func (k *kind) failed() {
	k.rest = time.Now().Add(min(backoff<<min(k.failures, 20), maxBackoff))
	k.failures++
}

// empty removes and returns all agents of the kind.
func (k *kind) empty() []terret.Warm {
	out := make([]terret.Warm, len(k.ready))
	for i, w := range k.ready {
		out[i] = w.Warm
	}
	k.ready = nil
	return out
}
