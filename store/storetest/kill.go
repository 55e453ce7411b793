package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

// testKill kills a process that writes, at random points, and compares what it
// was told is stored with what is.
func testKill(t *testing.T, s *suite) {
	random := s.random(200)
	k := &killing{suite: s, dir: t.TempDir(), acked: map[string]string{}}
	acks := 0
	for round := range *killRounds {
		if round%10 == 9 { // also while the store is being made
			k = &killing{suite: s, dir: t.TempDir(), acked: map[string]string{}}
		}
		acks += k.round(t, random, round)
		if t.Failed() {
			t.Fatalf("in round %d of %d", round+1, *killRounds)
		}
	}
	t.Logf("%d kills, %d events acknowledged before them", *killRounds, acks)
}

// killing is what is known of a store whose writers are killed.
type killing struct {
	*suite
	dir      string
	sessions []string
	acked    map[string]string // session and number to hash
}

func (k *killing) round(t *testing.T, random *rand.Rand, round int) (acks int) {
	ctx := t.Context()
	var watcher terret.Store // sometimes another process has the store open all the time
	if len(k.sessions) > 0 && round%3 == 0 {
		var err error
		if watcher, err = k.Open(ctx, k.dir); err != nil {
			t.Fatalf("open: %v", err)
		}
	}
	c := k.spawn(t, k.dir)
	if len(k.sessions) > 0 {
		c.ready()
		c.tell(job{Do: "write", Sessions: k.sessions, Seed: random.Uint64()})
		for range random.IntN(30) {
			acks += k.note(c.answer("write"))
		}
	}
	// Where in its work it is by then is anybody's guess.
	time.Sleep(time.Duration(random.IntN(10_000)) * time.Microsecond)
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for { // what it said before it died
		r, err := c.next()
		if err != nil {
			break
		}
		acks += k.note(r)
	}
	c.kill()
	k.check(t)
	if watcher != nil {
		if err := watcher.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	return acks
}

func (k *killing) note(r report) int {
	for _, a := range r.Acks {
		k.acked[fmt.Sprint(a.Session, a.Seq)] = a.Hash
	}
	return len(r.Acks)
}

// check opens the store as the next process would.
func (k *killing) check(t *testing.T) {
	ctx := t.Context()
	st, err := k.Open(ctx, k.dir)
	if err != nil {
		t.Fatalf("open after a kill: %v", err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	findings, err := maintainer(t, st).Check(ctx)
	if err != nil || len(findings) > 0 {
		t.Errorf("check after a kill: %v, %v", findings, err)
	}
	missing := len(k.acked)
	for _, id := range k.sessions {
		entries, last := settled(t, st, id)
		if err := dense(entries, last); err != nil {
			t.Errorf("session %s: %v", id, err)
		}
		for _, e := range entries {
			want, ok := k.acked[fmt.Sprint(e.Session, e.Seq)]
			if !ok {
				continue // written, but killed before it could say so
			}
			missing--
			if want != hash(e) {
				t.Errorf("session %s: event %d is not what was acknowledged", id, e.Seq)
			}
		}
	}
	if missing > 0 {
		t.Errorf("%d acknowledged events are missing", missing)
	}
	if len(k.sessions) == 0 {
		for range 3 {
			k.sessions = append(k.sessions, create(t, st, terret.Session{}).ID)
		}
	}
}

// settled reads a session. A database server may complete the last commit of a writer that
// is dead already, so it reads again if that came in between.
func settled(t *testing.T, st terret.Store, id string) (entries []terret.Entry, last int64) {
	t.Helper()
	for before := int64(-1); ; before = last {
		entries = mustRead(t, st, id)
		if last = wantSession(t, st, id).LastSeq; last == before {
			return entries, last
		}
	}
}

// writeUntilKilled commits groups of batches of all sizes, and says what
// was committed.
func (w *childWorker) writeUntilKilled(ctx context.Context, j job) error {
	random := rand.New(rand.NewPCG(j.Seed, 0))
	if _, err := w.do(ctx, job{Do: "claim", Sessions: j.Sessions}); err != nil {
		return err
	}
	for n := 0; ; n++ {
		var batches []terret.Batch
		some := someEvents
		if random.IntN(3) == 0 {
			some = somePieces
		}
		for _, id := range j.Sessions[:1+random.IntN(len(j.Sessions))] {
			batches = append(batches, w.writers[id].batch(some(random, n)...))
		}
		results, err := w.st.Commit(ctx, batches)
		if err != nil {
			return err
		}
		var r report
		for i, res := range results {
			if res.Err != nil {
				return res.Err
			}
			w.writers[batches[i].Session].seq = res.LastSeq
			r.Acks = append(r.Acks, ackOf(res.Entries)...)
		}
		if err := w.out.Encode(r); err != nil {
			return err
		}
	}
}

// somePieces is a batch of pieces of text.
func somePieces(random *rand.Rand, n int) []terret.Event {
	var events []terret.Event
	for i := range 1 + random.IntN(4) {
		events = append(events, event("", terret.MessageDelta{MessageID: fmt.Sprint(n, i), Text: strings.Repeat("p", 1+random.IntN(50))}))
	}
	return events
}

// someEvents is a batch as agents make them: text, at times a large result, at
// times a whole turn.
func someEvents(random *rand.Rand, n int) []terret.Event {
	var events []terret.Event
	for i := range 1 + random.IntN(4) {
		events = append(events, note("%d.%d %s", n, i, strings.Repeat("w", random.IntN(500))))
	}
	switch random.IntN(8) {
	case 0:
		e := note("large %s", strings.Repeat("l", 70_000+random.IntN(100_000)))
		e.Raw = []byte(strings.Repeat("r", random.IntN(100_000)))
		events = append(events, e)
	case 1:
		turn := terret.NewID(terret.PrefixTurn)
		request := ask(turn)
		events = append(events, start(turn), request,
			event(turn, decision(request.Expects.RequestID, terret.BehaviorAllow, "me").Data()),
			event(turn, terret.TurnComplete{Usage: terret.Usage{Input: 1}}))
	}
	return events
}
