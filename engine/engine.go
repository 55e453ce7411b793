package engine

import (
	"context"
	"hash/maphash"
	"log/slog"
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
	// Setup, if set, is asked before each turn for what must be run in the session's folder
	// first; nil means nothing.
	Setup func(s terret.Session) *Setup
	// Title, if set, finds a title for a session from its first prompt. It is called once for
	// each session that has none, which is called by the first line of the prompt until then.
	Title func(ctx context.Context, prompt string) (string, error)
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
	titling chan struct{}    // has room for the titles that are looked for at once

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
	seed    maphash.Seed // to compare queued prompts by their hashes
	journal *journal.Journal
	hub     *hub.Hub
	watch   *remote.Watcher
	peers   *remote.Peers
	records *recorder.Recorder
	repos   repos
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

// Defaults of Pool.
const (
	DefaultPoolKeys   = pool.DefaultKeys
	DefaultPoolMemory = pool.DefaultMaxMemory
)

// Pool says how many warm agents to keep, for the most recently used kinds of sessions.
// A kind is everything that is fixed when an agent starts, as its driver says. The zero
// value means none.
type Pool struct {
	Size int // warm agents of each kind
	// Keys bounds the kinds, zero means the default; the most recently used stay.
	Keys int
	// MaxMemory bounds the memory of all warm agents together, in bytes; zero means the
	// default, a negative value means no limit.
	MaxMemory int64
}

// Node is the name of this machine in a fleet, or empty if there is none.
func (e *Engine) Node() string { return e.cfg.Node }

// Elsewhere returns the node that has the session's folder, if it is not this one;
// otherwise it is empty.
func (e *Engine) Elsewhere(s terret.Session) string {
	if e.peers.Have(s) {
		return s.Node
	}
	return ""
}

// NoAgent is the agent of sessions in which no agent works: logs that only [Engine.Note]
// writes to.
const NoAgent = "none"
