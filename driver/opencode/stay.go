package opencode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

const (
	// abortTime bounds how long the server is given to answer when it is told to stop.
	abortTime = 5 * time.Second
	// deathTime is how long a server that hangs up may take to be gone.
	deathTime = 2 * time.Second
)

// tempo is how long things are waited for that the server should say by itself.
type tempo struct {
	start time.Duration // until the server says where it listens
	// settle is the wait for the last words of a turn of which the server says that it
	// is over.
	settle time.Duration
	// watch is how long a turn may be silent before the server is asked whether it
	// still runs.
	watch time.Duration
	begun time.Duration // that the server may be idle after it took a prompt
}

func usualTempo() tempo {
	return tempo{start: 2 * time.Minute, settle: 300 * time.Millisecond, watch: 20 * time.Second, begun: 15 * time.Second}
}

// stay is an agent's time at a server: a lease of it, the stream of its events, and
// what waits for decisions. One goroutine listens, one runs the turns, and each request
// waits in its own.
type stay struct {
	a      *agent
	lease  *lease
	c      *client
	about  about
	native string
	launch string // the key of the server's

	life   context.Context // ends with the stay
	end    context.CancelCauseFunc
	work   sync.WaitGroup // listening, and calls that last
	asking sync.WaitGroup // requests
	stream chan heard
	wake   chan struct{}
	told   chan struct{} // closed when serve has told all there is to tell

	mu    sync.Mutex
	over  bool // nothing more may be begun
	t     *translator
	asks  map[string]*asking
	role  string // in which the agent works
	rules []rule // that the session has
	// idleAt is when the server said, or seemed to say, that the turn is over, and
	// looked is how often we have looked since.
	idleAt  time.Time
	looked  int
	spokeAt time.Time // when anything was last heard of the session
	abortAt time.Time // when the server was last told to stop
	stopped bool      // the last turn was, so the server may begin with it yet
	// aborted is closed when the server has been told to stop, which must not reach the
	// next turn; nil if it never was.
	aborted chan struct{}
	late    error // of a call that lasts as long as the turn
}

// arrive takes a server and makes it ready for the session. a.Switching must be held.
func (a *agent) arrive(ctx context.Context, l *lease, in terret.Settings) (*stay, error) {
	s := &stay{
		a: a, lease: l, c: l.client(a.Req.Session.Cwd), stream: make(chan heard), wake: make(chan struct{}, 1),
		told: make(chan struct{}), asks: map[string]*asking{},
	}
	s.life, s.end = context.WithCancelCause(context.Background())
	s.work.Go(func() { listen(s.life, s.c, s.stream) })
	start, err := s.introduce(ctx, in)
	if err == nil {
		err = a.Req.Host.Emit(ctx, start, nil)
	}
	if err != nil {
		s.end(seat.ErrEnded)
		s.work.Wait()
		return nil, err
	}
	return s, nil
}

// introduce waits until the server listens to us and we to it, and finds the session or
// begins one. It returns what to tell of that.
func (s *stay) introduce(ctx context.Context, in terret.Settings) ([]terret.Event, error) {
	var err error
	if s.about, err = s.c.about(ctx); err != nil {
		return nil, s.diagnose(err)
	}
	if err := s.opened(ctx); err != nil {
		return nil, err
	}
	events := []terret.Event{s.lease.Spawned()}
	for _, line := range s.lease.stray {
		events = append(events, terret.Event{Data: terret.DiagParseError{Text: line}})
	}
	source, moved, err := s.find(ctx)
	if err != nil {
		return nil, s.diagnose(err)
	}
	a := s.a
	a.mu.Lock()
	model := a.session.model
	if ref, err := s.about.choose(model); err == nil {
		model = ref.String()
	}
	mode := a.session.mode
	a.mu.Unlock()
	start := terret.SessionStart{
		Source: source, Agent: Name, AgentVersion: s.lease.version, NativeID: s.native, Model: model,
		Tools: s.about.offered(in), Commands: commandsOf(s.about.commands), Cwd: a.Req.Session.Cwd, PermissionMode: mode, MCPServers: s.about.mcp,
	}
	if moved != nil {
		events = append(events, terret.Event{Data: *moved})
	}
	events = append(events, terret.Event{Data: start})
	if unasked := s.about.unasked(in); len(unasked) > 0 {
		events = append(events, terret.Event{Data: terret.DiagWarning{Text: fmt.Sprintf(
			"these tools of plugins run without asking, so they are not offered: %s; approve them (auto_approve_tools) to use them", strings.Join(unasked, ", "))}})
	}
	return events, nil
}

// opened waits for the stream.
func (s *stay) opened(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callPatience, terret.Errorf(terret.CodeTimeout, "OpenCode's server did not open its stream of events"))
	defer cancel()
	for {
		select {
		case h := <-s.stream:
			if h.open {
				return nil
			}
		case <-s.lease.Done():
			return s.diagnose(seat.ErrEnded)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// diagnose is err, or that the server has died if that is why.
func (s *stay) diagnose(err error) error {
	if e, ok := errors.AsType[*terret.Error](err); ok && e.Code == terret.CodeConnectionFailed {
		grace := time.NewTimer(deathTime) // its connections end before it does
		defer grace.Stop()
		select {
		case <-s.lease.Done():
		case <-grace.C:
		}
	}
	if !s.lease.Alive() {
		return s.lease.ExitError("OpenCode's server ended", "prompt the session to start it again")
	}
	if e, ok := errors.AsType[*callError](err); ok {
		return terret.Errorf(terret.CodeExecutionError, "%w", e)
	}
	return err
}

// find goes on with the session, or begins one. If the agent has lost it, it begins a
// new one and says so, unless the session is not to.
func (s *stay) find(ctx context.Context) (source string, moved *terret.SessionNativeID, err error) {
	a := s.a
	a.mu.Lock()
	old := a.native
	a.mu.Unlock()
	if old != "" {
		var info sessionInfo
		err := s.c.get(ctx, "/session/"+old, &info)
		if err == nil {
			return "resume", nil, s.settle(ctx, info.ID)
		}
		if !isStatus(err, 404) {
			return "", nil, err
		}
		if a.Req.Settings.OnStale == terret.OnStaleError {
			return "", nil, terret.Errorf(terret.CodeResumeFailed, "OpenCode has lost session %s", old)
		}
		moved = &terret.SessionNativeID{Old: terret.NullString(old), Reason: "stale", Error: err.Error()}
	}
	var info sessionInfo
	// A title keeps the agent from asking the model for one.
	title := a.Req.Session.Title
	if title == "" {
		title = "Terret session"
	}
	if err := s.c.post(ctx, "/session", map[string]any{"title": title}, &info); err != nil {
		return "", nil, err
	}
	if info.ID == "" {
		return "", nil, terret.Errorf(terret.CodeMalformedOutput, "OpenCode's server began a session without an id")
	}
	if moved != nil {
		moved.New = info.ID
	}
	return "new", moved, s.settle(ctx, info.ID)
}

// settle makes the session ours: what was said in it before is not of our turns.
func (s *stay) settle(ctx context.Context, native string) error {
	s.native = native
	s.t = newTranslator(options{
		native: native, cwd: s.a.Req.Session.Cwd, names: s.about.names, keepRaw: s.a.Req.Settings.KeepRaw, contextOf: s.about.contextOf,
	})
	last, err := s.c.messages(ctx, native, 1)
	for _, m := range last {
		s.t.horizon = max(s.t.horizon, m.Info.ID)
	}
	s.a.mu.Lock()
	s.a.native = native
	s.a.mu.Unlock()
	return err
}

// serve runs the stay until it is left, or the server ends.
func (s *stay) serve() {
	defer close(s.told)
	timer := time.NewTimer(s.a.d.tempo.watch)
	defer timer.Stop()
	var err error
	for err == nil {
		select {
		case h := <-s.stream:
			err = s.take(h)
		case <-timer.C:
			err = s.look()
		case <-s.wake:
		case <-s.lease.Done():
			s.died()
			return
		case <-s.life.Done():
			s.left()
			return
		}
		if err == nil {
			err = s.check()
		}
		timer.Reset(s.next())
	}
	s.a.Req.Log.Warn("the agent is stopped", "error", err) // the log takes nothing more from us
	s.left()
}

// take takes in what the stream says.
func (s *stay) take(h heard) error {
	if h.bad {
		return s.emit([]terret.Event{h.keep()})
	}
	if h.open {
		return s.catchUp() // it was broken: something may have been missed
	}
	s.mu.Lock()
	events := s.t.translate(h.event, h.data, time.Now())
	again := s.note(h.event)
	s.mu.Unlock()
	if again {
		s.abort()
	}
	if err := s.emit(events); err != nil {
		return err
	}
	s.request(h.event)
	return nil
}

// emit passes on what the agent says.
func (s *stay) emit(events []terret.Event) error {
	if s.a.whole() {
		events = slices.DeleteFunc(events, func(ev terret.Event) bool { return ev.Kind().Delta() })
	}
	if len(events) == 0 {
		return nil
	}
	return s.a.Req.Host.Emit(context.Background(), events, nil)
}

// abort tells the server to stop what it does for the session.
func (s *stay) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	before, done := s.aborted, make(chan struct{})
	s.abortAt, s.aborted = time.Now(), done
	s.work.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		ctx, cancel := context.WithTimeout(s.life, abortTime)
		defer cancel()
		if err := s.c.post(ctx, "/session/"+s.native+"/abort", nil, nil); err != nil && s.life.Err() == nil {
			s.a.Req.Log.Warn("the agent could not be told to stop", "error", err)
		}
	})
}

// begin runs fn beside the turn, unless the stay ends.
func (s *stay) begin(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.work.Go(fn)
	}
}

// stop ends what goes on beside the turn, and waits for it.
func (s *stay) stop(why error) {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.end(why)
	s.asking.Wait() // requests are decided before the turn ends
	s.work.Wait()
}
