package postgres

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
)

func errLost() error {
	return terret.Errorf(terret.CodeConflict, "this process was out of touch with the database for too long, so its sessions may belong to others; try again")
}

// register takes a lease. A worker whose lease was lost never gets another: the store
// goes on as a new worker, which owns nothing yet. One takes it for all: the others wait,
// but nobody waits who only wants to know who the worker is.
func (s *Store) register(ctx context.Context) error {
	w := &s.worker
	if up, err := w.registered(); up || err != nil {
		return err
	}
	select {
	case w.taking <- struct{}{}:
		defer func() { <-w.taking }()
	case <-ctx.Done():
		return describe("register worker", s.name, context.Cause(ctx))
	}
	if up, err := w.registered(); up || err != nil {
		return err
	}
	id, node, about, renamed := w.anew()
	if renamed {
		s.pool.Reset() // connections carry the worker's name
	}
	var l *lease
	err := s.retry(ctx, func() error {
		_, err := w.registered()
		if err == nil {
			l, err = s.takeLease(ctx, id, node, about)
		}
		return err
	})
	if err != nil {
		return describe("register worker", s.name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone { // meanwhile
		_, err := l.conn.Exec(ctx, `DELETE FROM workers WHERE id = $1`, id)
		return errors.Join(errClosed(), err, l.conn.Close(ctx))
	}
	life, end := context.WithCancel(s.life)
	w.up, w.end, w.ended = true, end, make(chan struct{})
	ended := w.ended
	s.work.Go(func() {
		defer close(ended)
		l.keep(life)
	})
	return nil
}

// registered reports whether the worker has a lease.
func (w *worker) registered() (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return false, errClosed()
	}
	return w.up && !w.lost, nil
}

// anew makes the worker another one if its lease was lost, once nothing renews that any
// more. It returns who the worker is.
func (w *worker) anew() (id, node, about string, renamed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost {
		ended := w.ended
		w.mu.Unlock()
		<-ended
		w.mu.Lock()
		w.id, w.losses, w.lost, w.up = terret.NewID(terret.PrefixWorker), make(chan struct{}), false, false
		renamed = true
	}
	return w.id, w.node, w.about, renamed
}

// lease is renewed on a connection of its own, which also holds the worker's lock.
type lease struct {
	store *Store
	id    string    // of the worker
	conn  *pgx.Conn // nil while it is broken
	good  time.Time // until then the lease is certain, by the clock of this process
}

const sqlLock = `SELECT pg_advisory_lock_shared(hashtextextended($1, 0))`

// takeLease connects, takes the worker's lock and then writes its row, so that a row
// without a lock always means a dead worker.
func (s *Store) takeLease(ctx context.Context, id, node, about string) (*lease, error) {
	l := &lease{store: s, id: id}
	if err := l.connect(ctx); err != nil {
		return nil, err
	}
	asked := time.Now()
	_, err := l.conn.Exec(ctx, `INSERT INTO workers (id, pid, host, started_at, until, server, locked, node, about)
		VALUES ($1, $2, $3, $4, clock_timestamp() + $5::bigint * interval '1 microsecond', pg_postmaster_start_time(), $8, $6, $7)
		ON CONFLICT (id) DO UPDATE SET until = excluded.until, server = excluded.server`,
		id, os.Getpid(), hostname(), terret.Now().UnixMicro(), s.options.Lease.Microseconds(), node, cmp.Or(about, "{}"), !s.pooled.Load())
	if err != nil {
		return nil, errors.Join(err, l.conn.Close(ctx))
	}
	l.good = asked.Add(s.options.Lease)
	return l, nil
}

func (l *lease) connect(ctx context.Context) error {
	c, err := l.store.connect(ctx, l.id)
	if err != nil {
		return err
	}
	if !l.store.pooled.Load() {
		if _, err := c.Exec(ctx, sqlLock, l.id); err != nil {
			return errors.Join(err, c.Close(ctx))
		}
	}
	l.conn = c
	return nil
}

// keep renews the lease until the context ends or the lease is lost.
func (l *lease) keep(ctx context.Context) {
	s := l.store
	defer func() {
		if l.conn != nil {
			_ = l.conn.Close(context.WithoutCancel(ctx))
		}
	}()
	every := s.options.Lease / 5
	for s.worker.pause(ctx, every) {
		// The last moment is well before others may act, so that the agents of this
		// worker have ended by then.
		last := l.good.Add(-s.options.Lease / 3)
		alive, err := l.renew(ctx, last)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && alive:
			every = s.options.Lease / 5
		case err == nil, !time.Now().Before(last):
			s.log.ErrorContext(ctx, "the lease of this process is lost; its agents stop", "database", s.name, "worker", l.id, "error", err)
			s.worker.lose()
			s.news.others()
			return
		default:
			every = min(s.options.Lease/50, 200*time.Millisecond)
		}
	}
}

// pause sleeps until a caller doubts that the lease is still ours, and reports whether the
// context is still alive.
func (w *worker) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.doubt:
	case <-ctx.Done():
		return false
	}
	return true
}

// renew reports whether the lease is still ours. After an error that is unknown.
func (l *lease) renew(ctx context.Context, last time.Time) (alive bool, err error) {
	ctx, cancel := context.WithDeadline(ctx, maxTime(last, time.Now().Add(time.Second)))
	defer cancel()
	if l.conn == nil || l.conn.IsClosed() {
		if err := l.connect(ctx); err != nil {
			return false, err
		}
	}
	asked := time.Now()
	tag, err := l.conn.Exec(ctx, `UPDATE workers SET until = clock_timestamp() + $2::bigint * interval '1 microsecond', server = pg_postmaster_start_time()
		WHERE id = $1 AND until > clock_timestamp()`, l.id, l.store.options.Lease.Microseconds())
	if isCode(err, "25006") { // this server has become a standby; perhaps another is the primary
		return false, errors.Join(err, l.conn.Close(ctx))
	}
	if err != nil {
		return false, err
	}
	if tag.RowsAffected() == 0 {
		return false, nil
	}
	l.good = asked.Add(l.store.options.Lease)
	return true, nil
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// lose says that the worker is dead for good.
func (w *worker) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = true
	close(w.losses)
}

// Lost is closed when this worker's lease is lost: others may own its sessions, so
// whatever acts for them must end at once. After the next claim the store is a new
// worker, with a new channel.
func (s *Store) Lost() <-chan struct{} {
	s.worker.mu.Lock()
	defer s.worker.mu.Unlock()
	return s.worker.losses
}

// Lease is how long a worker that cannot be reached keeps its sessions.
func (s *Store) Lease() time.Duration { return s.options.Lease }

// retire gives back everything that this worker owns and removes its traces.
func (s *Store) retire() error {
	w := &s.worker
	w.mu.Lock()
	w.gone = true
	up, lost, id := w.up, w.lost, w.id
	w.mu.Unlock()
	if !up {
		return nil
	}
	var err error
	if !lost {
		err = s.write(context.Background(), "retire worker", func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `UPDATE sessions SET owner = '' WHERE owner = $1`, id); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `DELETE FROM workers WHERE id = $1`, id)
			return err
		})
	}
	w.mu.Lock()
	w.up = false
	w.mu.Unlock()
	w.end()
	<-w.ended
	return err
}
