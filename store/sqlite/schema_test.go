package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
)

// Sessions of the fixtures.
const (
	fixtureSession = "01950000-0000-7000-8000-000000000001"
	fixtureOther   = "01950000-0000-7000-8000-000000000002"
)

// fixture is the dump of a database as the version of that schema wrote it.
func fixture(version int) string {
	return filepath.Join("testdata", "schema", fmt.Sprintf("%04d.sql", version))
}

// TestEveryMigrationHasAFixture fails when a migration is added without a dump of
// the database that it makes.
func TestEveryMigrationHasAFixture(t *testing.T) {
	t.Parallel()
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join("testdata", "schema", "*"))
	if err != nil || len(names) != len(steps) {
		t.Errorf("%d fixtures for %d migrations, %v", len(names), len(steps), err)
	}
	for v := 1; v <= len(steps); v++ {
		text, err := os.ReadFile(fixture(v))
		if err != nil {
			t.Errorf("migration %d has no fixture: %v", v, err)
		} else if !strings.Contains(string(text), fmt.Sprintf("PRAGMA user_version = %d;", v)) {
			t.Errorf("%s is not of version %d", fixture(v), v)
		}
	}
}

// TestMigrate opens a database of each version that there ever was and reads back
// everything.
func TestMigrate(t *testing.T) {
	t.Parallel()
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	for v := 1; v <= len(steps); v++ {
		t.Run(fmt.Sprint("from ", v), func(t *testing.T) {
			dump, err := os.ReadFile(fixture(v))
			if err != nil {
				t.Fatal(err)
			}
			path := tempPath(t)
			db := connect(t, path)
			mustExec(t, db, string(dump))
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			s := openFile(t, path)
			if version := number(t, s, "PRAGMA user_version"); version != int64(len(steps)) {
				t.Errorf("version %d, want %d", version, len(steps))
			}
			readFixture(t, s)
			wantClean(t, s)
		})
	}
}

func fixtureTime(s string) terret.Time {
	var at terret.Time
	if err := at.UnmarshalJSON([]byte(`"` + s + `"`)); err != nil {
		panic(err)
	}
	return at
}

// readFixture checks all that the fixtures hold.
func readFixture(t *testing.T, s *Store) {
	ctx := t.Context()
	check := func(what string, got any, err error, want any) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		} else if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	found, err := s.Search(ctx, terret.SearchQuery{Words: "do"})
	check("search", len(found.Items), err, 2) // the prompt, and the answer that holds "done"
	n, err := s.Session(ctx, fixtureSession)
	check("session", n, err, terret.Session{
		ID: fixtureSession, Agent: "claude", NativeID: "native", Title: "A title", Cwd: "/home/me", Persona: "reviewer", Mode: "workbench",
		Model: "opus", Policy: "ask", PermissionMode: "default", State: "idle",
		CreatedAt: fixtureTime("2026-01-02T03:04:05.000006Z"), UpdatedAt: fixtureTime("2026-01-02T03:05:00Z"),
		Epoch: 3, LastSeq: 6, Usage: terret.Usage{Input: 10, Output: 20, CacheRead: 30, CacheWrite: 40, Reasoning: 5}, CostUSD: 123456789, OpenRequests: 1,
		Revert: &terret.Revert{CheckpointID: "chk_1", CanUndo: true}, Options: terret.SessionOptions{Tools: []string{"Bash"}, KeepRaw: true},
	})
	page, err := s.ListSessions(ctx, terret.SessionFilter{Sort: "created"})
	if err != nil || len(page.Items) != 2 || page.Items[0].ID != fixtureOther || page.Items[0].State != "pending" {
		t.Errorf("sessions: %+v, %v", page, err)
	}

	entries, err := s.Read(ctx, terret.ReadQuery{Session: fixtureSession, Raw: true})
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprintf("%d %s %d %q", e.Seq, e.Kind, len(e.Body), e.Raw))
		if _, err := e.Decode(); err != nil {
			t.Error(err)
		}
	}
	check("events", got, err, []string{
		`1 turn.start 266 ""`, `2 permission.request 384 "not \xff JSON"`, `3 permission.decision 275 ""`,
		`4 message.complete 258 ""`, `5 turn.complete 311 ""`, `6 question.request 342 ""`,
	})
	if len(entries) > 3 {
		if !strings.Contains(string(entries[0].Body), `,"later_field":{"kept":true}}`) {
			t.Errorf("an unknown field is lost: %s", entries[0].Body)
		}
		e, err := entries[3].Decode() // its body is in a blob
		check("message", e.Data, err, terret.MessageComplete{MessageID: "msg_1", Role: "assistant", Blocks: []terret.Block{terret.Text("Done.")}})
	}
	turns, err := s.Turns(ctx, fixtureSession)
	ended := fixtureTime("2026-01-02T03:04:59Z")
	check("turns", turns, err, []terret.Turn{{
		ID: "trn_1", Session: fixtureSession, State: "completed", Origin: "user", Prompt: []terret.Block{terret.Text("Do it")},
		StartedAt: fixtureTime("2026-01-02T03:04:06Z"), EndedAt: &ended,
		Usage:   terret.Usage{Input: 10, Output: 20, CacheRead: 30, CacheWrite: 40, Reasoning: 5},
		CostUSD: 123456789, Before: "tree1", After: "tree2", Changed: true,
	}})
	decided, err := s.Request(ctx, "req_1")
	check("decision", decided.Decision, err, &terret.Decision{RequestID: "req_1", Gate: "permission", Behavior: "allow", Source: "user", By: "me"})
	if !decided.Delivered || decided.Seq != 2 || decided.Turn != "trn_1" {
		t.Errorf("decided request: %+v", decided)
	}
	open, err := s.ListRequests(ctx, terret.RequestFilter{State: terret.RequestOpen})
	if err != nil || len(open.Items) != 1 || open.Items[0].RequestID != "req_2" || open.Items[0].ExpiresAt == nil {
		t.Errorf("open requests: %+v, %v", open, err)
	}
	pending, err := s.Pending(ctx, fixtureSession)
	check("inbox", pending, err, []terret.InboxItem{{
		ID: "trn_2", Session: fixtureSession, Kind: "prompt", Body: terret.JSON(`{"blocks":[{"type":"text","text":"next"}]}`), By: "me", At: fixtureTime("2026-01-02T03:06:00Z"),
	}})
	rules, err := s.ListRules(ctx, fixtureSession)
	check("rules", rules, err, []terret.Rule{
		{ID: "rul_1", Effect: "allow", Pattern: "Bash(ls *)", Scope: "always", MadeBy: "me", MadeAt: fixtureTime("2026-01-02T03:00:00Z"), Hits: 7},
		{ID: "rul_2", Effect: "deny", Pattern: "Read", Scope: "session", Session: fixtureSession, MadeBy: "me", MadeAt: fixtureTime("2026-01-02T03:00:01Z")},
	})
	usage, err := s.UsageBy(ctx, "day", terret.Time{}, terret.Time{})
	check("usage", usage, err, []terret.UsageRow{{
		Key: "2026-01-02", Turns: 1, Usage: terret.Usage{Input: 10, Output: 20, CacheRead: 30, CacheWrite: 40, Reasoning: 5}, CostUSD: 123456789,
	}})
	c, err := s.Claim(ctx, fixtureSession)
	if err != nil || string(c.Cursor) != "cursor" || c.Session.Epoch != 4 {
		t.Errorf("claim: %+v, %v", c, err)
	}
	h := &holder{s: s, id: fixtureSession, epoch: 4, seq: 6}
	h.must(t, "and on")
	wantEvents(t, s, fixtureSession, 7)
}

// TestNewerSchema refuses a file that a newer version has migrated, also while it
// is open.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	path := tempPath(t)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := newHolder(t, s)
	h.must(t, "before")
	newer := connect(t, path)
	mustExec(t, newer, `PRAGMA user_version = 99`)

	wantSays(t, h.append(t.Context(), "too old"), terret.CodeStartupRefused, "newer terret", "99", path)
	_, err = s.Create(t.Context(), terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: "/"})
	wantSays(t, err, terret.CodeStartupRefused, "newer terret")
	wantEvents(t, s, h.id, 1) // what is there can still be read
	mustExec(t, newer, `ALTER TABLE rules RENAME TO laws`)
	_, err = s.ListRules(t.Context(), "") // unless it is elsewhere
	wantSays(t, err, terret.CodeStartupRefused, "newer terret", "99", path)
	mustExec(t, newer, `ALTER TABLE laws RENAME TO rules`)
	wantSays(t, s.Close(), terret.CodeStartupRefused, "newer terret")
	_, err = Open(context.WithoutCancel(t.Context()), path, Options{})
	wantSays(t, err, terret.CodeStartupRefused, "newer terret", "99", path)

	mustExec(t, newer, fmt.Sprintf(`PRAGMA user_version = %d`, s.version))
	again := openFile(t, path)
	wantEvents(t, again, h.id, 1)
	wantClean(t, again)
	if _, err := again.Claim(t.Context(), h.id); err != nil {
		t.Errorf("claim from the one that could not say goodbye: %v", err)
	}
}

// TestHiveView has the columns that the desktop app reads.
func TestHiveView(t *testing.T) {
	t.Parallel()
	s := openFile(t, tempPath(t))
	ctx := t.Context()
	for _, agent := range []string{"claude", "codex"} {
		if _, err := s.Create(ctx, terret.Session{ID: terret.NewSessionID(), Agent: agent, Cwd: "/c", Title: "t-" + agent, NativeID: terret.NullString("n-" + agent)}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	err := s.read(ctx, "read the view", func(c *lite.Conn) (err error) {
		got, err = texts(c, `SELECT name || ' ' || agent_sdk || ' ' || opencode_session_id || ' ' || status FROM hive_sessions ORDER BY name`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"t-claude claude-code n-claude pending", "t-codex codex n-codex pending"}, got); d != "" {
		t.Error(d)
	}
	err = s.alone(ctx, func(c *lite.Conn) error { return c.Exec(`UPDATE sessions SET agent = 'other'`) })
	if err == nil || !strings.Contains(err.Error(), "never changes") {
		t.Errorf("the agent of a session was changed: %v", err)
	}
}

// TestKindsInTheIndex is that looking for a few kinds of events reads the rows of no
// others: most of a log is pieces of text.
func TestKindsInTheIndex(t *testing.T) {
	t.Parallel()
	s := openFile(t, tempPath(t))
	p := &pageReader{session: "any"}
	few := []terret.Kind{terret.KindTurnStart, terret.KindMessageComplete}
	for _, q := range []terret.ReadQuery{{Kinds: few}, {Kinds: few[:1], Backward: true}, {Kinds: few, Before: 7, Backward: true}} {
		query, args := p.query(q)
		query = strings.Replace(query, p.columns(), "e.seq, e.kind", 1) // what tells whether an event is wanted
		var plan string
		err := s.read(t.Context(), "explain", func(c *lite.Conn) error {
			_, err := c.Row(func(r *lite.Rows) { plan = r.Text(3) }, "EXPLAIN QUERY PLAN "+query, args...)
			return err
		})
		if want := "SEARCH e USING COVERING INDEX events_seq (session=? AND seq>?"; err != nil || !strings.HasPrefix(plan, want) {
			t.Errorf("%+v: %v\n got %s\nwant %s", q, err, plan, want)
		}
	}
}
