package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/terret-dev/terret"
)

// A pooler such as PgBouncer gives each transaction any connection of the server. What a
// connection remembers is then not ours: no prepared statements, no LISTEN, no lock that
// a process holds for as long as it lives, no settings. So behind a pooler of any kind
//
//   - statements are not prepared, only their types are remembered;
//   - limits are set by each transaction;
//   - changes of others are looked for ten times a second;
//   - only the end of its lease tells that a worker is dead.

// first makes the first connection, and finds out whether a pooler is between.
func (s *Store) first(ctx context.Context) (*pgxpool.Conn, error) {
	c, err := s.pool.Acquire(ctx)
	if unsupported(err) != "" {
		s.pooled.Store(true)
		return s.pool.Acquire(ctx)
	}
	if err != nil {
		return nil, err
	}
	var pid uint32
	err = c.QueryRow(ctx, `SELECT pg_backend_pid()`, pgx.QueryExecModeExec).Scan(&pid)
	if err == nil && pid == c.Conn().PgConn().PID() {
		return c, nil
	}
	c.Release()
	if err != nil {
		return nil, err
	}
	s.pooled.Store(true) // the pooler has given out a number of its own
	return s.pool.Acquire(ctx)
}

// suited refuses connections of the pool that were made before a pooler was noticed.
func (s *Store) suited(_ context.Context, c *pgx.Conn) (bool, error) {
	return !s.pooled.Load() || c.Config().DefaultQueryExecMode == pgx.QueryExecModeCacheDescribe, nil
}

// unsupported is the name of the setting that a pooler does not take, or empty.
func unsupported(err error) string {
	e, ok := asType[*pgconn.PgError](err)
	if !ok || e.Code != "08P01" {
		return ""
	}
	_, name, _ := strings.Cut(e.Message, "unsupported startup parameter: ")
	return name
}

// adapt completes the settings of a connection. Its name is that by which others find the
// connections of a dead worker, see evict.
func (s *Store) adapt(c *pgx.ConnConfig, worker string) {
	c.RuntimeParams["application_name"] = label(worker)
	if !s.pooled.Load() {
		return
	}
	c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	for _, l := range limits {
		delete(c.RuntimeParams, l.name)
	}
}

// begin is what begins a transaction.
func (s *Store) begin() []string {
	out := []string{"BEGIN"}
	if s.pooled.Load() {
		for _, l := range limits {
			out = append(out, "SET LOCAL "+l.name+" = '"+strings.ReplaceAll(s.dial.RuntimeParams[l.name], "'", "''")+"'")
		}
	}
	return out
}

// refuseSetting says that a pooler does not pass on a setting of the address.
func (s *Store) refuseSetting(name string) error {
	return terret.Errorf(terret.CodeStartupRefused,
		"%s: the pooler in front of the database does not pass on %s; take it out of the address, and set it for the user: ALTER ROLE %s SET %s = %s",
		s.name, name, s.dial.User, name, s.dial.RuntimeParams[name])
}
