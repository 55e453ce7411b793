package sqlite

import (
	"context"
	"database/sql"
	"errors"

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
	return s.ask(ctx, "send to session", func(ctx context.Context, tx *txn) error {
		key, err := s.sessionKey(ctx, tx, item.Session)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO inbox (id, session, kind, body, sender, at, place)
			VALUES (?, ?, ?, ?, ?, ?, (SELECT coalesce(max(place), 0) + 1 FROM inbox WHERE session = ?2)) ON CONFLICT DO NOTHING`,
			item.ID, key, string(item.Kind), []byte(item.Body), item.By, item.At.UnixMicro())
		return err
	})
}

// Pending implements terret.Inbox.
func (s *Store) Pending(ctx context.Context, session string) ([]terret.InboxItem, error) {
	w := where{}
	w.add(`i.state = 'pending' AND s.deleted = 0`)
	w.addIf(session != "", `s.id = ?`, session)
	w.addIf(session == "", `s.owner = ?`, s.worker.id)
	rows, err := s.query(ctx, `SELECT i.id, s.id, i.kind, i.body, i.sender, i.at FROM inbox i
		JOIN sessions s ON s.key = i.session WHERE `+w.String()+` ORDER BY i.session, i.place`, w.args...)
	if err != nil {
		return nil, describe("read inbox", s.path, err)
	}
	defer rows.Close()
	out := []terret.InboxItem{}
	for rows.Next() {
		var item terret.InboxItem
		var body []byte
		var at int64
		if err := rows.Scan(&item.ID, &item.Session, &item.Kind, &body, &item.By, &at); err != nil {
			return nil, err
		}
		item.Body, item.At = body, micros(at)
		out = append(out, item)
	}
	return out, describe("read inbox", s.path, rows.Err())
}

// Edit implements terret.Inbox.
func (s *Store) Edit(ctx context.Context, id string, body terret.JSON, before string) error {
	return s.write(ctx, "edit queue", func(ctx context.Context, tx *txn) error {
		session, err := pendingItem(ctx, tx, id)
		if err != nil {
			return err
		}
		if body != nil {
			if _, err := tx.ExecContext(ctx, `UPDATE inbox SET body = ? WHERE id = ?`, []byte(body), id); err != nil {
				return err
			}
		}
		switch before {
		case "", id:
			return nil
		case "end":
			_, err := tx.ExecContext(ctx, `UPDATE inbox SET place = (SELECT max(place) + 1 FROM inbox WHERE session = ?) WHERE id = ?`, session, id)
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
		if err := tx.QueryRowContext(ctx, `SELECT place FROM inbox WHERE id = ?`, before).Scan(&place); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE inbox SET place = place + 1 WHERE session = ? AND place >= ?`, session, place); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE inbox SET place = ? WHERE id = ?`, place, id)
		return err
	})
}

// Drop implements terret.Inbox.
func (s *Store) Drop(ctx context.Context, id string) error {
	return s.write(ctx, "drop from queue", func(ctx context.Context, tx *txn) error {
		if _, err := pendingItem(ctx, tx, id); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE inbox SET state = 'dropped' WHERE id = ?`, id)
		return err
	})
}

// pendingItem returns the session's key of an item that is not dealt with yet.
func pendingItem(ctx context.Context, tx *txn, id string) (session int64, err error) {
	var state string
	err = tx.QueryRowContext(ctx, `SELECT session, state FROM inbox WHERE id = ?`, id).Scan(&session, &state)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, terret.Errorf(terret.CodeNotFound, "%q is not in a queue", id)
	case err != nil:
		return 0, err
	case state != "pending":
		return 0, terret.Errorf(terret.CodeConflict, "%s is not in the queue any more: it was %s", id, state)
	}
	return session, nil
}
