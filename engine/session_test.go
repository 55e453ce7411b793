package engine_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
)

func TestCloseSession(t *testing.T) {
	t.Parallel()
	g, h := newGate(), newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}, {h.step()}, {{Text: "two"}}, {{Text: "three"}}}})
	id := f.session()
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err) // nothing to close
	}
	wantKind(t, f.CloseSession(t.Context(), terret.NewSessionID(), ""), terret.CodeSessionNotFound)
	turn := f.prompt(id, "0").ID
	g.wait(t)
	var group sync.WaitGroup
	for range 5 { // at once: they all return when it is done
		group.Go(func() {
			if err := f.CloseSession(context.Background(), id, ""); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if e := last[terret.TurnError](t, f.ended(id, turn)); e.Error.Code != terret.CodeInterrupted {
		t.Errorf("end %+v", e)
	}
	if end := last[terret.SessionEnd](t, f.log(id)); end.Reason != "closed" {
		t.Errorf("end %+v", end)
	}
	// What is queued is neither lost nor interrupted: it opens the session again.
	turn = f.prompt(id, "1").ID
	h.wait(t)
	queued := f.promptWhen(id, "2", engine.WhenQueue).ID
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	last[terret.TurnError](t, f.ended(id, turn))
	if c := last[terret.TurnComplete](t, f.ended(id, queued)); c.Text != "two" {
		t.Errorf("text %q", c.Text)
	}
	if c := last[terret.TurnComplete](t, f.run(id, "3")); c.Text != "three" {
		t.Errorf("text %q", c.Text)
	}
	f.close()
	checkLog(t, f.store, id)
}

// Prompts that meet a session which is being given back wait and open it again.
func TestPromptWhileClosing(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	closing, goOn := make(chan struct{}, 1), make(chan struct{})
	var once sync.Once
	p.onClose = func(*puppetAgent) {
		once.Do(func() {
			closing <- struct{}{}
			<-goOn
		})
	}
	f := openFixture(t, ":memory:", p)
	id, a, turn := chatty(t, f, p)
	a.complete(t, turn)
	f.ended(id, turn)
	var group sync.WaitGroup
	group.Go(func() {
		if err := f.CloseSession(context.Background(), id, ""); err != nil {
			t.Error(err)
		}
	})
	receive(t, closing)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Prompt(ctx, engine.PromptRequest{Session: id, Prompt: text("x")}); err == nil {
		t.Error("a prompt whose context had ended got through")
	}
	turns := make(chan string, 1)
	group.Go(func() {
		turn, err := f.Prompt(context.Background(), engine.PromptRequest{Session: id, Prompt: text("again")})
		if err != nil {
			t.Error(err)
		}
		turns <- turn.ID
	})
	close(goOn)
	b := p.agent(t)
	b.prompted(t)
	second := receive(t, turns)
	b.complete(t, second)
	f.ended(id, second)
	group.Wait()
	f.close()
	checkLog(t, f.store, id)
}

type settable struct {
	*puppetAgent
	onCall func()
	mu     sync.Mutex
	calls  []string
}

func (s *settable) note(call string) error {
	if s.onCall != nil {
		s.onCall()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	return nil
}

func (s *settable) SetModel(_ context.Context, m string) error { return s.note("model " + m) }

func (s *settable) SetPermissionMode(_ context.Context, m string) error { return s.note("mode " + m) }

func (s *settable) Rename(_ context.Context, m string) error { return s.note("title " + m) }

type settablePuppet struct {
	*puppet
	agents chan *settable
}

func (p settablePuppet) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	a, err := p.puppet.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	s := &settable{puppetAgent: a.(*puppetAgent)}
	p.agents <- s
	return s, nil
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	p := settablePuppet{newPuppet(), make(chan *settable, 10)}
	p.caps.Abilities = map[terret.Capability]terret.Ability{terret.CanSelectModel: {OK: true, By: terret.ByAgent}}
	f := openFixture(t, ":memory:", p)
	id := f.session()
	str := func(s string) *string { return &s }
	// No agent yet: it is told when it is opened.
	if err := f.Update(t.Context(), id, terret.SessionUpdated{Title: str("t1"), Model: str("m1"), PermissionMode: str("p1")}, "ann"); err != nil {
		t.Fatal(err)
	}
	turn := f.prompt(id, "go").ID
	a := receive(t, p.agents)
	if s := a.req.Session; s.Model != "m1" || s.PermissionMode != "p1" || s.Title != "t1" {
		t.Errorf("opened with %+v", s)
	}
	a.prompted(t)
	policy := terret.PolicyAutoApprove
	if err := f.Update(t.Context(), id, terret.SessionUpdated{Title: str("t2"), Model: str("m2"), PermissionMode: str("p2"), Policy: &policy}, "ann"); err != nil {
		t.Fatal(err)
	}
	if len(a.calls) != 3 {
		t.Errorf("the agent was told %v", a.calls)
	}
	if s := f.stored(id); s.Title != "t2" || s.Model != "m2" || s.Policy != policy {
		t.Errorf("stored %+v", s)
	}
	if d, err := a.ask("1", "make"); err != nil || d.Behavior != terret.BehaviorAllow {
		t.Errorf("under the new policy: %+v, %v", d, err)
	}
	bad := terret.Policy("yolo")
	wantKind(t, f.Update(t.Context(), id, terret.SessionUpdated{Policy: &bad}, ""), terret.CodeInvalidRequest)
	a.complete(t, turn)
	f.ended(id, turn)
	if by := f.log(id)[0].By; by != "ann" {
		t.Errorf("by %q", by)
	}
	f.close()
	checkLog(t, f.store, id)
}

func TestUpdateUnsupported(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	id := f.session()
	f.run(id, "go")
	x := "x"
	n := len(f.log(id))
	wantKind(t, f.Update(t.Context(), id, terret.SessionUpdated{Model: &x}, ""), terret.CodeUnsupported)
	wantKind(t, f.Update(t.Context(), id, terret.SessionUpdated{PermissionMode: &x}, ""), terret.CodeUnsupported)
	if len(f.log(id)) != n || f.stored(id).Model != "" {
		t.Error("it was noted all the same")
	}
	_, err := f.Fork(t.Context(), id, "")
	wantKind(t, err, terret.CodeUnsupported)
}

func TestDelete(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}}})
	idle, busy := f.session(), f.session()
	if err := f.Delete(t.Context(), idle, false); err != nil {
		t.Fatal(err)
	}
	wantKind(t, f.Delete(t.Context(), idle, false), terret.CodeSessionNotFound)
	f.prompt(busy, "go")
	g.wait(t)
	f.promptWhen(busy, "queued", engine.WhenQueue)
	wantKind(t, f.Delete(t.Context(), busy, false), terret.CodeSessionBusy)
	ends := make(chan []terret.Kind, 1)
	go func() {
		var kinds []terret.Kind
		for entry, err := range f.Events(context.Background(), engine.EventQuery{Session: busy, Follow: true}) {
			if err != nil {
				break
			}
			kinds = append(kinds, entry.Kind)
		}
		ends <- kinds
	}()
	if err := f.Delete(t.Context(), busy, true); err != nil {
		t.Fatal(err)
	}
	receive(t, ends)
	if _, err := f.store.Session(t.Context(), busy); err == nil {
		t.Error("it is still there")
	}
	if n := len(g.reached); n != 0 {
		t.Errorf("the queue went on in a deleted session: %d", n)
	}
}

// TestDeleteKills holds that a forced deletion kills the agent, instead of asking it to
// stop, and returns when it is gone.
func TestDeleteKills(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id, a, _ := chatty(t, f, p)
	if err := f.Delete(t.Context(), id, true); err != nil {
		t.Fatal(err)
	}
	select {
	case <-a.closed:
	default:
		t.Error("the agent still runs")
	}
	if n := len(a.interrupts); n > 0 {
		t.Errorf("the agent was interrupted %d times", n)
	}
}

// TestStopBySession holds that whatever runs is found by its session: stopping one, in
// either way, leaves the others at work, and states say which is which.
func TestStopBySession(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step(), {Hang: true}}}})
	stop := []func(ctx context.Context, session, by string) error{f.Interrupt, f.Kill}
	var ids, turns []string
	for range 3 {
		id := f.session()
		ids = append(ids, id)
		turns = append(turns, f.prompt(id, "go").ID)
		g.wait(t)
	}
	close(g.open)
	for i, how := range stop {
		if err := how(t.Context(), ids[i], "ann"); err != nil {
			t.Fatal(err)
		}
		f.ended(ids[i], turns[i])
		f.until(ids[i], 0, func(ev terret.Event) bool {
			d, ok := ev.Data.(terret.SessionStateChange)
			return ok && d.State == terret.SessionIdle
		})
		for j, id := range ids {
			if s := f.stored(id); (s.State == terret.SessionBusy) != (j > i) {
				t.Errorf("after the stop of %d, session %d is %s", i, j, s.State)
			}
		}
	}
	wantKind(t, f.Interrupt(t.Context(), ids[0], "ann"), terret.CodeConflict)
	wantKind(t, f.Kill(t.Context(), terret.NewSessionID(), "ann"), terret.CodeSessionNotFound)
}

// crowded is a store in which many sessions have lost their owner. It lets nobody
// claim one before enough have come.
type crowded struct {
	Store
	lost   []terret.Session
	enough int
	full   chan struct{}

	mu        sync.Mutex
	now, most int
}

func (c *crowded) Orphans(context.Context) ([]terret.Session, error) { return c.lost, nil }

func (c *crowded) Claim(ctx context.Context, id string) (terret.Claim, error) {
	c.mu.Lock()
	c.now++
	if c.most = max(c.most, c.now); c.most == c.enough && c.now == c.enough {
		select {
		case <-c.full:
		default:
			close(c.full)
		}
	}
	c.mu.Unlock()
	select {
	case <-c.full:
	case <-time.After(patience):
	}
	defer func() {
		c.mu.Lock()
		c.now--
		c.mu.Unlock()
	}()
	return c.Store.Claim(ctx, id)
}

// What dead processes left behind is put in order several at a time, but not all at
// once.
func TestRecoveryIsBounded(t *testing.T) {
	t.Parallel()
	store, err := openStore(t.Context(), sqlite.Memory)
	if err != nil {
		t.Fatal(err)
	}
	c := &crowded{Store: store, enough: 8, full: make(chan struct{})}
	for range 30 {
		s, err := store.Create(t.Context(), terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		c.lost = append(c.lost, s)
	}
	e, err := engine.New(t.Context(), engine.Config{Store: c, Drivers: []terret.Driver{mock.New(mock.Script{})}})
	if err != nil {
		t.Fatal(err)
	}
	if c.most != 8 {
		t.Errorf("%d at once", c.most)
	}
	for _, s := range c.lost {
		if got, err := store.Session(t.Context(), s.ID); err != nil || got.Epoch == 0 || got.Owner != "" {
			t.Errorf("session %+v, %v", got, err)
		}
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// renamer is an agent that is told when its session is renamed.
type renamer struct {
	*puppetAgent
	told func()
}

func (r renamer) Rename(context.Context, string) error { r.told(); return nil }

type renaming struct {
	*puppet
	told func()
}

func (d renaming) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	a, err := d.puppet.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	return renamer{a.(*puppetAgent), d.told}, nil
}

// A session may be given back, and taken by another process, while its agent is told of a
// change: that process makes the change.
func TestUpdateWhileGivenBack(t *testing.T) {
	t.Parallel()
	var once sync.Once
	var f, g *fixture
	var id, turn string
	p, q := newPuppet(), newPuppet()
	f = fileFixture(t, "", renaming{p, func() {
		once.Do(func() {
			if err := f.CloseSession(context.Background(), id, ""); err != nil {
				t.Error(err)
			}
			turn = g.prompt(id, "go on").ID
		})
	}})
	g = fileFixture(t, f.path, q)
	id = f.session()
	first := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	a.complete(t, first)
	f.ended(id, first)
	title := "new"
	if err := f.Update(t.Context(), id, terret.SessionUpdated{Title: &title}, ""); err != nil {
		t.Error(err)
	}
	g.until(id, 0, func(ev terret.Event) bool {
		u, ok := ev.Data.(terret.SessionUpdated)
		return ok && u.Title != nil && *u.Title == title
	})
	b := q.agent(t)
	b.prompted(t)
	b.complete(t, turn)
	g.ended(id, turn)
	f.close()
	g.close()
	checkLog(t, g.store, id)
}

// A change that another process sent is carried out and taken in one commit: whatever
// ends the owner, it is not lost.
func TestUpdateFromElsewhereIsOneCommit(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	store := &faults{}
	f := fileFixture(t, "", p, store.in)
	g := fileFixture(t, f.path, newPuppet())
	id := f.session()
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	store.set(func() {
		store.batch = func(b terret.Batch) error {
			if len(b.Taken) > 0 && !slices.ContainsFunc(b.Events, func(ev terret.Event) bool { return ev.Kind() == terret.KindSessionUpdated }) {
				t.Error("it is taken before it is carried out")
			}
			return nil
		}
	})
	strict := terret.PolicyDenyUnlessAllowed
	if err := g.Update(t.Context(), id, terret.SessionUpdated{Policy: &strict}, "ann"); err != nil {
		t.Fatal(err)
	}
	f.until(id, 0, func(ev terret.Event) bool { return ev.Kind() == terret.KindSessionUpdated })
	a.complete(t, turn)
	f.ended(id, turn)
}

// A change that reaches an owner who is closing is left to the next one.
func TestUpdateWhileTheOwnerCloses(t *testing.T) {
	t.Parallel()
	p, q := newPuppet(), newPuppet()
	store := &faults{inbox: make(chan struct{}, 1)}
	f := fileFixture(t, "", p, store.in, func(c *engine.Config) { c.InterruptGrace = time.Minute })
	g := fileFixture(t, f.path, q)
	id := f.session()
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		f.close()
	}()
	receive(t, a.interrupts) // the agent takes its time to stop
	strict := terret.PolicyDenyUnlessAllowed
	if err := g.Update(t.Context(), id, terret.SessionUpdated{Policy: &strict}, "ann"); err != nil {
		t.Fatal(err)
	}
	for range 3 { // the last look began after the change was sent, and what it found is done
		engine.LookAgain(f.Engine)
		receive(t, store.inbox)
	}
	a.complete(t, turn)
	<-closed
	next := g.prompt(id, "again").ID
	b := q.agent(t)
	b.prompted(t)
	g.until(id, 0, func(ev terret.Event) bool {
		u, ok := ev.Data.(terret.SessionUpdated)
		return ok && u.Policy != nil && *u.Policy == strict
	})
	b.complete(t, next)
	g.ended(id, next)
}

// A session whose agent is being opened, to ask it something, is given back after that:
// the next owner must not meet an agent of ours.
func TestCloseWhileOpening(t *testing.T) {
	t.Parallel()
	opening, left := make(chan struct{}), make(chan struct{})
	p := newPuppet()
	var opens atomic.Int32
	p.onOpen = func(ctx context.Context, _ *puppetAgent) error {
		if opens.Add(1) > 1 {
			return nil // whoever asks has taken the session again
		}
		close(opening)
		select {
		case <-ctx.Done(): // closing does not wait for a slow start
		case <-left:
		}
		select {
		case <-left:
			t.Error("the session was given back while its agent was being opened")
		case <-time.After(100 * time.Millisecond):
		}
		return nil
	}
	f, store := faultyFixture(t, p)
	store.set(func() { store.leave = sync.OnceFunc(func() { close(left) }) })
	id := f.session()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_, _ = f.Models(context.Background(), id)
	}()
	<-opening
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Error(err)
	}
	<-asked
	<-receive(t, p.opened).closed
}
