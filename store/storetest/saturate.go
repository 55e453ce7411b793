package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

const (
	saturatedCommits = 250
	// overtakenLimit is how many commits the three others may make while one process
	// waits for one of its own: with fair turns it is three or a few more.
	overtakenLimit = 300
)

// testSaturation lets four processes write as fast as they can.
func testSaturation(t *testing.T, s *suite) {
	const processes = 4
	dir := t.TempDir()
	st := s.open(t, dir)
	children := make([]*child, processes)
	sessions := make([][]string, processes)
	for i := range children {
		children[i] = s.spawn(t, dir).ready()
		sessions[i] = []string{create(t, st, terret.Session{}).ID, create(t, st, terret.Session{}).ID}
		children[i].must(job{Do: "claim", Sessions: sessions[i]})
	}
	for i, c := range children {
		c.tell(job{Do: "saturate", Sessions: sessions[i], Count: saturatedCommits})
	}
	for i, c := range children {
		r := c.answer("saturate")
		if r.Error != "" {
			t.Fatalf("process %d: %s", i, r.Error)
		}
		var total int64
		for _, id := range sessions[i] {
			n := wantSession(t, st, id)
			if err := dense(mustRead(t, st, id), n.LastSeq); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
			total += n.LastSeq
		}
		if total != int64(r.Commits) || r.Commits < saturatedCommits {
			t.Errorf("process %d made %d commits, but %d are there", i, r.Commits, total)
		}
		if r.Overtaken > overtakenLimit {
			t.Errorf("process %d waited for one commit while others made %d; at most %d is fair", i, r.Overtaken, overtakenLimit)
		}
		t.Logf("process %d: %d commits; longest wait %d ms (target 250), overtaken by %d", i, r.Commits, r.LongestMS, r.Overtaken)
		c.close()
	}
}

// saturate commits to one session, counting by whom it is overtaken, while
// another goroutine of the same process commits to a second one without pause.
func (w *childWorker) saturate(ctx context.Context, j job) (report, error) {
	measured, busy := w.writers[j.Sessions[0]], w.writers[j.Sessions[1]]
	var stop atomic.Bool
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() {
		for !stop.Load() && failed == nil {
			_, failed = busy.append(ctx, note("busy"))
		}
	})
	var r report
	err := w.measure(ctx, measured, busy, j.Count, &r)
	stop.Store(true)
	wg.Wait()
	if err == nil {
		err = failed
	}
	r.Commits = int(measured.seq + busy.seq)
	return r, err
}

func (w *childWorker) measure(ctx context.Context, measured, busy *writer, count int, r *report) error {
	var pos int64
	for range count {
		var err error
		if pos, err = w.drain(ctx, pos, func(terret.Entry) {}); err != nil {
			return err
		}
		began := time.Now()
		entries, err := measured.append(ctx, note("measured"))
		if err != nil {
			return err
		}
		r.LongestMS = max(r.LongestMS, time.Since(began).Milliseconds())
		overtaken := 0
		pos, err = w.drain(ctx, pos, func(e terret.Entry) {
			if e.Pos < entries[0].Pos && e.Session != busy.session {
				overtaken++
			}
		})
		if err != nil {
			return err
		}
		r.Overtaken = max(r.Overtaken, overtaken)
	}
	return nil
}

// drain reads what was committed after a position and returns the new one. It
// stops at the first page that is not full, since there is always more to come.
func (w *childWorker) drain(ctx context.Context, pos int64, seen func(terret.Entry)) (int64, error) {
	const limit = 1000
	for {
		page, err := w.st.ReadAll(ctx, terret.ReadAllQuery{After: pos, Limit: limit})
		if err != nil {
			return pos, err
		}
		for _, e := range page {
			seen(e)
			pos = e.Pos
		}
		if len(page) < limit {
			return pos, nil
		}
	}
}
