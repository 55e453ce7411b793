package postgres

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
)

// worker is this store's identity in the fleet. It is registered at the first claim, so
// that commands which only read leave no trace.
type worker struct {
	mu     sync.Mutex
	id     string // changes when a lease is lost
	up     bool   // it has, or had, a lease
	gone   bool   // the store is closed
	lost   bool   // the lease is lost, which is for good
	end    context.CancelFunc
	ended  chan struct{} // closed when nothing renews the lease any more
	losses chan struct{} // closed when the lease is lost
	node   string        // the name by which others can ask this process; empty if not
	about  string        // what it says of itself
	doubt  chan struct{} // asks whether the lease is still ours; buffered
	taking chan struct{} // holds one value while a lease is being taken
}

// nodeName is the name of the node that this process is, or empty.
func (w *worker) nodeName() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.node
}

// label is what the connections of a worker are called in the database.
func label(id string) string { return "terret " + id }

// name is the worker's id at the moment.
func (w *worker) name() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.id
}

// leaving reports whether the store is being closed, and only the worker still writes.
func (w *worker) leaving() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone && w.up
}

// Worker implements terret.Ownership.
func (s *Store) Worker() string { return s.worker.name() }

// sqlAlive says whether a worker may still act. Its lease must not have run out by the
// clock of the database. If it had a lock, the server has not been restarted since, and
// the lock is free, then its connection has ended with its process.
const sqlAlive = `(w.until > clock_timestamp() AND NOT (w.locked AND w.server = pg_postmaster_start_time()
	AND NOT EXISTS (SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND l.classid::bigint = (hashtextextended(w.id, 0) >> 32) & 4294967295 AND l.objid::bigint = hashtextextended(w.id, 0) & 4294967295 AND l.objsubid = 1)))`

// Claim implements terret.Ownership. If the lease of this process has ended and it has not
// noticed, as after a machine's sleep, it continues as another worker: nobody else may have
// the session.
func (s *Store) Claim(ctx context.Context, session string) (terret.Claim, error) {
	out, ended, err := s.claim(ctx, session)
	if ended != nil && awaitEnd(ctx, ended, s.options.Lease) {
		out, _, err = s.claim(ctx, session)
	}
	return out, err
}

// claim is Claim as the worker that the store is. If that one's lease has ended, so that it
// can own nothing, claim returns what is closed when nothing renews it any more.
func (s *Store) claim(ctx context.Context, session string) (out terret.Claim, ended <-chan struct{}, err error) {
	if err := s.register(ctx); err != nil {
		return out, nil, err
	}
	if err := s.evict(ctx, session); err != nil {
		return out, nil, err
	}
	keeper := s.worker.keeper()
	err = s.write(ctx, "claim session", func(ctx context.Context, tx pgx.Tx) error {
		if err := s.mayTake(ctx, tx, session); err != nil {
			return err
		}
		// A worker that is not there can own nothing: it may have been declared dead.
		tag, err := tx.Exec(ctx, `UPDATE sessions SET owner = $1, epoch = epoch + 1
			WHERE id = $2 AND EXISTS (SELECT 1 FROM workers WHERE id = $1 AND until > clock_timestamp() FOR SHARE)`, s.worker.name(), clean(session))
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			ended = keeper
			return errLost()
		}
		if err := tx.QueryRow(ctx, `SELECT cursor FROM sessions WHERE id = $1`, session).Scan(&out.Cursor); err != nil {
			return err
		}
		out.Session, err = sessionOf(ctx, tx.Conn(), session)
		return err
	})
	if ended != nil {
		select {
		case s.worker.doubt <- struct{}{}:
		default: // it is being asked already
		}
	}
	return out, ended, err
}

// keeper is closed when nothing renews the worker's lease any more.
func (w *worker) keeper() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// awaitEnd waits for the channel to be closed, for some time, and reports whether it was.
func awaitEnd(ctx context.Context, ended <-chan struct{}, limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-ended:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// mayTake locks a session, and refuses if another living worker owns it. A dead owner is
// removed: it can never renew its lease again.
func (s *Store) mayTake(ctx context.Context, tx pgx.Tx, session string) error {
	var owner string
	err := tx.QueryRow(ctx, `SELECT owner FROM sessions WHERE id = $1 AND NOT deleted FOR NO KEY UPDATE`, clean(session)).Scan(&owner)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return notFound(session)
	case err != nil:
		return err
	case owner == "" || owner == s.worker.name():
		return nil
	}
	var alive bool
	var pid int
	var host string
	err = tx.QueryRow(ctx, `SELECT `+sqlAlive+`, w.pid, w.host FROM workers w WHERE w.id = $1 FOR UPDATE`, owner).Scan(&alive, &pid, &host)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	case alive:
		return inUse(session, pid, host)
	}
	_, err = tx.Exec(ctx, `DELETE FROM workers WHERE id = $1`, owner)
	return err
}

// evict refuses if the owner is alive, and ends the connections of a dead one: if it was
// stopped in the middle of a transaction, that would hold up its successor. It waits for
// no lock.
func (s *Store) evict(ctx context.Context, session string) error {
	return s.read(ctx, "look for the owner", func(c *pgx.Conn) error {
		var owner, host string
		var pid int
		var alive bool
		err := c.QueryRow(ctx, `SELECT s.owner, w.pid, w.host, `+sqlAlive+` FROM sessions s JOIN workers w ON w.id = s.owner
			WHERE s.id = $1 AND s.owner <> $2 AND NOT s.deleted`, clean(session), s.worker.name()).Scan(&owner, &pid, &host, &alive)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		case alive:
			return inUse(session, pid, host)
		}
		_, err = c.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND usename = current_user AND application_name = $1`, label(owner))
		return err
	})
}

func inUse(session string, pid int, host string) error {
	return terret.Errorf(terret.CodeConflict, "session %s is in use by process %d on %s", session, pid, host)
}

// Release implements terret.Ownership.
func (s *Store) Release(ctx context.Context, session string, epoch int64) error {
	return s.write(ctx, "release session", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE sessions SET owner = '' WHERE id = $1 AND owner = $2 AND epoch = $3`, clean(session), s.worker.name(), epoch)
		return err
	})
}

// Orphans implements terret.Ownership. It also forgets dead workers that own nothing. A
// node that has lost its lease becomes a node again.
func (s *Store) Orphans(ctx context.Context) ([]terret.Session, error) {
	if s.worker.nodeName() != "" {
		if err := s.register(ctx); err != nil {
			return nil, err
		}
	}
	var out []terret.Session
	idle := 0
	err := s.read(ctx, "find orphans", func(c *pgx.Conn) (err error) {
		if err := c.QueryRow(ctx, `SELECT count(*) FROM workers w WHERE `+sqlIdle).Scan(&idle); err != nil {
			return err
		}
		out, err = sessions(ctx, c, `owner <> '' AND NOT deleted AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = sessions.owner AND `+sqlAlive+`)`, nil, "owner, id", 0)
		return err
	})
	if err != nil || idle == 0 {
		return out, err
	}
	return out, s.write(ctx, "forget workers", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM workers w WHERE `+sqlIdle)
		return err
	})
}

// sqlIdle finds dead workers that own nothing.
const sqlIdle = `NOT ` + sqlAlive + ` AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.owner = w.id AND NOT s.deleted)`

func hostname() string {
	host, _ := os.Hostname() // only shown to people
	return clean(host)
}
