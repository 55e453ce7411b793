package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
)

// Send implements terret.Inbox.
func (s *Store) Send(ctx context.Context, item terret.InboxItem) error {
	if item.ID == "" || item.Kind == "" {
		return terret.Errorf(terret.CodeInternal, "an inbox item needs an id and a kind")
	}
	if item.At.IsZero() {
		item.At = terret.Now()
	}
	return s.ask(ctx, "send to session", func(ctx context.Context, tx pgx.Tx) error {
		var key int64
		err := tx.QueryRow(ctx, `SELECT key FROM sessions WHERE id = $1 AND NOT deleted FOR NO KEY UPDATE`, clean(item.Session)).Scan(&key)
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound(item.Session)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO inbox (id, session, kind, body, sender, at, place)
			VALUES ($1, $2, $3, $4, $5, $6, (SELECT coalesce(max(place), 0) + 1 FROM inbox WHERE session = $2)) ON CONFLICT DO NOTHING`,
			clean(item.ID), key, clean(string(item.Kind)), []byte(item.Body), clean(item.By), item.At.UnixMicro())
		return err
	})
}

// Pending implements terret.Inbox.
func (s *Store) Pending(ctx context.Context, session string) (out []terret.InboxItem, err error) {
	w := where{}
	w.add(`i.state = 'pending' AND NOT s.deleted`)
	w.addIf(session != "", `s.id = ?`, clean(session))
	// A node also sees that another node wants a session whose folder it has.
	w.addIf(session == "", `(s.owner = ? OR s.owner = '' AND i.kind = 'wake' AND s.node = ? AND s.node <> '')`, s.worker.name(), s.worker.nodeName())
	err = s.read(ctx, "read inbox", func(c *pgx.Conn) error {
		out = []terret.InboxItem{}
		rows, err := c.Query(ctx, `SELECT i.id, s.id, i.kind, i.body, i.sender, i.at FROM inbox i
			JOIN sessions s ON s.key = i.session WHERE `+w.String()+` ORDER BY i.session, i.place`, w.args...)
		if err != nil {
			return err
		}
		var item terret.InboxItem
		var kind string
		var at int64
		var body []byte
		_, err = pgx.ForEachRow(rows, []any{&item.ID, &item.Session, &kind, &body, &item.By, &at}, func() error {
			item.Kind, item.At, item.Body = terret.InboxKind(kind), micros(at), body
			out = append(out, item)
			body = nil
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Edit implements terret.Inbox.
func (s *Store) Edit(ctx context.Context, id string, body terret.JSON, before string) error {
	return s.write(ctx, "edit queue", func(ctx context.Context, tx pgx.Tx) error {
		session, err := pendingItem(ctx, tx, id)
		if err != nil {
			return err
		}
		if body != nil {
			if _, err := tx.Exec(ctx, `UPDATE inbox SET body = $2 WHERE id = $1`, id, []byte(body)); err != nil {
				return err
			}
		}
		switch before {
		case "", id:
			return nil
		case "end":
			_, err = tx.Exec(ctx, `UPDATE inbox SET place = (SELECT max(place) + 1 FROM inbox WHERE session = $1) WHERE id = $2`, session, id)
			return err
		}
		other, err := pendingItem(ctx, tx, before)
		if err != nil {
			return err
		}
		if other != session {
			return terret.Invalid("before", "%s is in the queue of another session", before)
		}
		var place int64
		if err := tx.QueryRow(ctx, `SELECT place FROM inbox WHERE id = $1`, before).Scan(&place); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE inbox SET place = place + 1 WHERE session = $1 AND place >= $2`, session, place); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE inbox SET place = $2 WHERE id = $1`, id, place)
		return err
	})
}

// Drop implements terret.Inbox.
func (s *Store) Drop(ctx context.Context, id string) error {
	return s.write(ctx, "drop from queue", func(ctx context.Context, tx pgx.Tx) error {
		if _, err := pendingItem(ctx, tx, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE inbox SET state = 'dropped' WHERE id = $1`, id)
		return err
	})
}

// pendingItem locks the session of an unhandled item, as everything that changes its
// queue does, and returns the session's key.
func pendingItem(ctx context.Context, tx pgx.Tx, id string) (session int64, err error) {
	var state string
	err = tx.QueryRow(ctx, `SELECT i.session FROM inbox i JOIN sessions s ON s.key = i.session WHERE i.id = $1 FOR NO KEY UPDATE OF s`, clean(id)).Scan(&session)
	if err == nil {
		err = tx.QueryRow(ctx, `SELECT state FROM inbox WHERE id = $1`, clean(id)).Scan(&state)
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, terret.Errorf(terret.CodeNotFound, "%q is not in a queue", id)
	case err != nil:
		return 0, err
	case state != "pending":
		return 0, terret.Errorf(terret.CodeConflict, "%s is no longer in the queue: it was %s", id, state)
	}
	return session, nil
}
