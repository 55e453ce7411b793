package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/terret-dev/terret"
)

// follow reads a session's log from after on until it has seen event number last:
// wait for news, read what is new, and again. It fails on a gap or a duplicate.
func follow(ctx context.Context, st terret.Store, session string, after, last int64) ([]terret.Entry, error) {
	var out []terret.Entry
	var version int64
	for after < last {
		var err error
		if version, err = st.Wait(ctx, version); err != nil {
			return out, fmt.Errorf("wait after event %d of %d: %w", after, last, err)
		}
		for {
			page, err := st.Read(ctx, terret.ReadQuery{Session: session, After: after, Limit: 7})
			if err != nil {
				return out, err
			}
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				if e.Seq != after+1 {
					return out, fmt.Errorf("event %d came after %d", e.Seq, after)
				}
				after = e.Seq
			}
			out = append(out, page...)
		}
	}
	return out, nil
}

// followAll does the same over all sessions, until it has seen count events.
func followAll(ctx context.Context, st terret.Store, count int) ([]terret.Entry, error) {
	var out []terret.Entry
	var version, pos int64
	for len(out) < count {
		var err error
		if version, err = st.Wait(ctx, version); err != nil {
			return out, fmt.Errorf("wait after %d of %d events: %w", len(out), count, err)
		}
		for {
			page, err := st.ReadAll(ctx, terret.ReadAllQuery{After: pos, Limit: 11})
			if err != nil {
				return out, err
			}
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				if e.Pos <= pos {
					return out, fmt.Errorf("position %d came after %d", e.Pos, pos)
				}
				pos = e.Pos
			}
			out = append(out, page...)
		}
	}
	return out, nil
}

// testFollow appends to several sessions while readers follow them from random
// places, some of which stop and go on later.
func testFollow(t *testing.T, s *suite) {
	const sessions, commits, readers = 3, 40, 4
	st := s.fresh(t)
	ctx := within(t)
	random := s.random(100)
	writers := make([]*writer, sessions)
	plan := make([][]int, sessions) // how many events in each commit
	total := make([]int64, sessions)
	sum := 0
	for i := range writers {
		writers[i] = newWriter(t, st)
		for range commits {
			n := 1 + random.IntN(4)
			plan[i] = append(plan[i], n)
			total[i] += int64(n)
			sum += n
		}
	}

	var wg sync.WaitGroup
	seen := make([][][]terret.Entry, sessions)
	for i, w := range writers {
		seen[i] = make([][]terret.Entry, readers)
		for r := range readers {
			from, stop := int64(0), total[i]
			if r > 0 {
				from = random.Int64N(total[i])
			}
			if r > 1 { // it goes on from there with a reader that knows nothing else
				stop = from + random.Int64N(total[i]-from)
			}
			wg.Go(func() {
				entries, err := follow(ctx, st, w.session, from, stop)
				if err == nil {
					if len(entries) > 0 {
						stop = entries[len(entries)-1].Seq
					}
					var rest []terret.Entry
					rest, err = follow(ctx, st, w.session, stop, total[i])
					entries = append(entries, rest...)
				}
				if err != nil {
					t.Errorf("reader %d of session %d: %v", r, i, err)
				}
				seen[i][r] = entries
			})
		}
	}
	var across []terret.Entry
	wg.Go(func() {
		var err error
		if across, err = followAll(ctx, st, sum); err != nil {
			t.Errorf("reader of all sessions: %v", err)
		}
	})
	for i, w := range writers {
		wg.Go(func() {
			for c, n := range plan[i] {
				events := make([]terret.Event, n)
				for k := range events {
					events[k] = note("%d.%d", c, k)
				}
				if _, err := w.append(ctx, events...); err != nil {
					t.Errorf("commit: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for i, w := range writers {
		log := mustRead(t, st, w.session)
		for _, entries := range seen[i] {
			same(t, entries, log[int64(len(log))-int64(len(entries)):])
		}
		same(t, seen[i][0], log)
		var own []terret.Entry
		for _, e := range across {
			if e.Session == w.session {
				own = append(own, e)
			}
		}
		same(t, own, log)
	}
}

// testFollowProcesses has two processes that each write and follow the other.
func testFollowProcesses(t *testing.T, s *suite) {
	const count = 60
	dir := t.TempDir()
	st := s.open(t, dir)
	ctx := within(t)
	mine := newWriter(t, st)
	theirs := create(t, st, terret.Session{}).ID
	writing, reading := s.spawn(t, dir).ready(), s.spawn(t, dir).ready()
	writing.must(job{Do: "claim", Sessions: []string{theirs}})

	writing.tell(job{Do: "append", Sessions: []string{theirs}, Count: count})
	reading.tell(job{Do: "follow", Sessions: []string{mine.session}, Count: count})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range count {
			if _, err := mine.append(ctx, note("%d", i)); err != nil {
				t.Errorf("commit: %v", err)
				return
			}
		}
	})
	var across []terret.Entry
	wg.Go(func() {
		var err error
		if across, err = followAll(ctx, st, 2*count); err != nil {
			t.Error(err)
		}
	})
	followed, err := follow(ctx, st, theirs, 0, count)
	if err != nil {
		t.Error(err)
	}
	wg.Wait()
	wrote, read := writing.answer("append"), reading.answer("follow")
	diff(t, "what this process saw of the other", ackOf(followed), wrote.Acks)
	diff(t, "what the other saw of this process", read.Acks, ackOf(mustRead(t, st, mine.session)))
	bySession := map[string][]terret.Entry{}
	for _, e := range across {
		bySession[e.Session] = append(bySession[e.Session], e)
	}
	same(t, bySession[theirs], mustRead(t, st, theirs))
	same(t, bySession[mine.session], mustRead(t, st, mine.session))
	writing.close()
	reading.close()
}

// testWait checks the ways in which waiting ends.
func testWait(t *testing.T, s *suite) {
	dir := t.TempDir()
	st, err := s.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(within(t))
	version, err := st.Wait(ctx, 0)
	if err != nil || version == 0 {
		t.Errorf("version 0 waits: %d, %v", version, err)
	}
	done := make(chan error)
	wait := func(ctx context.Context) {
		since := version
		for { // it may return without cause
			v, err := st.Wait(ctx, since)
			if err != nil {
				done <- err
				return
			}
			since = v
		}
	}
	go wait(ctx)
	why := errors.New("enough")
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
	go wait(within(t))
	if err := st.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-done; err == nil {
		t.Error("waiting on a closed store succeeds")
	}
	if err := st.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
}
