package engine

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
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
)

// Defaults of Config.
const (
	DefaultIdleAfter      = 30 * time.Minute
	DefaultInterruptGrace = 10 * time.Second
	DefaultCloseGrace     = 5 * time.Second
)

// Config is what an engine works with. Store and Drivers are required.
type Config struct {
	Store   terret.Store    // required; the caller closes it after the engine
	Drivers []terret.Driver // each with a name of its own
	// Lookup, if set, finds agents that are not among Drivers, such as those that were
	// added while the engine runs. It returns nil if there is none of that name. The
	// engine does not shut these drivers down.
	Lookup func(name string) terret.Driver
	// Log is for the operator; nil discards it.
	Log *slog.Logger
	// Home is Terret's own folder. Agents may not touch it; undo keeps its snapshots
	// there. Empty means no undo.
	Home string
	// Node is the name of this machine in a fleet: sessions that are made here belong to
	// it, and those of other nodes do not run here. Empty on a single machine.
	Node string
	// Env is the environment from which drivers choose what an agent may see.
	Env []string
	// Trust reports whether a person trusts a folder; nil means no folder is trusted.
	// What an untrusted folder holds (settings, hooks, servers) must not take effect.
	Trust func(cwd string) bool
	// Roles, if set, resolves a session's persona and mode for a turn. It is called for
	// each turn.
	Roles func(ctx context.Context, s terret.Session, o terret.TurnOptions) (Role, error)
	// Secrets are the secrets that agents are given, by name. In the log
	// "[redacted:NAME]" replaces them; secrets shorter than eight bytes are not
	// replaced.
	Secrets map[string]string
	// Unattended means that nobody can be asked: requests that need a person are
	// refused at once.
	Unattended bool
	// Time limits; zero means the default. A negative IdleAfter means never.
	IdleAfter      time.Duration // until an idle agent is closed
	Silence        time.Duration // until a turn is stopped whose agent says nothing; zero or less means never
	InterruptGrace time.Duration // until an interrupted turn is killed
	CloseGrace     time.Duration // how long agents may take to close
	// Timeouts bounds how long requests wait, by gate; a missing gate has its default,
	// zero means no limit.
	Timeouts map[terret.Gate]time.Duration
	// Undo bounds what undo may cost.
	Undo UndoLimits
	// Pool says how many warm agents to keep.
	Pool Pool
	// Recorder, if set, is told what was committed.
	Recorder Recorder
}

// UndoLimits bounds the cost of the snapshots around turns; zero means the default.
type UndoLimits struct {
	Off      bool
	MaxFiles int
	MaxBytes int64
}

// Recorder keeps records besides the log, such as files in the project's folder. One
// goroutine calls it, for each session in the order of its commits. It may take its
// time.
type Recorder interface {
	// Record gets entries and the session as it was after the last of them. It is also
	// called without entries, when a session is created.
	Record(s terret.Session, entries []terret.Entry)
	// Remove is called when a session is deleted.
	Remove(s terret.Session)
}

// Engine runs sessions. It is safe for concurrent use.
type Engine struct {
	cfg     Config
	store   terret.Store
	log     *slog.Logger
	drivers map[string]terret.Driver
	secrets *redact.Redactor // nil if there are none

	life context.Context // ends when Close has done its work
	end  context.CancelCauseFunc
	work sync.WaitGroup // everything that Close waits for

	mu       sync.Mutex
	live     map[string]*live         // sessions that this process owns
	claiming map[string]chan struct{} // sessions being claimed; closed afterwards
	deciding map[string]int           // requests that Decide is working on
	wakes    map[string]bool          // wake items that are being handled
	closed   bool

	trace func(from, to phase) // called for each transition, in tests

	shutdown sync.Once // of the drivers
	downErr  error

	edits   atomic.Int64 // of queues, by this process
	journal *journal.Journal
	hub     *hub.Hub
	watch   *remote.Watcher
	peers   *remote.Peers
	records *recorder.Recorder
	undo    undoer
	pool    *pool.Pool
	desk    *desk.Desk
}

var errClosed = hub.ErrClosed

func refused() error { return terret.Errorf(terret.CodeStartupRefused, "%w", errClosed) }

func (e *Engine) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// New makes an engine and starts it. It takes over what dead processes left behind: it
// ends their turns with an error and decides their requests, so that their sessions can
// be resumed. The context bounds that. On a store with leases it goes on to do so while it
// runs. The caller must Close the engine.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	if err := checkConfig(cfg); err != nil {
		return nil, err
	}
	e := &Engine{
		cfg: cfg, store: cfg.Store, log: cfg.Log, secrets: redact.Known(cfg.Secrets),
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
		e.undo.home = cfg.Home
	}
	e.undo.limits = checkpoint.Limits{MaxFiles: cfg.Undo.MaxFiles, MaxBytes: cfg.Undo.MaxBytes}
	e.watch, e.peers = remote.NewWatcher(), remote.New(cfg.Store, cfg.Node)
	e.hub = hub.New(cfg.Store, e.watch.Poke)
	e.journal = journal.New(cfg.Store, e.hub)
	e.records = recorder.New(cfg.Recorder)
	e.pool = e.newPool()
	home, _ := os.UserHomeDir() // without one, ~ is not expanded
	e.desk = desk.New(desk.Config{
		Home: cfg.Home, UserHome: home, Unattended: cfg.Unattended, Timeouts: cfg.Timeouts, Rules: cfg.Store.ListRules, About: e.about,
	})

	e.work.Go(func() { e.journal.Run(e.life) })
	e.work.Go(e.watchLoop)
	if err := e.recover(ctx); err != nil {
		return nil, errors.Join(err, e.Close(context.WithoutCancel(ctx)))
	}
	if s, ok := cfg.Store.(leased); ok {
		e.work.Go(func() { e.takeOverLoop(s.Lease()) })
	}
	return e, nil
}

// goBackground runs fn in a goroutine that Close waits for. It refuses once the engine's
// life is over.
func (e *Engine) goBackground(fn func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.life.Err() != nil {
		return false
	}
	e.work.Go(fn)
	return true
}

func setDefault(d *time.Duration, v time.Duration) {
	if *d == 0 {
		*d = v
	}
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

// Drain waits until no turn runs, or the context ends.
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

// running returns a running turn, or nil.
func (e *Engine) running() *turn {
	for _, l := range e.lives() {
		if t := l.current(); t != nil {
			return t
		}
	}
	return nil
}

func (e *Engine) lives() []*live {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]*live, 0, len(e.live))
	for _, l := range e.live {
		out = append(out, l)
	}
	return out
}

// driver finds a driver by the agent's name.
func (e *Engine) driver(name string) (terret.Driver, error) {
	d := e.lookup(name)
	if d == nil {
		return nil, terret.Errorf(terret.CodeAgentNotFound, "there is no agent %q; `terret agents` lists them", name)
	}
	return d, nil
}

// lookup finds a driver by the agent's name; nil if there is none.
func (e *Engine) lookup(name string) terret.Driver {
	if d, ok := e.drivers[name]; ok {
		return d
	}
	if e.cfg.Lookup != nil {
		return e.cfg.Lookup(name)
	}
	return nil
}

// about is what the agent of that name says about itself.
func (e *Engine) about(agent string) terret.Description { return terret.DescriptionOf(e.lookup(agent)) }

func (e *Engine) trusts(cwd string) bool { return e.cfg.Trust != nil && e.cfg.Trust(cwd) }
