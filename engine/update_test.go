package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// titles lists the titles that somebody gave a session, in order.
func (f *fixture) titles(session string) (out []string) {
	for _, ev := range f.log(session) {
		if u, ok := ev.Data.(terret.SessionUpdated); ok && u.Title != nil && ev.By != "" {
			out = append(out, *u.Title)
		}
	}
	return out
}

// Changes that another process sent are carried out in the order in which they were sent.
func TestUpdatesFromElsewhereKeepTheirOrder(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := fileFixture(t, "", p)
	g := fileFixture(t, f.path, newPuppet())
	id := f.session()
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	var want []string
	for i := range 30 {
		title := fmt.Sprint("title ", i)
		want = append(want, title)
		if err := g.Update(t.Context(), id, terret.SessionUpdated{Title: &title}, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	f.until(id, 0, func(terret.Event) bool { return len(f.titles(id)) >= len(want) })
	if got := f.titles(id); !slices.Equal(got, want) {
		t.Errorf("the titles were %q", got)
	}
	a.complete(t, turn)
	f.ended(id, turn)
}

// A change from another process that the agent cannot make is refused where everybody sees it.
func TestUpdateFromElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := fileFixture(t, "", p)
	g := fileFixture(t, f.path, newPuppet())
	id := f.session()
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	mode := "yolo"
	if err := g.Update(t.Context(), id, terret.SessionUpdated{PermissionMode: &mode}, "ann"); err != nil {
		t.Fatal(err)
	}
	f.until(id, 0, func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.DiagWarning)
		return ok && ev.By == "ann" && strings.HasPrefix(d.Text, "The session was not changed: ")
	})
	a.complete(t, turn)
	f.ended(id, turn)
}

// stale is a store whose second list of what other processes want arrives after the
// change in it was carried out.
type stale struct {
	*faults
	lists   atomic.Int32
	listed  chan struct{} // closed with the second list
	written chan struct{}
}

func (s *stale) Pending(ctx context.Context, session string) ([]terret.InboxItem, error) {
	items, err := s.faults.Pending(ctx, session)
	if len(items) > 0 && session == "" && s.lists.Add(1) == 2 {
		close(s.listed)
		<-s.written
	}
	return items, err
}

// A change that another process sent is carried out once, however often it is seen.
func TestUpdateFromElsewhereHappensOnce(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	store := &stale{faults: &faults{inbox: make(chan struct{}, 1)}, listed: make(chan struct{}), written: make(chan struct{})}
	f := fileFixture(t, "", p, store.in, func(c *engine.Config) { c.Store = store })
	g := fileFixture(t, f.path, newPuppet())
	id := f.session()
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	a.prompted(t)
	takes := func(all []terret.Batch) bool {
		return slices.ContainsFunc(all, func(b terret.Batch) bool { return len(b.Taken) > 0 })
	}
	written := sync.OnceFunc(func() { close(store.written) })
	store.set(func() {
		store.commit = func(all []terret.Batch) error {
			if takes(all) {
				<-store.listed
			}
			return nil
		}
		store.wrote = func(all []terret.Batch) error {
			if takes(all) {
				written()
			}
			return nil
		}
	})
	title := "new"
	if err := g.Update(t.Context(), id, terret.SessionUpdated{Title: &title}, "ann"); err != nil {
		t.Fatal(err)
	}
	for store.lists.Load() < 2 {
		engine.LookAgain(f.Engine)
		receive(t, store.inbox)
	}
	f.until(id, 0, func(terret.Event) bool { return len(f.titles(id)) > 0 })
	other := "newer"
	if err := g.Update(t.Context(), id, terret.SessionUpdated{Title: &other}, "ann"); err != nil {
		t.Fatal(err)
	}
	f.until(id, 0, func(terret.Event) bool { return slices.Contains(f.titles(id), other) })
	if got := f.titles(id); !slices.Equal(got, []string{title, other}) {
		t.Errorf("the titles were %q", got)
	}
	a.complete(t, turn)
	f.ended(id, turn)
}

// Whoever asks an agent something while its session is closed asks it again: closing cuts
// the start of the agent short, whatever the driver makes of that.
func TestAskingAnAgentThatIsCutShort(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	var opens atomic.Int32
	opening := make(chan struct{})
	p.onOpen = func(ctx context.Context, _ *puppetAgent) error {
		if opens.Add(1) > 1 {
			return nil
		}
		close(opening)
		<-ctx.Done()
		return fmt.Errorf("the agent did not start: %w", ctx.Err())
	}
	f := openFixture(t, ":memory:", p)
	id := f.session()
	asked := make(chan error, 1)
	go func() {
		_, err := f.Models(context.Background(), id)
		asked <- err
	}()
	<-opening
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Error(err)
	}
	if err := receive(t, asked); errors.Is(err, context.Canceled) || opens.Load() != 2 {
		t.Errorf("opened %d times: %v", opens.Load(), err)
	}
}

// Closing a session does not wait for an agent that somebody opens to ask it something,
// not even if a turn waits for the same agent.
func TestCloseWhileATurnWaitsForAQuestion(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	var once sync.Once
	opening, release := make(chan struct{}), make(chan struct{})
	p.onOpen = func(ctx context.Context, _ *puppetAgent) error {
		once.Do(func() { close(opening) })
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-release:
			return errors.New("too late")
		}
	}
	store := &faults{}
	f := fileFixture(t, "", p, store.in)
	g := fileFixture(t, f.path, newPuppet())
	id := f.session()
	title := "ours"
	if err := f.Update(t.Context(), id, terret.SessionUpdated{Title: &title}, ""); err != nil { // from now on it is ours
		t.Fatal(err)
	}
	began, written := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() {
		close(began)
		<-written
	})
	store.set(func() {
		store.commit = func(all []terret.Batch) error {
			if slices.ContainsFunc(all, func(b terret.Batch) bool { return len(b.Taken) > 0 }) {
				first() // the turn has begun, but is not on disk
			}
			return nil
		}
	})
	g.promptWhen(id, "go", engine.WhenQueue)
	<-began
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_, _ = f.Models(t.Context(), id)
	}()
	<-opening
	close(written)
	closed := make(chan error, 1)
	go func() { closed <- f.CloseSession(t.Context(), id, "") }()
	if err := receive(t, closed); err != nil {
		t.Error(err)
	}
	close(release)
	<-asked
}
