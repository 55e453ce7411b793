package sqlite

import (
	"bytes"
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
)

// Send implements terret.Inbox.
func (s *Store) Send(ctx context.Context, item terret.InboxItem) error {
	if item.ID == "" || item.Kind == "" {
		return terret.Errorf(terret.CodeInternal, "an inbox item needs an id and a kind")
	}
	if item.At.IsZero() {
		item.At = terret.Now()
	}
	return s.ask(ctx, "send to session", func(tx *lite.Conn) error {
		key, err := sessionKey(tx, item.Session)
		if err != nil {
			return err
		}
		return tx.Exec(`INSERT INTO inbox (id, session, kind, body, sender, at, place)
			VALUES (?, ?, ?, ?, ?, ?, (SELECT coalesce(max(place), 0) + 1 FROM inbox WHERE session = ?2)) ON CONFLICT DO NOTHING`,
			item.ID, key, string(item.Kind), []byte(item.Body), item.By, item.At.UnixMicro())
	})
}

// Pending implements terret.Inbox.
func (s *Store) Pending(ctx context.Context, session string) ([]terret.InboxItem, error) {
	w := where{}
	w.add(`i.state = 'pending' AND s.deleted = 0`)
	w.addIf(session != "", `s.id = ?`, session)
	w.addIf(session == "", `s.owner = ?`, s.worker.id)
	out := []terret.InboxItem{}
	err := s.read(ctx, "read inbox", func(c *lite.Conn) error {
		rows := c.Query(`SELECT i.id, s.id, i.kind, i.body, i.sender, i.at FROM inbox i
			JOIN sessions s ON s.key = i.session WHERE `+w.String()+` ORDER BY i.session, i.place`, w.args...)
		for rows.Next() {
			out = append(out, terret.InboxItem{
				ID: rows.Text(0), Session: rows.Text(1), Kind: terret.InboxKind(rows.Text(2)), Body: bytes.Clone(rows.Bytes(3)),
				By: rows.Text(4), At: micros(rows.Int(5)),
			})
		}
		return rows.Close()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Edit implements terret.Inbox.
func (s *Store) Edit(ctx context.Context, id string, body terret.JSON, before string) error {
	return s.write(ctx, "edit queue", func(tx *lite.Conn) error {
		session, err := pendingItem(tx, id)
		if err != nil {
			return err
		}
		if body != nil {
			if err := tx.Exec(`UPDATE inbox SET body = ? WHERE id = ?`, []byte(body), id); err != nil {
				return err
			}
		}
		switch before {
		case "", id:
			return nil
		case "end":
			return tx.Exec(`UPDATE inbox SET place = (SELECT max(place) + 1 FROM inbox WHERE session = ?) WHERE id = ?`, session, id)
		}
		other, err := pendingItem(tx, before)
		if err != nil {
			return err
		}
		if other != session {
			return terret.Invalid("before", "%s is in the queue of another session", before)
		}
		var place int64
		if _, err := tx.Row(func(r *lite.Rows) { place = r.Int(0) }, `SELECT place FROM inbox WHERE id = ?`, before); err != nil {
			return err
		}
		if err := tx.Exec(`UPDATE inbox SET place = place + 1 WHERE session = ? AND place >= ?`, session, place); err != nil {
			return err
		}
		return tx.Exec(`UPDATE inbox SET place = ? WHERE id = ?`, place, id)
	})
}

// Drop implements terret.Inbox.
func (s *Store) Drop(ctx context.Context, id string) error {
	return s.write(ctx, "drop from queue", func(tx *lite.Conn) error {
		if _, err := pendingItem(tx, id); err != nil {
			return err
		}
		return tx.Exec(`UPDATE inbox SET state = 'dropped' WHERE id = ?`, id)
	})
}

// pendingItem returns the key of the session of an unhandled item.
func pendingItem(tx *lite.Conn, id string) (session int64, err error) {
	var state string
	found, err := tx.Row(func(r *lite.Rows) { session, state = r.Int(0), r.Text(1) }, `SELECT session, state FROM inbox WHERE id = ?`, id)
	switch {
	case err != nil:
		return 0, err
	case !found:
		return 0, terret.Errorf(terret.CodeNotFound, "%q is not in a queue", id)
	case state != "pending":
		return 0, terret.Errorf(terret.CodeConflict, "%s is no longer in the queue: it was %s", id, state)
	}
	return session, nil
}
