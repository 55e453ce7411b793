package seat

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// guest is an occupant without a process.
type guest struct {
	name  string
	slow  time.Duration // until it has left
	err   error         // of its end
	once  sync.Once
	end   chan struct{} // at once
	gone  chan struct{}
	told  chan struct{}
	force bool
}

func newGuest(name string) *guest {
	return &guest{name: name, end: make(chan struct{}), gone: make(chan struct{}), told: make(chan struct{})}
}

func (g *guest) Alive() bool {
	select {
	case <-g.gone:
		return false
	default:
		return true
	}
}

func (g *guest) Leave(context.Context) error {
	select {
	case <-time.After(g.slow):
	case <-g.end:
	}
	g.once.Do(func() { close(g.gone) })
	return g.err
}

func (g *guest) Force() error {
	g.force = true
	close(g.end)
	return g.Leave(context.Background())
}

func (g *guest) Told() <-chan struct{} { return g.told }

// serve tells the end of a guest a moment after it.
func (g *guest) serve(s *Seat[*guest], wanted *bool) {
	<-g.gone
	time.Sleep(time.Second)
	*wanted = s.Ended(g)
	close(g.told)
}

func newSeat() *Seat[*guest] {
	return New[*guest](terret.OpenRequest{Log: slog.New(slog.DiscardHandler)})
}

// sit has a guest take the seat, and returns where its end is noted.
func sit(s *Seat[*guest], g *guest) *bool {
	wanted := new(bool)
	s.Take(g)
	s.Work.Go(func() { g.serve(s, wanted) })
	return wanted
}

func always(*guest) bool { return true }

func never(*guest) bool { return false }

// starts returns a start that gives the seat to g.
func starts(s *Seat[*guest], g *guest) func(context.Context) (*guest, error) {
	return func(context.Context) (*guest, error) {
		sit(s, g)
		return g, nil
	}
}

// Each turn finds an occupant that fits, and none begins before the end of the last one
// was told.
func TestReady(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fits    func(*guest) bool
		before  func(*Seat[*guest], *guest)
		another bool
		wanted  bool
	}{
		"it fits":         {fits: always},
		"it does not fit": {fits: never, another: true, wanted: true},
		"it has died":     {fits: always, before: func(_ *Seat[*guest], g *guest) { _ = g.Leave(t.Context()) }, another: true},
		"it was released": {fits: always, before: func(s *Seat[*guest], g *guest) { s.Release(g) }, another: true, wanted: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, first, second := newSeat(), newGuest("first"), newGuest("second")
				first.slow = time.Second
				wanted := sit(s, first)
				if c.before != nil {
					c.before(s, first)
				}
				s.Switching.Lock()
				got, err := s.Ready(t.Context(), c.fits, starts(s, second))
				s.Switching.Unlock()
				if err != nil || (got == second) != c.another || s.Current() != got || *wanted != c.wanted {
					t.Errorf("%v, %v, wanted %v", got, err, *wanted)
				}
				if err := s.Close(t.Context()); err != nil || s.Current() != nil {
					t.Error(err)
				}
				if _, err := s.Ready(t.Context(), always, nil); !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
				if _, err := s.Occupied(); terret.AsError(err).Code != terret.CodeConflict {
					t.Error(err)
				}
			})
		})
	}
}

// Whoever waits for the end of the last occupant gives up when nobody waits for them.
func TestReadyGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, g := newSeat(), newGuest("slow")
		g.slow = time.Hour
		sit(s, g)
		s.Release(g)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := s.Ready(ctx, always, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := s.Kill(t.Context()); err != nil || !g.force {
			t.Errorf("forced %v: %v", g.force, err)
		}
	})
}

// Closing cancels a start. One that is taken all the same is ended too, and no error is
// lost.
func TestCloseDuringStart(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Seat[*guest]) error{
		"close": func(s *Seat[*guest]) error { return s.Close(t.Context()) },
		"kill":  func(s *Seat[*guest]) error { return s.Kill(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, first, late := newSeat(), newGuest("first"), newGuest("late")
				first.err, late.err = errors.New("first"), errors.New("late")
				sit(s, first)
				s.Release(first)
				var wanted *bool
				s.Work.Go(func() {
					s.Switching.Lock()
					defer s.Switching.Unlock()
					_, err := s.Ready(t.Context(), never, func(ctx context.Context) (*guest, error) {
						<-ctx.Done()
						if !errors.Is(context.Cause(ctx), ErrClosed) {
							t.Error(context.Cause(ctx))
						}
						wanted = sit(s, late)
						return late, nil
					})
					if err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
				time.Sleep(time.Minute)
				err := end(s)
				if !errors.Is(err, first.err) || !errors.Is(err, late.err) {
					t.Errorf("an error was lost: %v", err)
				}
				if late.Alive() || !*wanted || late.force != (name == "kill") {
					t.Errorf("alive %v, forced %v", late.Alive(), late.force)
				}
			})
		})
	}
}

// log is a host that keeps cursors.
type log struct {
	terret.Host
	cursors []string
	events  int
}

func (l *log) Emit(_ context.Context, events []terret.Event, cursor []byte) error {
	l.cursors = append(l.cursors, string(cursor))
	l.events += len(events)
	return nil
}

// What was undone is remembered until the next turn begins.
func TestUndone(t *testing.T) {
	t.Parallel()
	var host log
	s := New[*guest](terret.OpenRequest{Host: &host, Cursor: []byte(`{"undone":["a"]}`)})
	to, rest, err := s.Redo()
	if to != "a" || len(rest) != 0 || err != nil {
		t.Errorf("%q, %q, %v", to, rest, err)
	}
	for _, err := range []error{
		s.Undo(t.Context(), []string{"b", "a"}, terret.Event{Data: terret.SessionNativeID{New: "c"}}),
		s.Onward(t.Context()), s.Onward(t.Context()),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if _, _, err := s.Redo(); terret.AsError(err).Code != terret.CodeConflict {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{`{"v":1,"undone":["b","a"]}`, `{"v":1}`}, host.cursors); diff != "" || host.events != 1 {
		t.Errorf("%d events, cursors (-want +got):\n%s", host.events, diff)
	}
}

func TestCursor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Cursor{
		"": {}, "{}": {}, "nonsense": {}, `{"v":1}`: {},
		`{"undone":["x"]}`:           {Undone: []string{"x"}}, // as it was written before there were versions
		`{"cost":0.5}`:               {Cost: cost(t, "0.5")},
		`{"v":1,"undone":["y","x"]}`: {Undone: []string{"y", "x"}},
		`{"v":2,"undone":["y"]}`:     {},
	} {
		got := ReadCursor([]byte(text))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if again := ReadCursor(got.Encode()); cmp.Diff(got, again) != "" {
			t.Errorf("%s: %+v", text, again)
		}
	}
}

func cost(t *testing.T, text string) (c terret.Cost) {
	t.Helper()
	if !Decode([]byte(text), &c) {
		t.Fatal(text)
	}
	return c
}

// prepared is warm without a process.
type prepared struct{ alive, discarded bool }

func (p *prepared) Alive() bool             { return p.alive }
func (p *prepared) Memory() int64           { return 7 }
func (p *prepared) Discard(context.Context) { p.discarded = true }

// A warm process is adopted only by whom it was made for; all others are closed.
func TestAdopt(t *testing.T) {
	t.Parallel()
	if _, ok := Adopt[*prepared](t.Context(), nil, "k"); ok {
		t.Error("nothing was adopted")
	}
	for name, c := range map[string]struct {
		alive bool
		key   string
		ok    bool
	}{
		"fits": {true, "k", true}, "dead": {false, "k", false}, "another": {true, "l", false}, "refused": {true, "", false},
	} {
		p := &prepared{alive: c.alive}
		w := &Warm[*prepared]{Prepared: p, Key: "k"}
		if got, ok := Adopt[*prepared](t.Context(), w, c.key); ok != c.ok || p.discarded == c.ok || ok && got != p {
			t.Errorf("%s: adopted %v, discarded %v", name, ok, p.discarded)
		}
		if w.Memory() != 7 {
			t.Error("memory")
		}
	}
	stranger := &prepared{alive: true}
	if _, ok := Adopt[*other](t.Context(), &Warm[*prepared]{Prepared: stranger, Key: "k"}, "k"); ok || !stranger.discarded {
		t.Error("another driver's was adopted")
	}
}

type other struct{ prepared }

func TestVariables(t *testing.T) {
	t.Parallel()
	v := Variables{Allow: []string{"AGENT_*"}, Hide: []string{"AGENT_PARENT"}, Set: []string{"PWD=/here", "AGENT_MODE=x"}}
	got := v.Of([]string{"PATH=/bin", "PWD=/there", "AGENT_KEY=1", "AGENT_PARENT=2", "AGENT_MODE=y", "OTHER_TOKEN=3"})
	if want := []string{"PATH=/bin", "AGENT_KEY=1", "PWD=/here", "AGENT_MODE=x"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if Lookup([]string{"A=1", "AB=2", "A=3"}, "A") != "3" || Lookup(nil, "A") != "" {
		t.Error("the last one counts")
	}
}
