package sqlite

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
	"github.com/terret-dev/terret/store"
)

func notFound(session string) error {
	return terret.Errorf(terret.CodeSessionNotFound, "there is no session %q", session)
}

func sessionKey(c *lite.Conn, id string) (key int64, err error) {
	found, err := c.Row(func(r *lite.Rows) { key = r.Int(0) }, `SELECT key FROM sessions WHERE id = ? AND deleted = 0`, id)
	if err == nil && !found {
		err = notFound(id)
	}
	return key, err
}

// Create implements terret.Sessions.
func (s *Store) Create(ctx context.Context, n terret.Session) (terret.Session, error) {
	if err := store.CheckSession(&n); err != nil {
		return terret.Session{}, err
	}
	options, err := json.Marshal(n.Options)
	if err != nil {
		return terret.Session{}, terret.Invalid("options", "%w", err)
	}
	var out terret.Session
	err = s.write(ctx, "create session", func(tx *lite.Conn) error {
		added, err := changed(tx, `INSERT INTO sessions (id, agent, native_id, title, cwd, persona, mode, model, policy, permission_mode,
				one_shot, state, created_at, updated_at, forked_from, handed_to, options)
			VALUES (?, ?, nullif(?, ''), ?, ?, nullif(?, ''), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			n.ID, n.Agent, string(n.NativeID), n.Title, n.Cwd, string(n.Persona), string(n.Mode), n.Model, string(n.Policy), n.PermissionMode,
			n.OneShot, string(n.State), n.CreatedAt.UnixMicro(), n.CreatedAt.UnixMicro(), n.ForkedFrom, n.HandedTo, string(options))
		if err != nil {
			return err
		}
		if added == 0 {
			return terret.Errorf(terret.CodeConflict, "there already is a session %s", n.ID)
		}
		out, err = sessionOf(tx, n.ID)
		return err
	})
	return out, err
}

// Session implements terret.Sessions.
func (s *Store) Session(ctx context.Context, id string) (out terret.Session, err error) {
	err = s.read(ctx, "read session "+id, func(c *lite.Conn) error {
		out, err = sessionOf(c, id)
		return err
	})
	return out, err
}

func sessionOf(c *lite.Conn, id string) (terret.Session, error) {
	found, err := sessions(c, `id = ? AND deleted = 0`, []any{id}, "id", 1)
	if err != nil {
		return terret.Session{}, err
	}
	if len(found) == 0 {
		return terret.Session{}, notFound(id)
	}
	return found[0], nil
}

const sessionColumns = `id, agent, native_id, title, cwd, persona, mode, model, policy, permission_mode,
	one_shot, state, turn, created_at, updated_at, owner, epoch, last_seq, input, output, cache_read, cache_write, reasoning, cost,
	checkpoint_id, can_undo, can_redo, forked_from, handed_to, options,
	(SELECT count(*) FROM requests r WHERE r.session = sessions.key AND ` + sqlOpen + `)`

// sessions reads the matching sessions; limit 0 means all.
func sessions(c *lite.Conn, where string, args []any, order string, limit int) ([]terret.Session, error) {
	if limit == 0 {
		limit = -1
	}
	rows := c.Query(`SELECT `+sessionColumns+` FROM sessions WHERE `+where+` ORDER BY `+order+` LIMIT ?`, append(args, limit)...)
	defer rows.Close() //nolint:errcheck // again, below
	out := []terret.Session{}
	for rows.Next() {
		n, err := scanSession(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, rows.Close()
}

func scanSession(r *lite.Rows) (terret.Session, error) {
	n := terret.Session{
		ID: r.Text(0), Agent: r.Text(1), NativeID: terret.NullString(r.Text(2)), Title: r.Text(3), Cwd: r.Text(4),
		Persona: terret.NullString(r.Text(5)), Mode: terret.Mode(r.Text(6)), Model: r.Text(7), Policy: terret.Policy(r.Text(8)), PermissionMode: r.Text(9),
		OneShot: r.Bool(10), State: terret.SessionState(r.Text(11)), Turn: r.Text(12), CreatedAt: micros(r.Int(13)), UpdatedAt: micros(r.Int(14)),
		Owner: r.Text(15), Epoch: r.Int(16), LastSeq: r.Int(17), Usage: usageAt(r, 18), CostUSD: terret.Cost(r.Int(23)),
		ForkedFrom: r.Text(27), HandedTo: r.Text(28), OpenRequests: int(r.Int(30)),
	}
	if id := r.Text(24); id != "" {
		n.Revert = &terret.Revert{CheckpointID: id, CanUndo: r.Bool(25), CanRedo: r.Bool(26)}
	}
	if options := r.Bytes(29); string(options) != "{}" {
		if err := json.Unmarshal(options, &n.Options); err != nil {
			return n, terret.Errorf(terret.CodeInternal, "session %s: its options: %w", n.ID, err)
		}
	}
	return n, nil
}

// CountSessions implements terret.Sessions.
func (s *Store) CountSessions(ctx context.Context, states ...terret.SessionState) (n int, err error) {
	w := where{}
	w.add(`deleted = 0`)
	w.inStates(states)
	err = s.read(ctx, "count sessions", func(c *lite.Conn) error {
		_, err := c.Row(func(r *lite.Rows) { n = int(r.Int(0)) }, `SELECT count(*) FROM sessions WHERE `+w.String(), w.args...)
		return err
	})
	return n, err
}

func micros(us int64) terret.Time { return terret.TimeOf(time.UnixMicro(us)) }

// ListSessions implements terret.Sessions.
func (s *Store) ListSessions(ctx context.Context, f terret.SessionFilter) (terret.Page[terret.Session], error) {
	var page terret.Page[terret.Session]
	order, err := store.OrderOf(f.Sort)
	if err != nil {
		return page, err
	}
	w := where{}
	w.add(`deleted = 0`)
	w.addIf(f.IDPrefix != "", `id LIKE ? ESCAPE '\'`, store.EscapeLike(f.IDPrefix)+"%")
	w.addIf(f.Agent != "", `agent = ?`, f.Agent)
	w.addIf(f.Cwd != "", `cwd = ?`, f.Cwd)
	w.addIf(f.NativeID != "", `native_id = ?`, f.NativeID)
	w.addIf(!f.UpdatedBefore.IsZero(), `updated_at < ?`, f.UpdatedBefore.UnixMicro())
	w.inStates(f.States)
	for word := range strings.FieldsSeq(f.Query) {
		like := "%" + store.EscapeLike(word) + "%"
		w.add(`(title LIKE ? ESCAPE '\' OR cwd LIKE ? ESCAPE '\' OR model LIKE ? ESCAPE '\' OR agent LIKE ? ESCAPE '\')`, like, like, like, like)
	}
	if f.Cursor != "" {
		key, id, err := store.ParseCursor(f.Cursor, order.Column)
		if err != nil {
			return page, err
		}
		op := "<"
		if order.Direction == "ASC" {
			op = ">"
		}
		w.add(`(`+order.Column+`, id) `+op+` (?, ?)`, key, id)
	}
	limit := store.PageSize(f.Limit, 100, 1000)
	err = s.read(ctx, "list sessions", func(c *lite.Conn) (err error) {
		page.Items, err = sessions(c, w.String(), w.args, order.Column+" "+order.Direction+", id "+order.Direction, limit+1)
		return err
	})
	if err == nil && len(page.Items) > limit {
		page.Items = page.Items[:limit]
		page.Next = store.CursorOf(page.Items[limit-1], order.Column)
	}
	return page, err
}

// where collects conditions.
type where struct {
	conditions []string
	args       []any
}

func (w *where) add(condition string, args ...any) {
	w.conditions = append(w.conditions, condition)
	w.args = append(w.args, args...)
}

func (w *where) addIf(ok bool, condition string, args ...any) {
	if ok {
		w.add(condition, args...)
	}
}

// inStates selects sessions in one of these states; none means all.
func (w *where) inStates(states []terret.SessionState) {
	if len(states) == 0 {
		return
	}
	args := make([]any, len(states))
	for i, v := range states {
		args[i] = string(v)
	}
	w.add(`state IN (`+placeholders(len(args))+`)`, args...)
}

func (w *where) String() string { return strings.Join(w.conditions, " AND ") }

// UsageBy implements terret.Sessions. Days are UTC; since is inclusive, until is
// exclusive, and a zero time means no bound.
func (s *Store) UsageBy(ctx context.Context, group string, since, until terret.Time) ([]terret.UsageRow, error) {
	switch group {
	case "day", "agent", "model", "cwd":
	default:
		return nil, terret.Invalid("group", "cannot group by %q; use day, agent, model or cwd", group)
	}
	w := where{}
	w.add("1")
	w.addIf(!since.IsZero(), `day >= ?`, since.UTC().Format(time.DateOnly))
	w.addIf(!until.IsZero(), `day < ?`, until.UTC().Format(time.DateOnly))
	out := []terret.UsageRow{}
	err := s.read(ctx, "read usage", func(c *lite.Conn) error {
		rows := c.Query(`SELECT `+group+`, sum(turns), sum(input), sum(output), sum(cache_read), sum(cache_write), sum(reasoning), sum(cost)
			FROM usage_days WHERE `+w.String()+` GROUP BY 1 ORDER BY 1`, w.args...)
		for rows.Next() {
			out = append(out, terret.UsageRow{Key: rows.Text(0), Turns: rows.Int(1), Usage: usageAt(rows, 2), CostUSD: terret.Cost(rows.Int(7))})
		}
		return rows.Close()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
