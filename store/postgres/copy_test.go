package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store"
	"github.com/terret-dev/terret/store/sqlite"
)

// original is a file with a bit of everything.
func original(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "terret.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		n, err := s.Create(ctx, terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: "/a", Policy: terret.PolicyAsk, Options: terret.SessionOptions{Effort: "high"}})
		must(err)
		c, err := s.Claim(ctx, n.ID)
		must(err)
		results, err := s.Commit(ctx, []terret.Batch{{Session: n.ID, Epoch: c.Session.Epoch, Cursor: []byte{0, 1}, Events: []terret.Event{
			{Time: terret.Now(), Turn: "trn_" + n.ID, Data: terret.TurnStart{Origin: terret.OriginUser, Prompt: []terret.Block{terret.Text("go")}}},
			{Time: terret.Now(), Turn: "trn_" + n.ID, Raw: terret.JSON(`{"raw":true}`), Data: terret.Notification{Text: strings.Repeat("long ", 20_000), Level: "info"}},
			{Time: terret.Now(), Turn: "trn_" + n.ID, Data: terret.TurnComplete{Text: "done", CostUSD: terret.USD}},
		}}})
		must(err)
		must(results[0].Err)
		must(s.Send(ctx, terret.InboxItem{ID: "trn_queued" + n.ID, Session: n.ID, Kind: terret.InboxPrompt, Body: terret.JSON(`{}`)}))
		must(s.Release(ctx, n.ID, c.Session.Epoch))
	}
	must(s.PutRule(ctx, terret.Rule{ID: "rul_1", Effect: "allow", Pattern: "Bash(ls)", Scope: terret.ScopeAlways, MadeBy: "ann", MadeAt: terret.Now()}))
	return s
}

// rows is everything in a store, as text.
func rows(t *testing.T, s store.Copyable) string {
	t.Helper()
	var out bytes.Buffer
	err := s.Dump(t.Context(), func(table *store.Table, row []any) error {
		out.WriteString(table.Name)
		for _, v := range row {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			out.WriteString(" | ")
			out.WriteString(strings.TrimSpace(strings.ReplaceAll(strings.Join(strings.Fields(fmt.Sprint(v)), " "), "long long", "l")))
		}
		out.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestCopy copies a file to a database and that to a file, and goes on in the copies.
func TestCopy(t *testing.T) {
	t.Parallel()
	from, to := original(t), openSchema(t, t.Name())
	ctx := t.Context()
	last, err := from.LastPos(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Copy(ctx, from, to, last, "here", false, nil); err != nil {
		t.Fatal(err)
	}
	back, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "back.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	if err := store.Copy(ctx, to, back, last, "", false, nil); err != nil {
		t.Fatal(err)
	}
	if a, b, c := rows(t, from), rows(t, to), rows(t, back); a != b || a != c || strings.Count(a, "events | ") != 9 {
		t.Errorf("they differ:\n%s\n%s\n%s", a, b, c)
	}
	page, err := to.ListSessions(ctx, terret.SessionFilter{})
	if err != nil || len(page.Items) != 3 || page.Items[0].Node != "here" || page.Items[0].Options.Effort != "high" {
		t.Fatalf("%+v, %v", page, err)
	}
	for _, s := range []terret.Store{to, back} { // numbers and positions go on
		c, err := s.Claim(ctx, page.Items[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		results, err := s.Commit(ctx, []terret.Batch{{Session: c.Session.ID, Epoch: c.Session.Epoch, After: c.Session.LastSeq, Events: []terret.Event{
			{Time: terret.Now(), Data: terret.Notification{Text: "on", Level: "info"}},
		}}})
		if err != nil || results[0].Err != nil || results[0].LastSeq != 4 || results[0].Entries[0].Pos <= last {
			t.Errorf("%+v, %v", results, err)
		}
		if _, err := s.Create(ctx, terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: "/a", Policy: terret.PolicyAsk}); err != nil {
			t.Error(err)
		}
	}
}

// lossy is a copy that loses an event.
type lossy struct{ store.Copyable }

func (l lossy) Fill(ctx context.Context, t *store.Table, rows [][]any) error {
	if t.Name == "events" {
		rows = rows[1:]
	}
	return l.Copyable.Fill(ctx, t, rows)
}

// failing is a copy that is interrupted.
type failing struct{ store.Copyable }

var errPulled = errors.New("pulled the plug")

func (f failing) Fill(ctx context.Context, t *store.Table, rows [][]any) error {
	if t.Name == "events" {
		return errPulled
	}
	return f.Copyable.Fill(ctx, t, rows)
}

// TestCopyFails holds that a copy that is not the same, or not complete, is said, that
// nothing is copied on top of it, and that it can be begun again.
func TestCopyFails(t *testing.T) {
	t.Parallel()
	from, to := original(t), openSchema(t, t.Name())
	ctx := t.Context()
	wants := func(err error, words string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v does not say %q", err, words)
		}
	}
	if err := store.Copy(ctx, from, failing{to}, 9, "", false, nil); !errors.Is(err, errPulled) {
		t.Error(err)
	}
	wants(store.Copy(ctx, from, to, 9, "", false, nil), "--restart")
	wants(store.Copy(ctx, from, lossy{to}, 9, "", true, nil), "the table events (8 rows) differs from the original (9 rows)")
	if err := store.Copy(ctx, from, to, 9, "", true, nil); err != nil {
		t.Error(err)
	}
	wants(store.Copy(ctx, from, to, 9, "", true, nil), "is not empty")
	wants(store.Copy(ctx, to, from, 9, "", false, nil), "is not empty")
}
