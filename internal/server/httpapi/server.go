package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/internal/server/installation"
	"github.com/terret-dev/terret/internal/server/notify"
	"github.com/terret-dev/terret/internal/server/push"
	"github.com/terret-dev/terret/internal/server/setup"
	"github.com/terret-dev/terret/internal/terminal"
	"github.com/terret-dev/terret/internal/trust"
	"github.com/terret-dev/terret/internal/workfiles"
	"github.com/terret-dev/terret/work/team"
)

// Config is what a server works with. Engine, Store and Tokens are required.
type Config struct {
	Engine *engine.Engine
	// Store is the engine's store. The server only reads it, except for rules.
	Store terret.Store
	// Drivers are probed for agents.
	Drivers []terret.Driver
	// Tokens decide who may use the server. Hosts and Origins are additional names of
	// the server, and additional origins whose pages may use it.
	Tokens         *access.Tokens
	Hosts, Origins []string
	// Roots are the folders that sessions may work in and files are shown from.
	Roots []string
	// Home is Terret's own folder; changes of past turns are read from it.
	Home string
	// Trust knows which folders a person trusts; nil means none.
	Trust *trust.Store
	// Sessions creates sessions and knows personas. Nil means no defaults, and
	// untrusted personas.
	Sessions *installation.Sessions
	// Team is the team whose members and messages are served. The server neither runs nor
	// closes it. Nil means that the server opens it by itself.
	Team *team.Registry
	// Env is the environment of commands that check what agents did.
	Env []string
	// TerminalEnv names what shells in terminals may see of Env besides what programs usually
	// need; see proc.FilterEnv.
	TerminalEnv []string
	// Worktree says how to prepare the worktrees of races.
	Worktree config.Worktree
	// Nesting bounds the sessions that agents start.
	Nesting config.Nesting
	// Setup sets up the machine; nil means that this server cannot. The server does not close it.
	Setup *setup.Setup
	// Version is the program's, for /healthz.
	Version string
	// Node is the name of this server in a fleet, which the engine has, too. Empty on a
	// single machine.
	Node string
	// About is what this node says of itself to others.
	About terret.Node
	// Web serves everything that is not one of our routes; it may be nil.
	Web http.Handler
	// Doors are what other programs speak already.
	Doors []Door
	// PushClient reaches the push services of browsers; nil means one that connects to
	// public addresses only and follows no redirects.
	PushClient *http.Client
	// Log is for the operator; nil discards it.
	Log    *slog.Logger
	Limits Limits
}

// Limits bounds what callers may ask for; zero means the default.
type Limits struct {
	Body       int64         // bytes of a request; 32 MB
	Import     int64         // bytes of an imported session; 1 GB
	Prompt     int           // bytes of text in a prompt; 4 MB
	Attachment int           // bytes of an image or document; 20 MB
	Sessions   int           // in total; 100,000
	Working    int           // sessions with a running turn; 100
	Streams    int           // open at once; 1,000
	Write      time.Duration // until a reader that does not read is disconnected; 30 s
	Drain      time.Duration // for turns to end when the server stops; 20 s
	Exit       time.Duration // for /api/harness to wait for a process after its turn; 10 s
	// PushGather is how long a notification waits for others, so that one message tells all
	// of them; 3 s. PushSpacing is the time between two messages to one browser; 15 s.
	PushGather, PushSpacing time.Duration
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.Body, 32<<20)
	setDefault(&l.Import, 1<<30)
	setDefault(&l.Prompt, 4<<20)
	setDefault(&l.Attachment, 20<<20)
	setDefault(&l.Sessions, 100_000)
	setDefault(&l.Working, 100)
	setDefault(&l.Streams, 1000)
	setDefault(&l.Write, 30*time.Second)
	setDefault(&l.Drain, 20*time.Second)
	setDefault(&l.Exit, 10*time.Second)
	setDefault(&l.PushGather, 3*time.Second)
	setDefault(&l.PushSpacing, 15*time.Second)
	return l
}

func setDefault[T comparable](v *T, to T) {
	var zero T
	if *v == zero {
		*v = to
	}
}

// Server is the HTTP side of an engine. It is safe for concurrent use.
type Server struct {
	cfg    Config
	engine *engine.Engine
	store  terret.Store
	fleet  terret.Fleet // nil on a single machine
	log    *slog.Logger
	limits Limits

	gate  *access.Gate
	roots *workfiles.Roots
	maker *installation.Sessions
	roles *assemble.Roles

	nesting *nesting

	mux        *http.ServeMux
	operations []operation
	spec       func() ([]byte, error) // of all operations; made on first use
	handler    http.Handler

	bodies     budget
	bodyLimits map[string]int64 // by the pattern of the route

	metrics        metrics
	keys           keys
	sessions       sessionCount
	atWork         workCount
	streams        atomic.Int64
	answers        atomic.Int64 // that are being given, without streams
	readers        *readers
	exports        atomic.Int64
	draining       atomic.Bool
	held           holding
	forging        turnsOf // programs that reach a forge
	terminals      *terminal.Manager
	watchTerminals sync.Once // starts what looks for those without a session

	leave chan time.Duration // a caller wants this node to stop, after that time at most

	push       *push.Queue   // nil if nobody can subscribe
	notify     *notify.Queue // nil if push is
	pushWanted chan struct{} // has one element if a browser has just subscribed
	pushFrom   atomic.Int64  // one more than the position from which they are told; 0 if from when they are found
	pushFailed atomic.Bool   // who wants them could not be read; it has been logged

	closeTeam  func() // if it is our own
	closeDoors []func()

	life       context.Context // for work that outlives a request
	end        context.CancelFunc
	steps      context.Context // ends when the server begins to stop: no further step of a workflow begins
	endSteps   context.CancelFunc
	background sync.WaitGroup
	jobbing    jobbing
}

// New makes a server, for use with [Server.Serve] or [Server.Handler]. The caller must
// Close it.
func New(cfg Config) (*Server, error) {
	if cfg.Engine == nil || cfg.Store == nil || cfg.Tokens == nil {
		return nil, terret.Errorf(terret.CodeInternal, "httpapi: Engine, Store and Tokens are required")
	}
	s := &Server{
		cfg: cfg, engine: cfg.Engine, store: cfg.Store, log: cfg.Log,
		limits: cfg.Limits.withDefaults(), mux: http.NewServeMux(), maker: cfg.Sessions, spec: sync.OnceValues(Describe),
		terminals: terminal.NewManager(terminal.Limits{}), readers: newReaders(), leave: make(chan time.Duration, 1), pushWanted: make(chan struct{}, 1),
	}
	if s.maker == nil {
		s.maker = &installation.Sessions{Sessions: assemble.Sessions{Engine: cfg.Engine, Store: cfg.Store, Home: cfg.Home, Roles: &assemble.Roles{}, Agents: assemble.NewAgents(cfg.Drivers)}}
	}
	s.roles = s.maker.Roles
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if s.cfg.Team == nil {
		if s.cfg.Team, err = s.maker.Team(context.Background(), team.Limits{}, s.log); err != nil {
			return nil, err
		}
		s.closeTeam = s.cfg.Team.Close
	}
	if s.roots, err = workfiles.NewRoots(cfg.Roots, cfg.Home); err != nil {
		return nil, err
	}
	if s.gate, err = s.newGate(); err != nil {
		return nil, err
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.steps, s.endSteps = context.WithCancel(s.life)
	s.keys.init()
	s.metrics.init()
	if fleet, ok := cfg.Store.(terret.Fleet); ok && cfg.Node != "" {
		s.fleet = fleet
		s.background.Go(s.answerCalls)
	}
	s.nesting = newNesting(cfg.Nesting)
	s.push, s.notify = s.newPusher(), s.newNotifier()
	s.startPush()
	s.routes()
	s.handler = s.outer(s.mux)
	return s, nil
}

// Close ends what the server does besides answering requests, and waits for it. It is
// idempotent. All requests must have ended by then.
func (s *Server) Close() {
	s.terminals.Close()
	for _, f := range s.closeDoors {
		f()
	}
	s.end()
	s.background.Wait()
	if s.notify != nil {
		s.notify.Clients.Close()
	}
	if s.closeTeam != nil {
		s.closeTeam()
	}
}

// Handler serves all routes.
func (s *Server) Handler() http.Handler { return s.handler }

// Time limits of connections.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 2 * time.Minute
	plainTimeout  = 10 * time.Minute // of a call that is not a stream
	idleTimeout   = 2 * time.Minute
	closeTimeout  = 5 * time.Second
)

// Serve answers requests on the listener until the context ends. Then no new turn
// begins, running ones have Limits.Drain to end and are interrupted after that, the
// engine is closed, and Serve returns when the last response is out. It closes the
// listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	hs := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      plainTimeout,
		IdleTimeout:       idleTimeout,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return access.WithConn(context.WithValue(ctx, connKey{}, c), c)
		},
		MaxHeaderBytes: 64 << 10,
		// OPTIONS * passes through the gate like everything else.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	var wait sync.WaitGroup
	defer wait.Wait()
	ended := make(chan struct{})
	wait.Go(func() {
		wait := s.limits.Drain
		select {
		case <-ctx.Done():
		case wait = <-s.leave:
		case <-ended:
			return
		}
		s.stop(ctx, wait)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if err := hs.Shutdown(grace); err != nil {
			_ = hs.Close() // clients that are still connected had enough time
		}
	})
	defer s.Close()
	s.background.Go(s.resume)
	err := hs.Serve(l)
	close(ended)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return terret.Errorf(terret.CodeInternal, "the server stopped: %w", err)
}

// stop lets turns end, and then interrupts them. If a node leaves its fleet, which may take
// long, the end of the context still means Limits.Drain.
func (s *Server) stop(ctx context.Context, wait time.Duration) {
	s.draining.Store(true)
	s.endSteps()
	s.background.Go(s.terminals.Close) // their streams would keep the server from ending
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	if ctx.Err() == nil {
		defer context.AfterFunc(ctx, func() {
			pause(drain, s.limits.Drain)
			cancel()
		})()
	}
	if err := s.engine.Drain(drain); err != nil {
		s.log.Info("interrupting turns that are still running", "after", wait)
	}
	ctx = context.WithoutCancel(ctx)
	closing, cancelClosing := context.WithTimeout(ctx, closeTimeout)
	defer cancelClosing()
	if err := s.engine.Close(closing); err != nil {
		s.log.Warn("the engine did not close cleanly", "error", err)
	}
}

// stopping returns an error if the server accepts no more work.
func (s *Server) stopping() error {
	if s.draining.Load() {
		return terret.Errorf(terret.CodeStartupRefused, "the server is stopping; try again when it is back")
	}
	return nil
}
