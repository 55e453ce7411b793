package installation

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/marks"
	"github.com/terret-dev/terret/store/sqlite"
	"github.com/terret-dev/terret/work/team"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// attic is a store with old sessions.
type attic struct {
	*testing.T
	h    *Harness
	home string
	dir  string
	ids  map[string]string // by title
}

// long is how long ago the old sessions were used.
const long = 100 * 24 * time.Hour

func newAttic(t *testing.T) *attic {
	t.Helper()
	home := t.TempDir()
	h, err := New(assemble.Options{Home: home, Drivers: []terret.Driver{mock.New(mock.Script{})}})
	if err == nil {
		err = h.Open(t.Context())
	}
	if err == nil {
		err = h.Start(t.Context(), true)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return &attic{T: t, h: h, home: home, dir: t.TempDir(), ids: map[string]string{}}
}

// add makes a session that was last used long ago, with events of that time.
func (a *attic) add(s terret.Session, events ...terret.Event) string {
	a.Helper()
	when := terret.TimeOf(time.Now().Add(-long))
	if s.ID == "" {
		s.ID = terret.NewSessionID()
	}
	if s.Agent == "" {
		s.Agent = "mock"
	}
	s.Cwd, s.CreatedAt, s.State = a.dir, when, terret.SessionIdle
	if _, err := a.h.Store.Create(a.Context(), s); err != nil {
		a.Fatal(err)
	}
	a.ids[s.Title] = s.ID
	if len(events) > 0 {
		for i := range events {
			events[i].Time = when
		}
		a.commit(s.ID, events...)
	}
	return s.ID
}

// commit appends events to a session.
func (a *attic) commit(id string, events ...terret.Event) {
	a.Helper()
	c, err := a.h.Store.Claim(a.Context(), id)
	if err != nil {
		a.Fatal(err)
	}
	r, err := a.h.Store.Commit(a.Context(), []terret.Batch{{Session: id, Epoch: c.Session.Epoch, After: c.Session.LastSeq, Events: events}})
	if err == nil {
		err = r[0].Err
	}
	if err == nil {
		err = a.h.Store.Release(a.Context(), id, c.Session.Epoch)
	}
	if err != nil {
		a.Fatal(err)
	}
}

// titles are those of the sessions that are there.
func (a *attic) titles() (out []string) {
	a.Helper()
	for title, id := range a.ids {
		if _, err := a.h.Store.Session(a.Context(), id); err == nil {
			out = append(out, title)
		}
	}
	slices.Sort(out)
	return out
}

func note(text string) terret.Event {
	return terret.Event{Data: terret.Notification{Text: text, Level: "info"}}
}

// TestPrune deletes old sessions, and none that somebody still needs.
func TestPrune(t *testing.T) {
	t.Parallel()
	a := newAttic(t)
	ctx := t.Context()
	begun := func(turn string) terret.Event {
		return terret.Event{Turn: turn, Data: terret.TurnStart{Prompt: []terret.Block{terret.Text("go")}}}
	}
	a.add(terret.Session{Title: "old"}, note("one"), note("two"))
	race := terret.NewSessionID()
	a.add(terret.Session{ID: race, Title: "ended race", Agent: engine.NoAgent}, terret.Event{Data: terret.TaskEnd{ID: race, Status: "kept"}})
	woken := a.add(terret.Session{Title: "used again"})
	gone := a.add(terret.Session{Title: "deleted by another"})

	pinned := a.add(terret.Session{Title: "pinned"})
	a.add(terret.Session{Title: "working"}, begun("trn_1"))
	a.add(terret.Session{Title: "asking"}, begun("trn_2"), terret.Event{
		Turn: "trn_2", Data: terret.PermissionRequest{Tool: "Bash"}, Expects: &terret.Expects{RequestID: "req_1", Gate: terret.GatePermission},
	})
	queued := a.add(terret.Session{Title: "queued"})
	joined := func(name, session string) terret.Event {
		return terret.Event{Data: terret.AgentStateChange{Name: name, State: terret.AgentIdle, Config: []byte(`{"agent_type":"mock","session":"` + session + `"}`)}}
	}
	a.add(terret.Session{ID: team.LogSession, Title: "team", Agent: engine.NoAgent},
		joined("ann", a.add(terret.Session{Title: "member"})), joined("bob", a.add(terret.Session{Title: "past member"})),
		terret.Event{Data: terret.AgentStateChange{Name: "bob", State: terret.AgentTerminated}})
	a.add(terret.Session{Title: "open race", Agent: engine.NoAgent}, terret.Event{Data: terret.TaskEnd{ID: "racer", Status: "finished"}})
	used := a.add(terret.Session{Title: "in use"})
	a.add(terret.Session{Title: "new"})
	a.commit(a.ids["new"], terret.Event{Time: terret.Now(), Data: terret.Notification{Text: "just now", Level: "info"}})

	text, err := json.Marshal(marks.Marks{Pinned: []string{pinned}})
	if err == nil {
		err = os.WriteFile(marks.File(a.home), text, 0o600)
	}
	if err == nil {
		err = a.h.Store.Send(ctx, terret.InboxItem{ID: "trn_3", Session: queued, Kind: terret.InboxPrompt})
	}
	if err != nil {
		t.Fatal(err)
	}
	other, err := sqlite.Open(ctx, filepath.Join(a.home, "terret.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Claim(ctx, used); err != nil {
		t.Fatal(err)
	}

	m, o := a.h.Sessions(nil), Prune{Before: time.Now().Add(-long / 2)}
	stale, err := m.Stale(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Sorted(maps.Keys(a.ids))
	if diff := cmp.Diff(all, a.titles()); diff != "" {
		t.Fatalf("listing them has deleted some: %s", diff)
	}
	var listed []string
	for _, s := range stale.Sessions {
		listed = append(listed, s.Title)
	}
	slices.Sort(listed)
	if diff := cmp.Diff([]string{"deleted by another", "ended race", "in use", "old", "past member", "used again"}, listed); diff != "" {
		t.Errorf("listed: %s", diff)
	}
	a.commit(woken, terret.Event{Time: terret.Now(), Data: terret.Notification{Text: "again", Level: "info"}})
	if err := a.h.Store.Delete(ctx, gone); err != nil {
		t.Fatal(err)
	}
	done, err := m.Prune(ctx, o, stale)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"asking", "in use", "member", "new", "open race", "pinned", "queued", "team", "used again", "working"}
	if diff := cmp.Diff(want, a.titles()); diff != "" {
		t.Errorf("kept: %s", diff)
	}
	kept := map[string]int{keptPinned: 1, keptWorking: 1, keptAsking: 1, keptQueued: 1, keptTeam: 2, keptUnfinished: 1, keptInUse: 1}
	if diff := cmp.Diff(kept, done.Kept); diff != "" {
		t.Errorf("reasons: %s", diff)
	}
	if len(done.Sessions) != 3 || done.Events != 3 {
		t.Errorf("it says that it deleted %+v", done)
	}
}

// TestPruneNode refuses a node where there are none.
func TestPruneNode(t *testing.T) {
	t.Parallel()
	a := newAttic(t)
	if _, err := a.h.Sessions(nil).Stale(t.Context(), Prune{Before: time.Now(), Node: "elsewhere"}); !errors.Is(err, terret.ErrInvalid) {
		t.Error(err)
	}
}

// retainer notes how old sessions must be to go, and when.
type retainer struct {
	began       time.Time
	times, kept []time.Duration
	err         error
}

func (r *retainer) Stale(_ context.Context, o Prune) (Pruned, error) {
	r.times, r.kept = append(r.times, time.Since(r.began)), append(r.kept, time.Since(o.Before))
	return Pruned{Sessions: []Stale{{ID: "old"}}, Events: 7}, nil
}

func (r *retainer) Prune(_ context.Context, o Prune, stale Pruned) (Pruned, error) {
	if time.Since(o.Before) != r.kept[len(r.kept)-1] || len(stale.Sessions) != 1 {
		return Pruned{}, errors.New("not what was listed")
	}
	return stale, r.err
}

func TestRetain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keep  time.Duration
		err   error
		times int
		logs  string
	}{
		"90 days": {keep: 90 * nextPrune, times: 3, logs: "deleted old sessions"},
		"never":   {keep: -1},
		"not set": {},
		"fails":   {keep: time.Hour, err: errors.New("disk full"), times: 3, logs: "disk full"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			r := &retainer{began: time.Now(), err: c.err}
			ctx, cancel := context.WithTimeout(t.Context(), firstPrune+2*nextPrune+time.Second)
			defer cancel()
			retain(ctx, r, c.keep, slog.New(slog.NewTextHandler(&log, nil)))
			if len(r.times) != c.times {
				t.Fatalf("%s: %d times, want %d", name, len(r.times), c.times)
			}
			for i := range r.times {
				if r.times[i] != firstPrune+time.Duration(i)*nextPrune || r.kept[i] != c.keep {
					t.Errorf("%s: after %v what was older than %v was deleted", name, r.times[i], r.kept[i])
				}
			}
			if got := log.String(); !strings.Contains(got, c.logs) || c.logs == "" && got != "" {
				t.Errorf("%s: the log says %q", name, got)
			}
		})
	}
}
