package postgres

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/test/pgtest"
)

// logged is a log that can be waited for.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// await waits until the log says something.
func (l *logged) await(ctx context.Context, t *testing.T, words string) {
	t.Helper()
	for {
		l.mu.Lock()
		said := l.text.String()
		l.mu.Unlock()
		if strings.Contains(said, words) {
			return
		}
		if !pause(ctx, 10*time.Millisecond) {
			t.Fatalf("the log does not say %q: %s", words, said)
		}
	}
}

// flow is sessions that are written to until the test has seen enough.
type flow struct {
	t      *testing.T
	s      *Store
	log    logged
	ctx    context.Context
	end    context.CancelFunc
	owners []*owner
	wrote  chan struct{}
	group  sync.WaitGroup
}

func newFlow(t *testing.T, url string) *flow {
	t.Helper()
	f := &flow{t: t, wrote: make(chan struct{}, 1000)}
	s, err := Open(t.Context(), url, Options{Lease: time.Minute, Wait: 2 * time.Minute, Log: slog.New(slog.NewTextHandler(&f.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	f.s = s
	f.ctx, f.end = context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(func() {
		f.end()
		f.group.Wait()
		_ = s.Close() // twice, if all went well
	})
	for range 4 {
		o := newOwner(t, s)
		f.owners = append(f.owners, o)
		f.group.Go(func() {
			defer f.end() // if it fails
			o.pour(t, f.ctx, f.wrote)
		})
	}
	return f
}

// some waits until something more was acknowledged.
func (f *flow) some() {
	f.t.Helper()
	for range 50 {
		select {
		case <-f.wrote:
		case <-f.ctx.Done():
			f.t.Fatal("nothing more is written")
		}
	}
}

// drain forgets what was acknowledged so far.
func (f *flow) drain() {
	for len(f.wrote) > 0 {
		<-f.wrote
	}
}

// finish stops, and checks that all that was acknowledged is there once.
func (f *flow) finish() {
	f.t.Helper()
	f.end()
	f.group.Wait()
	for _, o := range f.owners {
		o.want(f.t, f.s, o.seq)
	}
	if err := f.s.Close(); err != nil {
		f.t.Errorf("close: %v", err)
	}
}

// run runs statements on a server.
func run(t *testing.T, s *pgtest.Server, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.URL("admin"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	for _, text := range append([]string{`SET default_transaction_read_only = off`}, statements...) {
		if _, err := c.Exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// TestFailover kills the primary while sessions are written, and promotes its standby a
// while later. Everything goes on there, and what was acknowledged is there once.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary := pgtest.ForTest(t)
	secondary := primary.Standby(t)
	wantRefused(t, secondary.URL(t.Name()), "standby", "target_session_attrs=read-write")
	run(t, primary, `ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`)
	f := newFlow(t, secondary.Both(primary, t.Name())) // the standby comes first, and is passed over
	f.some()
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	f.log.await(f.ctx, t, "waiting")
	f.drain()
	if err := secondary.Promote(); err != nil {
		t.Fatal(err)
	}
	f.some()
	f.finish()
	if err := primary.Launch(); err != nil { // what Stop stops
		t.Fatal(err)
	}
}

// TestReadOnlyForAWhile makes a database read-only while sessions are written: that is
// said and waited for.
func TestReadOnlyForAWhile(t *testing.T) {
	t.Parallel()
	own := pgtest.ForTest(t)
	f := newFlow(t, own.URL(t.Name()))
	f.some()
	hasty, err := Open(t.Context(), own.URL(t.Name()), Options{Wait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer hasty.Close()
	run(t, own, `ALTER SYSTEM SET default_transaction_read_only = on`, `SELECT pg_reload_conf()`)
	f.log.await(f.ctx, t, "read-only now; waiting until it can be written to")
	wantSays(t, "a change", hasty.PutRule(t.Context(), terret.Rule{ID: "r", Effect: terret.EffectAllow, Pattern: "x", Scope: terret.ScopeAlways}), "read-only now; nothing stored is lost")
	f.drain()
	run(t, own, `ALTER SYSTEM SET default_transaction_read_only = off`, `SELECT pg_reload_conf()`)
	f.some()
	f.finish()
}
