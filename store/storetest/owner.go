package storetest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

// testTakeover kills a process that owns sessions, and takes them over.
func testTakeover(t *testing.T, s *suite) {
	dir := t.TempDir()
	st := s.open(t, dir)
	ctx := within(t)
	var ids []string
	for range 3 {
		ids = append(ids, create(t, st, terret.Session{}).ID)
	}
	free, mine := create(t, st, terret.Session{}), newWriter(t, st)
	owner, bystander := s.spawn(t, dir).ready(), s.spawn(t, dir).ready()
	owner.must(job{Do: "claim", Sessions: ids})
	bystander.must(job{Do: "claim", Sessions: []string{free.ID}})
	wrote := owner.must(job{Do: "append", Sessions: ids, Count: 2})

	orphans := func() []string {
		t.Helper()
		list, err := st.Orphans(ctx)
		if err != nil {
			t.Fatal(err)
		}
		out := []string{}
		for _, n := range list {
			out = append(out, n.ID)
		}
		slices.Sort(out)
		return out
	}
	diff(t, "orphans while all live", orphans(), []string{})
	epochs := map[string]int64{}
	for _, id := range ids {
		_, err := st.Claim(ctx, id)
		wantError(t, "claim of a living owner's session", err, terret.CodeConflict)
		if err != nil && !strings.Contains(err.Error(), strconv.Itoa(owner.cmd.Process.Pid)) {
			t.Errorf("%q does not name process %d", err, owner.cmd.Process.Pid)
		}
		wantError(t, "delete of a living owner's session", st.Delete(ctx, id), terret.CodeConflict)
		epochs[id] = wantSession(t, st, id).Epoch
	}

	owner.kill()
	slices.Sort(ids)
	for !slices.Equal(orphans(), ids) { // a lease may take its time to end
		if !pause(ctx, 20*time.Millisecond) {
			t.Fatalf("orphans: %v, want %v", orphans(), ids)
		}
	}
	for _, id := range ids {
		w, err := claim(ctx, st, id)
		if err != nil {
			t.Fatalf("claim of an orphan: %v", err)
		}
		if w.epoch <= epochs[id] {
			t.Errorf("epoch %d after %d", w.epoch, epochs[id])
		}
		if w.seq != 2 {
			t.Errorf("it is at %d, not 2", w.seq)
		}
		w.must(t, note("taken over"))
		var acks []ack
		for _, a := range wrote.Acks {
			if a.Session == id {
				acks = append(acks, a)
			}
		}
		diff(t, "what the dead owner wrote", ackOf(mustRead(t, st, id)[:2]), acks)
	}
	diff(t, "orphans after the takeover", orphans(), []string{})
	mine.must(t, note("all along"))

	// A process that ends in peace leaves no orphans.
	bystander.close()
	diff(t, "orphans after a close", orphans(), []string{})
	if n := wantSession(t, st, free.ID); n.Owner != "" {
		t.Errorf("a closed store still owns %s: %s", n.ID, n.Owner)
	}
}

// pause is for conditions that take their time; false means that it is too late.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// testClaim checks who owns what among instances in one process.
func testClaim(t *testing.T, s *suite) {
	dir := t.TempDir()
	a, b := s.open(t, dir), s.open(t, dir)
	ctx := t.Context()
	if a.Worker() == b.Worker() || a.Worker() == "" {
		t.Errorf("workers %q and %q", a.Worker(), b.Worker())
	}
	w := newWriter(t, a)
	if n := wantSession(t, b, w.session); n.Owner != a.Worker() || n.Epoch != w.epoch {
		t.Errorf("owner %q in epoch %d, want %q in %d", n.Owner, n.Epoch, a.Worker(), w.epoch)
	}
	_, err := b.Claim(ctx, w.session)
	wantError(t, "claim of another's session", err, terret.CodeConflict)
	_, err = b.Claim(ctx, terret.NewSessionID())
	wantError(t, "claim of no session", err, terret.CodeSessionNotFound)

	batch := w.batch(note("x"))
	batch.Cursor = []byte("cursor\x00\xff")
	if _, err := w.commit(ctx, batch); err != nil {
		t.Fatal(err)
	}
	w.must(t, note("leaves the cursor"))
	c, err := a.Claim(ctx, w.session)
	if err != nil || string(c.Cursor) != "cursor\x00\xff" || c.Session.Epoch != w.epoch+1 || c.Session.LastSeq != 2 {
		t.Errorf("claim: %+v, %v", c, err)
	}

	// Releases that come too late, or from others, change nothing.
	for _, r := range []struct {
		st    terret.Store
		epoch int64
	}{{a, w.epoch}, {b, c.Session.Epoch}} {
		if err := r.st.Release(ctx, w.session, r.epoch); err != nil {
			t.Errorf("release: %v", err)
		}
		if n := wantSession(t, a, w.session); n.Owner != a.Worker() {
			t.Errorf("owner after a void release: %q", n.Owner)
		}
	}
	if err := a.Release(ctx, w.session, c.Session.Epoch); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(ctx, w.session); err != nil {
		t.Errorf("claim after release: %v", err)
	}

	// Closing gives back.
	third, err := s.Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	held := newWriter(t, third)
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Claim(ctx, held.session); err != nil {
		t.Errorf("claim after close: %v", err)
	}
	if _, err := third.Claim(ctx, held.session); err == nil || errors.Is(err, terret.ErrConflict) {
		t.Errorf("claim by a closed store: %v", err)
	}
	if _, err := held.append(ctx, note("after close")); err == nil {
		t.Error("commit by a closed store succeeds")
	}
}

// testClose closes a store that is being used. What was acknowledged is there, and
// all calls come back.
func testClose(t *testing.T, s *suite) {
	dir := t.TempDir()
	st, err := s.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t)
	writers := make([]*writer, 4)
	for i := range writers {
		writers[i] = newWriter(t, st)
	}
	var wg sync.WaitGroup
	for i, w := range writers {
		wg.Go(func() {
			for n := 0; ; n++ {
				if i == 0 && n == 20 {
					if err := st.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				}
				if _, err := w.append(ctx, note("%d", n)); err != nil {
					return
				}
			}
		})
		wg.Go(func() {
			for version := int64(0); ; {
				var err error
				if version, err = st.Wait(ctx, version); err != nil {
					return
				}
				if _, err = st.Read(ctx, terret.ReadQuery{Session: w.session}); err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	again := s.open(t, dir)
	for _, w := range writers {
		n := wantSession(t, again, w.session)
		if n.LastSeq < w.seq {
			t.Errorf("the log is at %d, but %d was acknowledged", n.LastSeq, w.seq)
		}
		if err := dense(mustRead(t, again, w.session), n.LastSeq); err != nil {
			t.Error(err)
		}
		if _, err := again.Claim(ctx, w.session); err != nil {
			t.Errorf("claim: %v", err)
		}
	}
}
