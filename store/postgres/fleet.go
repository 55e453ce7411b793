package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
)

var _ terret.Fleet = (*Store)(nil)

// about is what a node says of itself, as it is stored.
type about struct {
	Version  string   `json:"version,omitempty"`
	Labels   []string `json:"labels,omitempty"`
	Max      int      `json:"max,omitempty"`
	Roots    []string `json:"roots,omitempty"`
	Draining bool     `json:"draining,omitempty"`
	Place    string   `json:"place,omitempty"`
}

// Join implements terret.Fleet.
func (s *Store) Join(ctx context.Context, n terret.Node) error {
	if n.Name == "" || n.Name != clean(n.Name) {
		return terret.Invalid("node", "%q cannot be the name of a node", n.Name)
	}
	text, err := json.Marshal(about{n.Version, n.Labels, n.Max, n.Roots, n.Draining, n.Place})
	if err != nil {
		return err
	}
	if err := s.nameIsFree(ctx, n); err != nil {
		return err
	}
	s.worker.mu.Lock()
	s.worker.node, s.worker.about = n.Name, string(text)
	s.worker.mu.Unlock()
	if err := s.register(ctx); err != nil {
		return err
	}
	return s.write(ctx, "join the fleet", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE workers SET node = $2, about = $3 WHERE id = $1`, s.worker.name(), n.Name, string(text))
		return err
	})
}

// nameIsFree refuses a name that another installation uses.
func (s *Store) nameIsFree(ctx context.Context, n terret.Node) error {
	all, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, o := range all {
		if o.Name == n.Name && o.Place != n.Place {
			return terret.Errorf(terret.CodeStartupRefused,
				"there already is a node %q in this fleet: process %d on %s; give this one another name (TERRET_NODE, or node in the configuration), or another schema if it belongs to another fleet", n.Name, o.PID, o.Host)
		}
	}
	return nil
}

// Nodes implements terret.Fleet.
func (s *Store) Nodes(ctx context.Context) (out []terret.Node, err error) {
	err = s.read(ctx, "list nodes", func(c *pgx.Conn) error {
		out = []terret.Node{}
		rows, err := c.Query(ctx, `SELECT w.node, w.id, w.host, w.pid, w.about, w.started_at,
				w.until - $1::bigint * interval '1 microsecond',
				(SELECT count(*) FROM sessions s WHERE s.node = w.node AND NOT s.deleted),
				(SELECT count(*) FROM sessions s WHERE s.owner = w.id AND NOT s.deleted),
				(SELECT count(*) FROM sessions s WHERE s.owner = w.id AND s.turn <> '' AND NOT s.deleted)
			FROM workers w WHERE w.node <> '' AND `+sqlAlive+` ORDER BY w.node, w.started_at`, s.options.Lease.Microseconds())
		if err != nil {
			return err
		}
		var n terret.Node
		var text string
		var started int64
		var seen time.Time
		_, err = pgx.ForEachRow(rows, []any{&n.Name, &n.Worker, &n.Host, &n.PID, &text, &started, &seen, &n.Sessions, &n.Owned, &n.Working}, func() error {
			var a about
			if err := json.Unmarshal([]byte(text), &a); err != nil {
				return terret.Errorf(terret.CodeInternal, "what node %s says of itself cannot be read: %w", n.Name, err)
			}
			n.Version, n.Labels, n.Max, n.Roots, n.Draining, n.Place = a.Version, a.Labels, a.Max, a.Roots, a.Draining, a.Place
			n.StartedAt, n.SeenAt = micros(started), terret.TimeOf(seen)
			out = append(out, n)
			return nil
		})
		return err
	})
	return out, err
}

func noNode(name string) error {
	return terret.Errorf(terret.CodeNotFound, "node %s does not run; start terret on it, and try again", name)
}

// Call implements terret.Fleet.
func (s *Store) Call(ctx context.Context, node string, question []byte) (answer []byte, err error) {
	id := terret.NewID(terret.PrefixControl)
	err = s.ask(ctx, "call a node", func(ctx context.Context, tx pgx.Tx) error {
		if err := runs(ctx, tx.Conn(), node); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO calls (id, node, question) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, id, clean(node), question)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		gone := s.write(context.WithoutCancel(ctx), "end a call", func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM calls WHERE id = $1`, id)
			return err
		})
		err = errors.Join(err, gone)
	}()
	for version := int64(0); ; {
		err := s.read(ctx, "wait for an answer", func(c *pgx.Conn) error {
			var lost bool // the worker that took the call is gone; the node may run again, and knows nothing of it
			err := c.QueryRow(ctx, `SELECT answer, taken <> '' AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = calls.taken AND `+sqlAlive+`)
				FROM calls WHERE id = $1`, id).Scan(&answer, &lost)
			if err == nil && answer == nil && lost {
				err = terret.Errorf(terret.CodeConflict, "node %s stopped before it answered; it may have done what it was asked, so look before you try again", node)
			}
			if err != nil || answer != nil {
				return err
			}
			return runs(ctx, c, node)
		})
		if err != nil || answer != nil {
			return answer, err
		}
		if version, err = s.waitAWhile(ctx, version); err != nil {
			return nil, err
		}
	}
}

// waitAWhile waits for a change, but not for long: a node may die without one.
func (s *Store) waitAWhile(ctx context.Context, since int64) (int64, error) {
	short, cancel := context.WithTimeout(ctx, pollEvery)
	defer cancel()
	version, err := s.Wait(short, since)
	if err != nil && ctx.Err() == nil && short.Err() != nil {
		return since, nil
	}
	return version, err
}

// runs refuses a node that does not run.
func runs(ctx context.Context, c *pgx.Conn, node string) error {
	var alive bool
	err := c.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM workers w WHERE w.node = $1 AND `+sqlAlive+`)`, clean(node)).Scan(&alive)
	if err == nil && !alive {
		err = noNode(node)
	}
	return err
}

// Calls implements terret.Fleet. It also removes calls whose asker must be dead.
func (s *Store) Calls(ctx context.Context) (out []terret.Call, err error) {
	node := s.worker.nodeName()
	if node == "" {
		return nil, nil
	}
	waiting := false
	err = s.read(ctx, "look for calls", func(c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM calls WHERE node = $1 AND taken = '')`, node).Scan(&waiting)
	})
	if err != nil || !waiting {
		return nil, err
	}
	err = s.write(ctx, "take calls", func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM calls WHERE at < clock_timestamp() - interval '1 hour'`); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `UPDATE calls SET taken = $2 WHERE node = $1 AND taken = '' RETURNING id, question`, node, s.worker.name())
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByPos[terret.Call])
		return err
	})
	return out, err
}

// Reply implements terret.Fleet.
func (s *Store) Reply(ctx context.Context, id string, answer []byte) error {
	return s.write(ctx, "answer a call", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE calls SET answer = $2 WHERE id = $1`, id, answer)
		return err
	})
}

// Document implements terret.Fleet.
func (s *Store) Document(ctx context.Context, name string) (body []byte, err error) {
	err = s.read(ctx, "read "+name, func(c *pgx.Conn) error {
		err := c.QueryRow(ctx, `SELECT body FROM documents WHERE name = $1`, clean(name)).Scan(&body)
		if errors.Is(err, pgx.ErrNoRows) {
			body, err = nil, nil
		}
		return err
	})
	return body, err
}

// Documents implements terret.Fleet.
func (s *Store) Documents(ctx context.Context, prefix string) (out map[string][]byte, err error) {
	err = s.read(ctx, "read "+prefix, func(c *pgx.Conn) error {
		out = map[string][]byte{}
		rows, err := c.Query(ctx, `SELECT name, body FROM documents WHERE starts_with(name, $1)`, clean(prefix))
		if err != nil {
			return err
		}
		var name string
		var body []byte
		_, err = pgx.ForEachRow(rows, []any{&name, &body}, func() error {
			out[name], body = body, nil
			return nil
		})
		return err
	})
	return out, err
}

// ChangeDocument implements terret.Fleet. The lock is that of the name, since there may be
// no row yet.
func (s *Store) ChangeDocument(ctx context.Context, name string, fn func([]byte) ([]byte, error)) error {
	return s.write(ctx, "change "+name, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('terret document ' || current_schema() || ' ' || $1, 0))`, clean(name)); err != nil {
			return err
		}
		var old []byte
		err := tx.QueryRow(ctx, `SELECT body FROM documents WHERE name = $1`, clean(name)).Scan(&old)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		body, err := fn(old)
		switch {
		case err != nil:
			return err
		case body == nil:
			_, err = tx.Exec(ctx, `DELETE FROM documents WHERE name = $1`, clean(name))
		default:
			_, err = tx.Exec(ctx, `INSERT INTO documents (name, body) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET body = excluded.body`, clean(name), body)
		}
		return err
	})
}
