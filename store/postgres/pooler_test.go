package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/test/pgtest"
	"github.com/terret-dev/terret/store/storetest"
)

// pooled opens the store of a schema through a PgBouncer.
func pooled(ctx context.Context, b *pgtest.Bouncer, name string, o Options) (*Store, error) {
	url, schema := b.URL(name)
	c, err := pgx.Connect(ctx, server.URL("admin"))
	if err != nil {
		return nil, err
	}
	_, err = c.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+schema)
	if err = errors.Join(err, c.Close(ctx)); err != nil {
		return nil, err
	}
	s, err := Open(ctx, url, o)
	if err == nil && !s.pooled.Load() {
		err = errors.Join(errors.New("the pooler was not noticed"), s.Close())
	}
	return s, err
}

// TestPooled runs the suite through a PgBouncer in transaction mode.
func TestPooled(t *testing.T) {
	t.Parallel()
	needServer(t)
	b := server.Bouncer(t)
	through := onServer
	through.Single = true // what needs other processes starts them on the server itself
	through.Open = func(ctx context.Context, dir string) (terret.Store, error) {
		s, err := pooled(ctx, b, dir, Options{})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	storetest.Run(t, through)
}

func openPooled(t *testing.T, b *pgtest.Bouncer) *Store {
	t.Helper()
	s, err := pooled(t.Context(), b, t.Name(), Options{Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// TestPooledWorkers has two processes behind a PgBouncer: each sees what the other writes,
// a living owner keeps its session, and one whose lease has ended loses it.
func TestPooledWorkers(t *testing.T) {
	t.Parallel()
	needServer(t)
	// This one swallows the settings that others refuse.
	bouncer := server.Bouncer(t, "ignore_startup_parameters=lock_timeout,idle_in_transaction_session_timeout")
	a, b := openPooled(t, bouncer), openPooled(t, bouncer)
	version, err := b.Wait(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	o := newOwner(t, a)
	o.must(t, "poured 1,")
	if _, err := b.Wait(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(t.Context(), o.id); !strings.Contains(fmt.Sprint(err), "in use") {
		t.Errorf("a session in use is claimed: %v", err)
	}
	// It stops in the middle of a transaction, and renews nothing.
	a.worker.end()
	<-a.worker.ended
	c, err := a.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	if _, err := c.Exec(t.Context(), strings.Join(a.begin(), "; ")+"; SELECT FROM sessions FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	err = b.write(t.Context(), "let an hour pass", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE workers SET until = clock_timestamp() WHERE id = $1`, a.Worker())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	taken, err := b.Claim(t.Context(), o.id)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.append(t.Context(), "of the old owner"); !errors.Is(err, terret.ErrFenced) {
		t.Errorf("the old owner: %v", err)
	}
	next := &owner{s: b, id: o.id, epoch: taken.Session.Epoch, seq: 1}
	next.must(t, "poured 2,")
	next.want(t, b, 2)
}

// TestPooledFromTheStart has connections that were opened before the PgBouncer was noticed:
// they prepare statements, so they are not used.
func TestPooledFromTheStart(t *testing.T) {
	t.Parallel()
	needServer(t)
	bouncer := server.Bouncer(t, "ignore_startup_parameters=lock_timeout,idle_in_transaction_session_timeout")
	openPooled(t, bouncer) // makes the schema
	url, _ := bouncer.URL(t.Name())
	s, err := Open(t.Context(), url+"?pool_min_conns=4", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 6 {
		c, err := s.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Release()
		if mode := c.Conn().Config().DefaultQueryExecMode; mode != pgx.QueryExecModeCacheDescribe {
			t.Errorf("a connection is in mode %v", mode)
		}
	}
}

// TestPooledSettings has settings that do not get through a PgBouncer.
func TestPooledSettings(t *testing.T) {
	t.Parallel()
	needServer(t)
	refused := func(b *pgtest.Bouncer, setting string, words ...string) {
		t.Helper()
		url, _ := b.URL(t.Name())
		wantRefused(t, url+setting, append(words, "the pooler", "take it out of the address")...)
	}
	b := server.Bouncer(t)
	refused(b, "?search_path=elsewhere", "ALTER ROLE terret SET search_path = elsewhere")
	refused(b, "?work_mem=8MB", "ALTER ROLE terret SET work_mem = 8MB")
	silent := server.Bouncer(t, "ignore_startup_parameters=lock_timeout,idle_in_transaction_session_timeout,search_path")
	refused(silent, "?search_path=elsewhere", "ALTER ROLE terret SET search_path = elsewhere")
}
