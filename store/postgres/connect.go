package postgres

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/terret-dev/terret"
)

// oldestServer is the first version of PostgreSQL that will do.
const oldestServer = 130000

// IsURL reports whether text is the address of a PostgreSQL database rather than the
// path of a file.
func IsURL(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// limits are settings of the server that every connection, or transaction, has.
var limits = []struct{ name, value string }{
	{"lock_timeout", "10s"},
	{"idle_in_transaction_session_timeout", "5s"}, // of a process that is stopped in the middle
}

// configure reads the URL. Errors never hold its password.
func (s *Store) configure(text string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, terret.Errorf(terret.CodeStartupRefused, "the address of the database is not one: %s; it looks like postgres://user:password@host:5432/database", withoutAddress(err))
	}
	if !strings.Contains(text, "pool_max_conns") {
		config.MaxConns = maxConnections
	}
	c := config.ConnConfig
	s.name = fmt.Sprintf("%s@%s:%d/%s", c.User, c.Host, c.Port, c.Database)
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		s.adapt(c, s.worker.name())
		return nil
	}
	config.PrepareConn = s.suited
	for _, l := range limits {
		if _, ok := c.RuntimeParams[l.name]; !ok {
			c.RuntimeParams[l.name] = l.value
		}
	}
	s.dial = c.Copy()
	return config, nil
}

// withoutAddress is what is wrong with an address, without the address.
func withoutAddress(err error) string {
	if e, ok := asType[*url.Error](err); ok {
		return e.Err.Error()
	}
	text := err.Error()
	if _, reason, found := strings.Cut(text, "`: "); found {
		return reason
	}
	return "it cannot be read"
}

// facts is what is known of a server.
type facts struct {
	version                  int
	encoding, durable, fsync string
	standby, readOnly        bool
	clock                    time.Time
}

// maxSkew is how much the clock of a machine may differ from the database's before that is
// said. Leases and deadlines go by the database's; the times of events are the machine's.
const maxSkew = time.Minute

// skewed is how far the clock of this machine is ahead of the database's, or 0 if that does
// not matter.
func (f facts) skewed(now time.Time) time.Duration {
	if d := now.Sub(f.clock).Round(time.Second); d.Abs() > maxSkew {
		return d
	}
	return 0
}

// checkServer refuses servers that cannot keep what a store promises.
func (s *Store) checkServer(ctx context.Context, c *pgx.Conn) error {
	var f facts
	err := c.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
			current_setting('synchronous_commit'), current_setting('fsync'), pg_is_in_recovery(), current_setting('transaction_read_only')::bool, clock_timestamp()`).
		Scan(&f.version, &f.encoding, &f.durable, &f.fsync, &f.standby, &f.readOnly, &f.clock)
	if err != nil {
		return err
	}
	if why := f.refuse(); why != "" {
		return terret.Errorf(terret.CodeStartupRefused, "%s: %s", s.name, why)
	}
	if d := f.skewed(s.now()); d != 0 {
		s.log.WarnContext(ctx, "the clock of this machine differs from the database's: events of this machine will have wrong times; nothing else depends on it", "ahead", d, "database", s.name)
	}
	if f.fsync == "off" {
		s.log.WarnContext(ctx, "the database server runs with fsync off: a power cut can destroy everything", "database", s.name)
	}
	return nil
}

// refuse says why a server will not do.
func (f facts) refuse() string {
	switch {
	case f.version < oldestServer:
		return fmt.Sprintf("the server is PostgreSQL %d; terret needs %d or newer", f.version/10000, oldestServer/10000)
	case f.encoding != "UTF8":
		return fmt.Sprintf("the database has encoding %s; create one with UTF8", f.encoding)
	case f.standby:
		return "the server is a standby, which is read-only; use the address of the primary, or name all servers and add target_session_attrs=read-write"
	case f.readOnly:
		return "the database is read-only (default_transaction_read_only); terret must write"
	case f.durable == "off":
		return "synchronous_commit is off, so a crash would lose what was acknowledged; turn it on"
	}
	return ""
}

// connect opens a connection of a worker outside the pool.
func (s *Store) connect(ctx context.Context, worker string) (*pgx.Conn, error) {
	config := s.dial.Copy()
	s.adapt(config, worker)
	return pgx.ConnectConfig(ctx, config)
}
