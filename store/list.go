package store

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/terret-dev/terret"
)

// PageSize is how many items a page has: as many as were asked for, most at most, and the
// usual number if nobody asked.
func PageSize(asked, usual, most int) int {
	if asked <= 0 {
		return usual
	}
	return min(asked, most)
}

// CheckSession refuses what cannot become a session, and fills in what may be left out.
func CheckSession(n *terret.Session) error {
	switch {
	case !terret.ValidID("", n.ID):
		return terret.Invalid("id", "%q is not a session id", n.ID)
	case n.Agent == "":
		return terret.Invalid("agent", "a session needs an agent")
	case n.Cwd == "":
		return terret.Invalid("cwd", "a session needs a folder")
	}
	if n.State == "" {
		n.State = terret.SessionPending
	}
	if n.CreatedAt.IsZero() {
		n.CreatedAt = terret.Now()
	}
	return nil
}

// CheckRule refuses what cannot become a rule, and fills in what may be left out.
func CheckRule(r *terret.Rule) error {
	switch {
	case r.ID == "":
		return terret.Invalid("id", "a rule needs an id")
	case r.Effect.Validate() != nil:
		return r.Effect.Validate()
	case r.Pattern == "":
		return terret.Invalid("pattern", "a rule needs a pattern")
	case (r.Scope == terret.ScopeSession) != (r.Session != "") || r.Scope != terret.ScopeSession && r.Scope != terret.ScopeAlways:
		return terret.Invalid("scope", "a rule must be permanent, or for one session that it names")
	}
	if r.MadeAt.IsZero() {
		r.MadeAt = terret.Now()
	}
	return nil
}

// Order is how a list of sessions is sorted.
type Order struct{ Column, Direction string }

var orders = map[string]Order{
	"":        {"updated_at", "DESC"},
	"updated": {"updated_at", "DESC"},
	"created": {"created_at", "DESC"},
	"cost":    {"cost", "DESC"},
	"title":   {"title", "ASC"},
}

// OrderOf returns the order that a caller asks for.
func OrderOf(sort string) (Order, error) {
	o, ok := orders[sort]
	if !ok {
		return o, terret.Invalid("sort", "%q is not an order; use updated, created, title or cost", sort)
	}
	return o, nil
}

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// EscapeLike makes text that LIKE takes literally.
func EscapeLike(s string) string { return likeEscaper.Replace(s) }

// CursorOf keeps the place in a list: its order, and the sort key and the id of the last
// row.
func CursorOf(n terret.Session, column string) string {
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
	b, _ := json.Marshal([]any{key, n.ID, column}) // a number or bytes, and strings
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseCursor reads what CursorOf wrote for the same order. The key is an int64 or, for
// titles, a string.
func ParseCursor(c, column string) (key any, id string, err error) {
	b, err := base64.RawURLEncoding.DecodeString(c)
	if err != nil {
		return nil, "", BadCursor()
	}
	var parts []json.RawMessage
	var of string
	if json.Unmarshal(b, &parts) != nil || len(parts) != 3 || json.Unmarshal(parts[1], &id) != nil || json.Unmarshal(parts[2], &of) != nil || of != column {
		return nil, "", BadCursor()
	}
	var n int64
	var text []byte
	switch {
	case column == "title" && json.Unmarshal(parts[0], &text) == nil:
		return string(text), id, nil
	case column != "title" && json.Unmarshal(parts[0], &n) == nil:
		return n, id, nil
	}
	return nil, "", BadCursor()
}

// BadCursor is the error about a cursor that is none.
func BadCursor() error {
	return terret.Invalid("cursor", "not a cursor from a list; leave it out to start from the beginning")
}
