package pool

import (
	"context"
	"slices"
	"time"

	"github.com/terret-dev/terret"
)

const (
	quietTime  = 2 * time.Second  // nothing is started for so long after a claim
	checkEvery = 30 * time.Second // how often waiting agents are checked
	startTime  = time.Minute      // the most a start may take
	backoff    = 5 * time.Second  // after a failure; doubles with each
	maxBackoff = 10 * time.Minute
)

// loop fills and empties the pool until it is closed.
func (p *Pool) loop() {
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

// inspect checks the waiting agents.
func (p *Pool) inspect() {
	p.mu.Lock()
	var all []*warm
	var names []string
	for _, k := range p.kinds {
		for _, w := range k.ready {
			all, names = append(all, w), append(names, k.agent())
		}
	}
	p.mu.Unlock()
	for i, w := range all {
		alive, size := w.Alive(), w.Memory()
		p.mu.Lock()
		w.alive, w.size = alive, size
		p.sizes[names[i]] = max(p.sizes[names[i]], size)
		p.mu.Unlock()
	}
}

// plan decides what to do next: a kind to start an agent of, agents to close, and how
// long to wait if there is nothing to start.
func (p *Pool) plan(now time.Time) (start *kind, drop []terret.Warm, next time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	drop, p.dead = p.dead, nil
	unused, next := p.forgetUnused(now)
	drop = append(drop, unused...)
	var total int64
	fits := func(size int64) bool { return p.cfg.MaxMemory < 0 || total+size <= p.cfg.MaxMemory }
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
			next = min(next, checkEvery)
		}
		size := p.sizes[k.agent()]
		switch {
		case len(k.ready) >= p.cfg.Size || !fits(size):
		case p.quiet.After(now):
			next = min(next, p.quiet.Sub(now))
		case k.rest.After(now):
			next = min(next, k.rest.Sub(now))
		case start == nil:
			start = k
			total += size // what it will need
		}
	}
	return start, drop, next
}

// forgetUnused drops kinds that have long been unused or exceed the limit, and returns
// the time until the next one is due. p.mu must be held.
func (p *Pool) forgetUnused(now time.Time) (drop []terret.Warm, next time.Duration) {
	next = time.Hour
	idle := p.cfg.IdleAfter
	kept := 0
	p.kinds = slices.DeleteFunc(p.kinds, func(k *kind) bool {
		forget := kept >= p.cfg.Keys || idle > 0 && now.Sub(k.used) >= idle
		switch {
		case forget:
			drop = append(drop, k.empty()...)
			return true
		case idle > 0:
			next = min(next, k.used.Add(idle).Sub(now))
		}
		kept++
		return false
	})
	return drop, next
}

// start starts one agent of the kind.
func (p *Pool) start(k *kind) {
	p.mu.Lock()
	r := k.request
	p.mu.Unlock()
	r.Trusted = p.cfg.Trusted(r.Session.Cwd) // that may have changed
	if k.driver.WarmKey(r) != k.key {
		p.forget(k)
		return
	}
	ctx, cancel := context.WithTimeout(p.life, startTime)
	w, err := k.driver.Prewarm(ctx, r)
	cancel()
	p.mu.Lock()
	if err != nil {
		k.failed()
	} else { // if the pool was closed meanwhile, this closes it
		k.ready = append(k.ready, &warm{Warm: w, alive: true})
	}
	p.mu.Unlock()
	if err != nil && p.life.Err() == nil {
		p.cfg.Log.Warn("could not prewarm an agent", "agent", r.Session.Agent, "error", err)
	}
}

// forget drops a kind.
func (p *Pool) forget(k *kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kinds = slices.DeleteFunc(p.kinds, func(other *kind) bool { return other == k })
	p.dead = append(p.dead, k.empty()...)
}
