package engine

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/desk"
	"github.com/terret-dev/terret/engine/internal/hub"
	"github.com/terret-dev/terret/engine/internal/journal"
	"github.com/terret-dev/terret/engine/internal/pool"
	"github.com/terret-dev/terret/engine/internal/recorder"
	"github.com/terret-dev/terret/engine/internal/remote"
	"github.com/terret-dev/terret/internal/checkpoint"
	"github.com/terret-dev/terret/internal/redact"
	"github.com/terret-dev/terret/policy"
)

// New makes an engine and starts it. It takes over what dead processes left behind: it
// ends their turns with an error and decides their requests, so that their sessions can
// be resumed. The context bounds that. On a store with leases it goes on to do so while it
// runs. The caller must Close the engine.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	if err := checkConfig(cfg); err != nil {
		return nil, err
	}
	e := &Engine{
		seed: maphash.MakeSeed(),
		cfg:  cfg, store: cfg.Store, log: cfg.Log, secrets: redact.Known(cfg.Secrets), titling: make(chan struct{}, maxTitling),
		drivers: map[string]terret.Driver{}, live: map[string]*live{}, claiming: map[string]chan struct{}{}, deciding: map[string]int{}, wakes: map[string]bool{},
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	setDefault(&e.cfg.IdleAfter, DefaultIdleAfter)
	setDefault(&e.cfg.InterruptGrace, DefaultInterruptGrace)
	setDefault(&e.cfg.CloseGrace, DefaultCloseGrace)
	for _, d := range cfg.Drivers {
		e.drivers[d.Name()] = d
	}
	e.life, e.end = context.WithCancelCause(context.Background())
	if !cfg.Undo.Off {
		e.repos.home = cfg.Home
	}
	e.repos.limits = checkpoint.Limits{MaxFiles: cfg.Undo.MaxFiles, MaxBytes: cfg.Undo.MaxBytes}
	e.watch, e.peers = remote.NewWatcher(), remote.New(cfg.Store, cfg.Node)
	e.hub = hub.New(cfg.Store, e.watch.Poke)
	e.journal = journal.New(cfg.Store, e.hub)
	e.records = recorder.New(cfg.Recorder)
	e.pool = e.newPool()
	home, _ := os.UserHomeDir() // without one, ~ is not expanded
	e.desk = desk.New(desk.Config{
		Home: cfg.Home, UserHome: home, Guarded: policy.Guard(terret.ProjectFiles(cfg.Drivers)), Unattended: cfg.Unattended, Timeouts: cfg.Timeouts, Rules: cfg.Store.ListRules, About: e.about,
	})

	e.work.Go(func() { e.journal.Run(e.life) })
	e.work.Go(e.watchLoop)
	if err := e.recover(ctx); err != nil {
		return nil, errors.Join(err, e.Close(context.WithoutCancel(ctx)))
	}
	if s, ok := cfg.Store.(leased); ok {
		e.work.Go(func() { e.recoverLoop(s.Lease()) })
	}
	return e, nil
}

func setDefault(d *time.Duration, v time.Duration) {
	if *d == 0 {
		*d = v
	}
}

func (e *Engine) newPool() *pool.Pool {
	p := e.cfg.Pool
	return pool.New(pool.Config{
		Size: p.Size, Keys: p.Keys, MaxMemory: p.MaxMemory,
		IdleAfter: e.cfg.IdleAfter, CloseGrace: e.cfg.CloseGrace, Trusted: e.trusts, Log: e.log,
	})
}

// Close interrupts running turns, closes all agents, gives back all sessions and waits
// until nothing is left. After the context ends it uses force. It is idempotent. It
// does not close the store.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	var all []*live
	for _, l := range e.live {
		all = append(all, l)
	}
	e.mu.Unlock()

	var group sync.WaitGroup
	for _, l := range all {
		group.Go(func() { e.shut(ctx, l, "closed") })
	}
	group.Go(func() { e.pool.Close(ctx) })
	group.Wait()
	e.shutdown.Do(func() { e.downErr = e.shutDrivers(ctx) })
	e.mu.Lock() // no background work starts after this
	e.end(errClosed)
	e.mu.Unlock()
	e.work.Wait()
	e.hub.Close() // nothing is committed after this
	e.records.Close()
	return e.downErr
}

func (e *Engine) shutDrivers(ctx context.Context) error {
	var err error
	for name, d := range e.drivers {
		if s, ok := d.(terret.Shutdowner); ok {
			if sErr := s.Shutdown(ctx); sErr != nil {
				err = errors.Join(err, terret.Errorf(terret.CodeProcessFailed, "shut down %s: %w", name, sErr))
			}
		}
	}
	return err
}

// Drain waits until no turn runs, or the context ends. Turns that people run themselves
// need no engine to end, and are not waited for.
func (e *Engine) Drain(ctx context.Context) error {
	for {
		t := e.running()
		if t == nil { // its end may not be in the log yet
			for _, l := range e.lives() {
				_ = l.flush() // a session that cannot write has no turn to wait for
			}
			return nil
		}
		select {
		case <-t.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// running returns a running turn of ours, or nil.
func (e *Engine) running() *turn {
	for _, l := range e.lives() {
		if t := l.current(); t != nil && !e.about(l.sessionCopy().Agent).Watched {
			return t
		}
	}
	return nil
}
