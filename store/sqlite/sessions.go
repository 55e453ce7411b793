package sqlite

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// queryer is a database, a connection or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func notFound(session string) error {
	return terret.Errorf(terret.CodeSessionNotFound, "there is no session %q", session)
}

func (s *Store) sessionKey(ctx context.Context, q queryer, id string) (int64, error) {
	var key int64
	err := q.QueryRowContext(ctx, `SELECT key FROM sessions WHERE id = ? AND deleted = 0`, id).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, notFound(id)
	}
	return key, describe("find session", s.path, err)
}

// Create implements terret.Sessions.
func (s *Store) Create(ctx context.Context, n terret.Session) (terret.Session, error) {
	switch {
	case !terret.ValidID("", n.ID):
		return terret.Session{}, terret.Invalid("id", "%q is not a session id", n.ID)
	case n.Agent == "":
		return terret.Session{}, terret.Invalid("agent", "a session needs an agent")
	case n.Cwd == "":
		return terret.Session{}, terret.Invalid("cwd", "a session needs a folder")
	}
	if n.State == "" {
		n.State = terret.SessionPending
	}
	if n.CreatedAt.IsZero() {
		n.CreatedAt = terret.Now()
	}
	options, err := json.Marshal(n.Options)
	if err != nil {
		return terret.Session{}, terret.Invalid("options", "%w", err)
	}
	var out terret.Session
	err = s.write(ctx, "create session", func(ctx context.Context, tx *txn) error {
		res, err := tx.ExecContext(ctx, `INSERT INTO sessions (id, agent, native_id, title, cwd, persona, mode, model, policy, permission_mode,
				one_shot, state, created_at, updated_at, forked_from, handed_to, options)
			VALUES (?, ?, nullif(?, ''), ?, ?, nullif(?, ''), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			n.ID, n.Agent, string(n.NativeID), n.Title, n.Cwd, string(n.Persona), string(n.Mode), n.Model, string(n.Policy), n.PermissionMode,
			n.OneShot, string(n.State), n.CreatedAt.UnixMicro(), n.CreatedAt.UnixMicro(), n.ForkedFrom, n.HandedTo, string(options))
		if err != nil {
			return err
		}
		if added, err := res.RowsAffected(); err != nil || added == 0 {
			return errors.Join(err, terret.Errorf(terret.CodeConflict, "there is a session %s already", n.ID))
		}
		out, err = s.session(ctx, tx, n.ID)
		return err
	})
	return out, err
}

// Session implements terret.Sessions.
func (s *Store) Session(ctx context.Context, id string) (terret.Session, error) {
	return s.session(ctx, reading{s}, id)
}

func (s *Store) session(ctx context.Context, q queryer, id string) (terret.Session, error) {
	found, err := s.sessions(ctx, q, `id = ? AND deleted = 0`, []any{id}, "id", 1)
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
	coalesce(checkpoint_id, ''), can_undo, can_redo, forked_from, handed_to, options,
	(SELECT count(*) FROM requests r WHERE r.session = sessions.key AND r.state = 'open')`

// sessions reads those that match; limit 0 means all.
func (s *Store) sessions(ctx context.Context, q queryer, where string, args []any, order string, limit int) ([]terret.Session, error) {
	if limit == 0 {
		limit = -1
	}
	rows, err := q.QueryContext(ctx, `SELECT `+sessionColumns+` FROM sessions WHERE `+where+` ORDER BY `+order+` LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, describe("read sessions", s.path, err)
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
	return out, describe("read sessions", s.path, rows.Err())
}

func scanSession(rows *sql.Rows) (terret.Session, error) {
	var n terret.Session
	var created, updated, cost int64
	var revert terret.Revert
	var options string
	err := rows.Scan(&n.ID, &n.Agent, &n.NativeID, &n.Title, &n.Cwd, &n.Persona, &n.Mode, &n.Model, &n.Policy, &n.PermissionMode,
		&n.OneShot, &n.State, &n.Turn, &created, &updated, &n.Owner, &n.Epoch, &n.LastSeq,
		&n.Usage.Input, &n.Usage.Output, &n.Usage.CacheRead, &n.Usage.CacheWrite, &n.Usage.Reasoning, &cost,
		&revert.CheckpointID, &revert.CanUndo, &revert.CanRedo, &n.ForkedFrom, &n.HandedTo, &options, &n.OpenRequests)
	if err != nil {
		return n, err
	}
	n.CreatedAt, n.UpdatedAt, n.CostUSD = micros(created), micros(updated), terret.Cost(cost)
	if revert.CheckpointID != "" {
		n.Revert = &revert
	}
	if err := json.Unmarshal([]byte(options), &n.Options); err != nil {
		return n, terret.Errorf(terret.CodeInternal, "session %s: its options: %w", n.ID, err)
	}
	return n, nil
}

func micros(us int64) terret.Time { return terret.TimeOf(time.UnixMicro(us)) }

// sortColumns maps the orders that a caller can ask for to what to sort by and
// how.
var sortColumns = map[string]struct{ column, direction string }{
	"":        {"updated_at", "DESC"},
	"updated": {"updated_at", "DESC"},
	"created": {"created_at", "DESC"},
	"cost":    {"cost", "DESC"},
	"title":   {"title", "ASC"},
}

// ListSessions implements terret.Sessions.
func (s *Store) ListSessions(ctx context.Context, f terret.SessionFilter) (terret.Page[terret.Session], error) {
	var page terret.Page[terret.Session]
	order, ok := sortColumns[f.Sort]
	if !ok {
		return page, terret.Invalid("sort", "%q is not an order; use updated, created, title or cost", f.Sort)
	}
	w := where{}
	w.add(`deleted = 0`)
	w.addIf(f.IDPrefix != "", `id LIKE ? ESCAPE '\'`, escapeLike(f.IDPrefix)+"%")
	w.addIf(f.Agent != "", `agent = ?`, f.Agent)
	w.addIf(f.Cwd != "", `cwd = ?`, f.Cwd)
	w.addIf(f.NativeID != "", `native_id = ?`, f.NativeID)
	if len(f.States) > 0 {
		states := make([]any, len(f.States))
		for i, v := range f.States {
			states[i] = string(v)
		}
		w.add(`state IN (`+placeholders(len(states))+`)`, states...)
	}
	for word := range strings.FieldsSeq(f.Query) {
		like := "%" + escapeLike(word) + "%"
		w.add(`(title LIKE ? ESCAPE '\' OR cwd LIKE ? ESCAPE '\' OR model LIKE ? ESCAPE '\' OR agent LIKE ? ESCAPE '\')`, like, like, like, like)
	}
	if f.Cursor != "" {
		key, id, err := parseCursor(f.Cursor)
		if err != nil {
			return page, err
		}
		op := "<"
		if order.direction == "ASC" {
			op = ">"
		}
		w.add(`(`+order.column+`, id) `+op+` (?, ?)`, key, id)
	}
	limit := f.Limit
	if limit <= 0 || limit > 1000 {
		limit = 100
	}
	items, err := s.sessions(ctx, s.readers, w.String(), w.args, order.column+" "+order.direction+", id "+order.direction, limit+1)
	if err != nil {
		return page, err
	}
	page.Items = items
	if len(items) > limit {
		page.Items = items[:limit]
		page.Next = cursorOf(items[limit-1], order.column)
	}
	return page, nil
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

func (w *where) String() string { return strings.Join(w.conditions, " AND ") }

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func escapeLike(s string) string { return likeEscaper.Replace(s) }

// cursorOf and parseCursor keep the place in a list: the sort key and the id of
// the last row seen.
func cursorOf(n terret.Session, column string) string {
	var key any
	switch column {
	case "updated_at":
		key = n.UpdatedAt.UnixMicro()
	case "created_at":
		key = n.CreatedAt.UnixMicro()
	case "cost":
		key = int64(n.CostUSD)
	default:
		key = []byte(n.Title) // base64: a title need not be UTF-8
	}
	b, _ := json.Marshal([]any{key, n.ID}) // a number or bytes, and a string
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseCursor(c string) (key any, id string, err error) {
	bad := terret.Invalid("cursor", "it is not one that a list gave; leave it out to start from the beginning")
	b, err := base64.RawURLEncoding.DecodeString(c)
	if err != nil {
		return nil, "", bad
	}
	var parts []json.RawMessage
	if json.Unmarshal(b, &parts) != nil || len(parts) != 2 || json.Unmarshal(parts[1], &id) != nil {
		return nil, "", bad
	}
	var n int64
	var text []byte
	switch {
	case json.Unmarshal(parts[0], &n) == nil:
		return n, id, nil
	case json.Unmarshal(parts[0], &text) == nil:
		return string(text), id, nil
	}
	return nil, "", bad
}

// UsageBy implements terret.Sessions. Days are UTC; since is inclusive, until is
// not, and zero times leave a side open.
func (s *Store) UsageBy(ctx context.Context, group string, since, until terret.Time) ([]terret.UsageRow, error) {
	switch group {
	case "day", "agent", "model", "cwd":
	default:
		return nil, terret.Invalid("group", "%q is not a way to group; use day, agent, model or cwd", group)
	}
	w := where{}
	w.add("1")
	w.addIf(!since.IsZero(), `day >= ?`, since.UTC().Format(time.DateOnly))
	w.addIf(!until.IsZero(), `day < ?`, until.UTC().Format(time.DateOnly))
	rows, err := s.readers.QueryContext(ctx, `SELECT `+group+`, sum(turns), sum(input), sum(output), sum(cache_read), sum(cache_write), sum(reasoning), sum(cost)
		FROM usage_days WHERE `+w.String()+` GROUP BY 1 ORDER BY 1`, w.args...)
	if err != nil {
		return nil, describe("read usage", s.path, err)
	}
	defer rows.Close()
	out := []terret.UsageRow{}
	for rows.Next() {
		var r terret.UsageRow
		if err := rows.Scan(&r.Key, &r.Turns, &r.Usage.Input, &r.Usage.Output, &r.Usage.CacheRead, &r.Usage.CacheWrite, &r.Usage.Reasoning, &r.CostUSD); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, describe("read usage", s.path, rows.Err())
}
