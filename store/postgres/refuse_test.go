package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
)

// wantRefused fails unless the address cannot be opened, with an error in which a person
// finds the words, and never the password.
func wantRefused(t *testing.T, url string, words ...string) {
	t.Helper()
	s, err := Open(t.Context(), url, Options{})
	if err == nil {
		s.Close()
		t.Fatalf("%s can be opened", url)
	}
	if got := terret.AsError(err).Code; got != terret.CodeStartupRefused && got != terret.CodeInternal {
		t.Errorf("code %s: %v", got, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	for _, secret := range []string{"throw-away", "guessed"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%q holds the password", err)
		}
	}
}

// admin runs statements as the owner of the cluster.
func admin(t *testing.T, statements ...string) {
	t.Helper()
	needServer(t)
	c, err := pgx.Connect(t.Context(), server.URL("admin"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	for _, text := range statements {
		if _, err := c.Exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func TestRefuseAddress(t *testing.T) {
	t.Parallel()
	needServer(t)
	with := func(old, replacement string) string {
		return strings.Replace(server.URL(t.Name()), old, replacement, 1)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	wantRefused(t, "postgres://terret:guessed@127.0.0.1:port/x", "not one", "postgres://user:password@host")
	wantRefused(t, with("throw-away", "guessed"), "check the user and the password")
	wantRefused(t, with("terret:", "nobody:"), "check the user and the password")
	wantRefused(t, with("/postgres?", "/nowhere?"), "no such database", "createdb")
	wantRefused(t, with(server.Addr(), closed), "cannot be reached")
	wantRefused(t, with("search_path", "sslmode=require&search_path"), "TLS")
}

func TestRefuseDatabase(t *testing.T) {
	t.Parallel()
	admin(t, `CREATE DATABASE readonly_db`, `ALTER DATABASE readonly_db SET default_transaction_read_only = on`,
		`CREATE DATABASE lazy_db`, `ALTER DATABASE lazy_db SET synchronous_commit = off`,
		`CREATE DATABASE latin_db ENCODING LATIN1 TEMPLATE template0`,
		`CREATE SCHEMA theirs`, `CREATE TABLE theirs.sessions (id int)`,
		`CREATE ROLE guest LOGIN PASSWORD 'throw-away'`)
	base := server.URL(t.Name())
	wantRefused(t, strings.Replace(base, "/postgres?", "/readonly_db?", 1), "read-only")
	wantRefused(t, strings.Replace(base, "/postgres?", "/lazy_db?", 1), "synchronous_commit is off")
	wantRefused(t, strings.Replace(base, "/postgres?", "/latin_db?", 1), "encoding LATIN1")
	schema := base[strings.Index(base, "search_path="):]
	wantRefused(t, strings.Replace(base, schema, "search_path=theirs", 1), "tables of another program", "search_path")
	wantRefused(t, strings.Replace(base, "terret:", "guest:", 1), "grant it CREATE")
}

func TestRefuseServer(t *testing.T) {
	t.Parallel()
	good := facts{version: 150000, encoding: "UTF8", durable: "on", fsync: "on"}
	if why := good.refuse(); why != "" {
		t.Errorf("a good server is refused: %s", why)
	}
	old, standby := good, good
	old.version, standby.standby = 120022, true
	for word, f := range map[string]facts{"PostgreSQL 12; terret needs 13": old, "standby": standby} {
		if why := f.refuse(); !strings.Contains(why, word) {
			t.Errorf("%q does not say %q", why, word)
		}
	}
}

// TestClockOff has a machine whose clock is off by an hour: that is said, and changes
// nothing about who is alive.
func TestClockOff(t *testing.T) {
	t.Parallel()
	for off, word := range map[time.Duration]string{time.Hour: "wrong times; nothing else depends on it\" ahead=1h0m0s", -time.Hour: "ahead=-1h0m0s", 10 * time.Second: ""} {
		var log logged
		s := openSchema(t, t.Name(), func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		s.now = func() time.Time { return time.Now().Add(off) }
		if err := s.read(t.Context(), "check", func(c *pgx.Conn) error { return s.checkServer(t.Context(), c) }); err != nil {
			t.Fatal(err)
		}
		said := log.text.String()
		if !strings.Contains(said, word) || word == "" && said != "" {
			t.Errorf("%s off: %q does not say %q", off, said, word)
		}
	}
}

// TestNewerSchema has a program that does not know the schema any more: at its start, and
// while it runs.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	s := openSchema(t, t.Name())
	o := newOwner(t, s)
	o.must(t, "before")
	if _, err := s.pool.Exec(t.Context(), `UPDATE terret SET schema = schema + 1`); err != nil {
		t.Fatal(err)
	}
	o.must(t, "a newer schema that says it will do")
	openSchema(t, t.Name())
	if _, err := s.pool.Exec(t.Context(), `UPDATE terret SET oldest = schema`); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, server.URL(t.Name()), "newer terret", "update terret")
	err := o.append(t.Context(), "after")
	if err == nil || !strings.Contains(err.Error(), "newer terret") {
		t.Errorf("commit: %v", err)
	}
	if err := s.PutRule(t.Context(), terret.Rule{ID: "r", Effect: terret.EffectAllow, Pattern: "x", Scope: terret.ScopeAlways}); err == nil {
		t.Error("another change goes through")
	}
	if _, err := s.pool.Exec(t.Context(), `UPDATE terret SET oldest = 1`); err != nil {
		t.Fatal(err)
	}
	o.must(t, "again")
	o.want(t, s, 3)
}

// TestMixedVersions updates a fleet while it works: nodes of the old version go on after a
// step that only adds, and start again too; after one that does not they are refused, and
// write nothing.
func TestMixedVersions(t *testing.T) {
	t.Parallel()
	needServer(t)
	before, err := Open(t.Context(), server.URL(t.Name()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	with := func(oldest int, steps ...string) *Store {
		t.Helper()
		p := before.plan
		p.steps, p.oldest = append(slices.Clone(p.steps), steps...), oldest
		s, err := open(t.Context(), server.URL(t.Name()), Options{}, p)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() }) // which an old version may not
		return s
	}
	o := newOwner(t, before)
	o.must(t, "before")

	const adds = `ALTER TABLE sessions ADD COLUMN mood TEXT NOT NULL DEFAULT ''; CREATE TABLE moods (name TEXT PRIMARY KEY)`
	newer := with(before.plan.oldest, adds)
	o.must(t, "by the old version, which was there before")
	newOwner(t, newer).must(t, "by the new one")
	newOwner(t, with(before.plan.oldest)).must(t, "by the old version, which has just started")
	if _, err := before.ListSessions(t.Context(), terret.SessionFilter{}); err != nil {
		t.Errorf("the old version cannot list: %v", err)
	}

	n := len(before.plan.steps)
	newest := with(n+2, adds, `ALTER TABLE sessions RENAME COLUMN mood TO feeling`)
	wantSays(t, "the old version", o.append(t.Context(), "after"), "newer terret")
	wantRefused(t, server.URL(t.Name()), "newer terret", fmt.Sprintf("supports schema %d", n), "update terret")
	page, err := newest.Read(t.Context(), terret.ReadQuery{Session: o.id})
	if err != nil || len(page) != 2 {
		t.Errorf("%d events, want 2 (%v)", len(page), err)
	}
	if err := before.Close(); err == nil || !strings.Contains(err.Error(), "newer terret") {
		t.Errorf("close: %v", err)
	}
}

// owner has a session that this store has claimed.
type owner struct {
	s          *Store
	id         string
	epoch, seq int64
}

func newOwner(t *testing.T, s *Store) *owner {
	t.Helper()
	n, err := s.Create(t.Context(), terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(t.Context(), n.ID)
	if err != nil {
		t.Fatal(err)
	}
	return &owner{s: s, id: n.ID, epoch: c.Session.Epoch}
}

func (o *owner) append(ctx context.Context, text string) error {
	results, err := o.s.Commit(ctx, []terret.Batch{{Session: o.id, Epoch: o.epoch, After: o.seq, Events: []terret.Event{
		{Time: terret.Now(), Data: terret.Notification{Text: text, Level: "info"}},
	}}})
	if err != nil {
		return err
	}
	if results[0].Err == nil {
		o.seq = results[0].LastSeq
	}
	return results[0].Err
}

func (o *owner) must(t *testing.T, text string) {
	t.Helper()
	if err := o.append(t.Context(), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// want reads the session and checks that its events are numbered 1 to n, and say so if
// they were written by pour.
func (o *owner) want(t *testing.T, s *Store, n int64) {
	t.Helper()
	var after int64
	for {
		page, err := s.Read(t.Context(), terret.ReadQuery{Session: o.id, After: after})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			if after++; e.Seq != after {
				t.Fatalf("event %d where %d should be", e.Seq, after)
			}
			if strings.Contains(string(e.Body), "poured") && !strings.Contains(string(e.Body), fmt.Sprintf("poured %d,", e.Seq)) {
				t.Fatalf("event %d is %s", e.Seq, e.Body)
			}
		}
	}
	if after != n {
		t.Errorf("%d events, want %d", after, n)
	}
}
