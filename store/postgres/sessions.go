package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store"
)

func notFound(session string) error {
	return terret.Errorf(terret.CodeSessionNotFound, "there is no session %q", session)
}

func sessionKey(ctx context.Context, c *pgx.Conn, id string) (key int64, err error) {
	err = c.QueryRow(ctx, `SELECT key FROM sessions WHERE id = $1 AND NOT deleted`, clean(id)).Scan(&key)
	if errors.Is(err, pgx.ErrNoRows) {
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
	err = s.write(ctx, "create session", func(ctx context.Context, tx pgx.Tx) error {
		var key int64
		err := tx.QueryRow(ctx, `INSERT INTO sessions (id, agent, native_id, title, cwd, persona, mode, model, policy, permission_mode,
				one_shot, state, created_at, updated_at, forked_from, handed_to, options, node)
			VALUES ($1, $2, nullif($3, ''), $4, $5, nullif($6, ''), $7, $8, $9, $10, $11, $12, $13, $13, $14, $15, $16, $17) ON CONFLICT DO NOTHING RETURNING key`,
			n.ID, clean(n.Agent), clean(string(n.NativeID)), clean(n.Title), clean(n.Cwd), clean(string(n.Persona)), clean(string(n.Mode)), clean(n.Model),
			clean(string(n.Policy)), clean(n.PermissionMode), n.OneShot, string(n.State), n.CreatedAt.UnixMicro(), clean(n.ForkedFrom), clean(n.HandedTo), string(options), clean(n.Node)).Scan(&key)
		if errors.Is(err, pgx.ErrNoRows) {
			return terret.Errorf(terret.CodeConflict, "there already is a session %s", n.ID)
		}
		if err != nil {
			return err
		}
		if key%(partSize/2) == 0 { // long before it is needed
			if err := addPart(ctx, tx, partOf(key)+1); err != nil {
				return err
			}
		}
		out, err = sessionOf(ctx, tx.Conn(), n.ID)
		return err
	})
	return out, err
}

// Session implements terret.Sessions.
func (s *Store) Session(ctx context.Context, id string) (out terret.Session, err error) {
	err = s.read(ctx, "read session "+id, func(c *pgx.Conn) (err error) {
		out, err = sessionOf(ctx, c, id)
		return err
	})
	return out, err
}

func sessionOf(ctx context.Context, c *pgx.Conn, id string) (terret.Session, error) {
	found, err := sessions(ctx, c, `id = $1 AND NOT deleted`, []any{clean(id)}, "id", 1)
	if err != nil {
		return terret.Session{}, err
	}
	if len(found) == 0 {
		return terret.Session{}, notFound(id)
	}
	return found[0], nil
}

const sessionColumns = `id, agent, coalesce(native_id, ''), title, cwd, coalesce(persona, ''), mode, model, policy, permission_mode,
	one_shot, state, turn, created_at, updated_at, owner, epoch, last_seq, input, output, cache_read, cache_write, reasoning, cost,
	coalesce(checkpoint_id, ''), can_undo, can_redo, forked_from, handed_to, options, node,
	(SELECT count(*) FROM requests r WHERE r.session = sessions.key AND ` + sqlOpen + `)`

// sessions reads the matching sessions; limit 0 means all.
func sessions(ctx context.Context, c *pgx.Conn, where string, args []any, order string, limit int) ([]terret.Session, error) {
	query := `SELECT ` + sessionColumns + ` FROM sessions WHERE ` + where + ` ORDER BY ` + order
	if limit > 0 {
		query += ` LIMIT ` + strconv.Itoa(limit)
	}
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []terret.Session{}
	for rows.Next() {
		n, err := scanSession(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, rows.Err()
}

func scanSession(r pgx.Rows) (terret.Session, error) {
	var n terret.Session
	var nativeID, persona, mode, policy, state, options string
	var revert terret.Revert
	var created, updated, cost int64
	err := r.Scan(&n.ID, &n.Agent, &nativeID, &n.Title, &n.Cwd, &persona, &mode, &n.Model, &policy, &n.PermissionMode,
		&n.OneShot, &state, &n.Turn, &created, &updated, &n.Owner, &n.Epoch, &n.LastSeq,
		&n.Usage.Input, &n.Usage.Output, &n.Usage.CacheRead, &n.Usage.CacheWrite, &n.Usage.Reasoning, &cost,
		&revert.CheckpointID, &revert.CanUndo, &revert.CanRedo, &n.ForkedFrom, &n.HandedTo, &options, &n.Node, &n.OpenRequests)
	if err != nil {
		return n, err
	}
	n.NativeID, n.Persona, n.Mode, n.Policy = terret.NullString(nativeID), terret.NullString(persona), terret.Mode(mode), terret.Policy(policy)
	n.State, n.CreatedAt, n.UpdatedAt, n.CostUSD = terret.SessionState(state), micros(created), micros(updated), terret.Cost(cost)
	if revert.CheckpointID != "" {
		n.Revert = &revert
	}
	if options != "{}" {
		if err := json.Unmarshal([]byte(options), &n.Options); err != nil {
			return n, terret.Errorf(terret.CodeInternal, "session %s: its options: %w", n.ID, err)
		}
	}
	return n, nil
}

func micros(us int64) terret.Time { return terret.TimeOf(time.UnixMicro(us)) }

func maybeMicros(us *int64) *terret.Time {
	if us == nil {
		return nil
	}
	at := micros(*us)
	return &at
}

// CountSessions implements terret.Sessions.
func (s *Store) CountSessions(ctx context.Context, states ...terret.SessionState) (n int, err error) {
	w := where{}
	w.add(`NOT deleted`)
	w.inStates(states)
	err = s.read(ctx, "count sessions", func(c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT count(*) FROM sessions WHERE `+w.String(), w.args...).Scan(&n)
	})
	return n, err
}

// ListSessions implements terret.Sessions.
func (s *Store) ListSessions(ctx context.Context, f terret.SessionFilter) (terret.Page[terret.Session], error) {
	var page terret.Page[terret.Session]
	order, err := store.OrderOf(f.Sort)
	if err != nil {
		return page, err
	}
	w := where{}
	w.add(`NOT deleted`)
	w.addIf(f.IDPrefix != "", `id LIKE ?`, store.EscapeLike(clean(f.IDPrefix))+"%")
	w.addIf(f.Agent != "", `agent = ?`, clean(f.Agent))
	w.addIf(f.Cwd != "", `cwd = ?`, clean(f.Cwd))
	w.addIf(f.NativeID != "", `native_id = ?`, clean(f.NativeID))
	w.addIf(!f.UpdatedBefore.IsZero(), `updated_at < ?`, f.UpdatedBefore.UnixMicro())
	w.inStates(f.States)
	for word := range strings.FieldsSeq(f.Query) {
		like := "%" + store.EscapeLike(clean(word)) + "%"
		w.add(`(title ILIKE ? OR cwd ILIKE ? OR model ILIKE ? OR agent ILIKE ?)`, like, like, like, like)
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
		w.add(`(`+order.Column+`, id) `+op+` (?, ?)`, key, clean(id))
	}
	limit := store.PageSize(f.Limit, 100, 1000)
	err = s.read(ctx, "list sessions", func(c *pgx.Conn) (err error) {
		page.Items, err = sessions(ctx, c, w.String(), w.args, order.Column+" "+order.Direction+", id "+order.Direction, limit+1)
		return err
	})
	if err == nil && len(page.Items) > limit {
		page.Items = page.Items[:limit]
		page.Next = store.CursorOf(page.Items[limit-1], order.Column)
	}
	return page, err
}

// where collects conditions, whose ? become $1, $2 and so on.
type where struct {
	conditions []string
	args       []any
}

func (w *where) add(condition string, args ...any) {
	var b strings.Builder
	n := len(w.args)
	for _, r := range condition {
		if r != '?' {
			b.WriteRune(r)
			continue
		}
		n++
		b.WriteString("$" + strconv.Itoa(n))
	}
	w.conditions = append(w.conditions, b.String())
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
	list := make([]string, len(states))
	for i, v := range states {
		list[i] = clean(string(v))
	}
	w.add(`state = ANY (?)`, list)
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
	w.add("true")
	w.addIf(!since.IsZero(), `day >= ?`, since.UTC().Format(time.DateOnly))
	w.addIf(!until.IsZero(), `day < ?`, until.UTC().Format(time.DateOnly))
	var out []terret.UsageRow
	err := s.read(ctx, "read usage", func(c *pgx.Conn) error {
		out = []terret.UsageRow{}
		rows, err := c.Query(ctx, `SELECT `+group+`, sum(turns)::bigint, sum(input)::bigint, sum(output)::bigint, sum(cache_read)::bigint,
			sum(cache_write)::bigint, sum(reasoning)::bigint, sum(cost)::bigint FROM usage_days WHERE `+w.String()+` GROUP BY 1 ORDER BY 1`, w.args...)
		if err != nil {
			return err
		}
		var r terret.UsageRow
		var cost int64
		_, err = pgx.ForEachRow(rows, []any{&r.Key, &r.Turns, &r.Usage.Input, &r.Usage.Output, &r.Usage.CacheRead, &r.Usage.CacheWrite, &r.Usage.Reasoning, &cost}, func() error {
			r.CostUSD = terret.Cost(cost)
			out = append(out, r)
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
