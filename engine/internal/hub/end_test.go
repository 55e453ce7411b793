package hub_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/terret-dev/terret/engine/internal/hub"
)

// Streams end when the reader's context does, the session fails or is deleted, or the
// hub is closed; the error comes last and once.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLogbook()
		tired, broken := errors.New("tired"), errors.New("disk full")
		ctx, cancel := context.WithCancelCause(t.Context())
		var group sync.WaitGroup
		start := func(ctx context.Context, session string) *follower {
			l.commit(session, 1)
			f := follow(&group, l.Events(ctx, hub.Query{Session: session, Follow: true}), seqOf)
			f.want(t, session, 1)
			return f
		}
		cancelled, deleted, failed, open := start(ctx, "cancelled"), start(t.Context(), "deleted"), start(t.Context(), "failed"), start(t.Context(), "open")
		all := follow(&group, l.All(t.Context(), hub.AllQuery{After: 0, Sessions: []string{"failed", "open"}, Follow: true}), posOf)
		for range l.Events(t.Context(), hub.Query{Session: "open", Follow: true}) {
			break
		}
		cancel(tired)
		cancelled.wantEnd(t, "cancelled", tired)
		l.remove("deleted")
		l.Wake("deleted")
		deleted.wantEnd(t, "deleted", errGone)
		l.Publish("failed", l.write("failed", 1))
		l.Fail("failed", broken)
		failed.want(t, "before it failed", 1, 2)
		failed.wantEnd(t, "failed", broken)
		l.commit("open", 1)
		open.want(t, "before the end", 1, 2)
		all.want(t, "one session of several failed", 3, 4, 5, 6)
		l.Close()
		l.Close()
		open.wantEnd(t, "open", hub.ErrClosed)
		all.wantEnd(t, "all", hub.ErrClosed)
		group.Wait()
		if l.Watching() {
			t.Error("somebody still watches")
		}
	})
}

// Streams of a closed hub yield everything that was committed first, those that were
// there and those that come later.
func TestCloseDelivers(t *testing.T) {
	t.Parallel()
	for range 50 {
		l := newLogbook()
		l.commit("s", 25)
		var group sync.WaitGroup
		var readers []*follower
		for range 4 {
			readers = append(readers, follow(&group, l.Events(context.Background(), hub.Query{Session: "s", Follow: true}), seqOf))
		}
		for range 5 {
			l.commit("s", 1)
		}
		l.Close()
		readers = append(readers,
			follow(&group, l.Events(context.Background(), hub.Query{Session: "s", Follow: true}), seqOf),
			follow(&group, l.All(context.Background(), hub.AllQuery{After: 0, Sessions: nil, Follow: true}), posOf))
		group.Wait()
		for i, f := range readers {
			if len(f.seen) != 30 || len(f.errs) != 1 || !errors.Is(f.errs[0], hub.ErrClosed) {
				t.Fatalf("reader %d saw %d events, then %v", i, len(f.seen), f.errs)
			}
		}
	}
}

// What is published while a reader finds the log empty comes before the end.
func TestCloseAfterTheLastRead(t *testing.T) {
	t.Parallel()
	l := newLogbook()
	var once sync.Once
	l.afterRead = func() {
		once.Do(func() {
			l.commit("s", 1)
			l.Close()
		})
	}
	n := 0
	for _, err := range l.Events(t.Context(), hub.Query{Session: "s", Follow: true}) {
		if err == nil {
			n++
		} else if !errors.Is(err, hub.ErrClosed) {
			t.Error(err)
		}
	}
	if n != 1 {
		t.Errorf("%d events", n)
	}
}

// A context that ends stops also a reader that always has more to read.
func TestContextEndsABusyStream(t *testing.T) {
	t.Parallel()
	l := newLogbook()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	tired := errors.New("tired")
	l.commit("s", 1)
	n := 0
	for _, err := range l.Events(ctx, hub.Query{Session: "s", Follow: true}) {
		if err != nil {
			if !errors.Is(err, tired) {
				t.Error(err)
			}
			break
		}
		l.commit("s", 1)
		if n++; n == 20 {
			cancel(tired)
		}
		if n > 100 {
			t.Fatal("it goes on")
		}
	}
}
