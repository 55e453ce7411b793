package lite

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	sqlite3 "modernc.org/sqlite/lib"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path, script string) *Conn {
	t.Helper()
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := c.Script(script); err != nil {
		t.Fatal(err)
	}
	return c
}

func memory(t *testing.T, script string) *Conn {
	t.Helper()
	return open(t, ":memory:", script)
}

func must(t *testing.T, c *Conn, text string, args ...any) {
	t.Helper()
	if err := c.Exec(text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// TestValues stores values of all kinds and reads them back.
func TestValues(t *testing.T) {
	t.Parallel()
	c := memory(t, `CREATE TABLE t (v)`)
	text, large := "text \x00 é", strings.Repeat("x", 3*keepScratch)
	for _, v := range []struct {
		in   any
		kind string
		text string
		num  int64
		null bool
	}{
		{in: nil, kind: "null", null: true},
		{in: int64(-1 << 62), kind: "integer", text: "-4611686018427387904", num: -1 << 62},
		{in: 7, kind: "integer", text: "7", num: 7},
		{in: true, kind: "integer", text: "1", num: 1},
		{in: false, kind: "integer", text: "0"},
		{in: text, kind: "text", text: text},
		{in: "", kind: "text"},
		{in: &text, kind: "text", text: text},
		{in: (*string)(nil), kind: "null", null: true},
		{in: []byte("a\x00b"), kind: "blob", text: "a\x00b"},
		{in: []byte{}, kind: "blob"},
		{in: []byte(nil), kind: "null", null: true},
		{in: large, kind: "text", text: large},
		{in: "12", kind: "text", text: "12", num: 12},
	} {
		must(t, c, `DELETE FROM t`)
		must(t, c, `INSERT INTO t VALUES (?)`, v.in)
		found, err := c.Row(func(r *Rows) {
			if got := r.Text(1); got != v.kind {
				t.Errorf("%.20q is %s, want %s", v.in, got, v.kind)
			}
			if got := r.Null(0); got != v.null {
				t.Errorf("%.20q: null is %v", v.in, got)
			}
			if got := r.Text(0); got != v.text {
				t.Errorf("%.20q became %.20q", v.in, got)
			}
			if got := r.Bytes(0); !bytes.Equal(got, []byte(v.text)) {
				t.Errorf("%.20q became %.20q", v.in, got)
			}
			if got := r.Int(0); got != v.num || r.Bool(0) != (v.num != 0) {
				t.Errorf("%.20q became %d", v.in, got)
			}
		}, `SELECT v, typeof(v) FROM t`)
		if !found || err != nil {
			t.Errorf("%.20q: found %v, %v", v.in, found, err)
		}
	}
}

// TestSeveralArguments has arguments of very different size side by side, again and
// again in the same statement.
func TestSeveralArguments(t *testing.T) {
	t.Parallel()
	c := memory(t, ``)
	for i := range 50 {
		a, b := strings.Repeat("a", i*i), bytes.Repeat([]byte("b"), 2500-i*i)
		found, err := c.Row(func(r *Rows) {
			if r.Text(0) != a || !bytes.Equal(r.Bytes(1), b) || r.Int(2) != int64(i) || r.Text(3) != "" || r.Null(3) {
				t.Errorf("round %d: %d and %d bytes", i, len(r.Text(0)), len(r.Bytes(1)))
			}
		}, `SELECT ?, ?, ?, ?`, a, b, i, "")
		if !found || err != nil {
			t.Fatal(found, err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	c := memory(t, `CREATE TABLE t (v INTEGER PRIMARY KEY) STRICT`)
	must(t, c, `INSERT INTO t VALUES (?)`, 1)
	for what, call := range map[string]func() error{
		"a constraint":       func() error { return c.Exec(`INSERT INTO t VALUES (?)`, 1) },
		"syntax":             func() error { return c.Exec(`SELEC`) },
		"no table":           func() error { return c.Query(`SELECT * FROM nowhere`).Close() },
		"a script":           func() error { return c.Script(`SELECT 1; SELEC`) },
		"too few arguments":  func() error { return c.Exec(`INSERT INTO t VALUES (?)`) },
		"too many arguments": func() error { return c.Exec(`INSERT INTO t VALUES (?)`, 2, 3) },
		"a strange argument": func() error { return c.Exec(`INSERT INTO t VALUES (?)`, 1.5) },
	} {
		err := call()
		if err == nil {
			t.Errorf("%s is no error", what)
		}
		t.Log(err)
	}
	e, ok := errors.AsType[*Error](c.Exec(`INSERT INTO t VALUES (?)`, 1))
	if !ok || e.Primary() != sqlite3.SQLITE_CONSTRAINT || e.Code == e.Primary() || !strings.Contains(e.Text, "t.v") {
		t.Errorf("%+v", e)
	}
	must(t, c, `INSERT INTO t VALUES (?)`, 2) // it still works
	if c.Changes() != 1 || c.LastInsertID() != 2 {
		t.Errorf("%d changes, last key %d", c.Changes(), c.LastInsertID())
	}
	if _, err := Open(filepath.Join(t.TempDir(), "no", "folder")); err == nil {
		t.Error("a file in no folder can be opened")
	}
}

// TestOneUseAtATime holds that rows that are open are not disturbed.
func TestOneUseAtATime(t *testing.T) {
	t.Parallel()
	c := memory(t, `CREATE TABLE t (v); INSERT INTO t VALUES (1), (2)`)
	const text = `SELECT v FROM t ORDER BY v`
	rows := c.Query(text)
	if !rows.Next() {
		t.Fatal(rows.Close())
	}
	if err := c.Query(text).Close(); !errors.Is(err, ErrInUse) {
		t.Errorf("the same statement again: %v", err)
	}
	if !rows.Next() || rows.Int(0) != 2 || rows.Next() {
		t.Error("the rows were disturbed")
	}
	for range 2 {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
	if rows := c.Query(text); !rows.Next() || rows.Int(0) != 1 || rows.Close() != nil {
		t.Error("the statement cannot be used again")
	}
}

// TestKept holds that statements are kept, and not too many.
func TestKept(t *testing.T) {
	t.Parallel()
	c := memory(t, `CREATE TABLE t (v); INSERT INTO t VALUES (1)`)
	for i := range 10 {
		if _, err := c.Row(func(*Rows) {}, `SELECT v FROM t LIMIT ?`, i); err != nil {
			t.Fatal(err)
		}
	}
	if n, again := c.Kept(); n != 1 || again != 0 {
		t.Errorf("%d statements are kept and %d were prepared again", n, again)
	}
	open := c.Query(`SELECT v FROM t`)
	if !open.Next() {
		t.Fatal(open.Close())
	}
	for i := range 3 * maxKept {
		if err := c.Exec(fmt.Sprint(`SELECT `, i)); err != nil {
			t.Fatal(err)
		}
	}
	if n, _ := c.Kept(); n > maxKept {
		t.Errorf("%d statements are kept", n)
	}
	if open.Int(0) != 1 || open.Next() || open.Close() != nil {
		t.Error("a statement was forgotten while it was in use")
	}
}

func TestTransaction(t *testing.T) {
	t.Parallel()
	c := memory(t, `CREATE TABLE t (v)`)
	must(t, c, `BEGIN IMMEDIATE`)
	if !c.InTransaction() {
		t.Error("no transaction has begun")
	}
	must(t, c, `INSERT INTO t VALUES (1)`)
	must(t, c, `ROLLBACK`)
	if c.InTransaction() {
		t.Error("the transaction has not ended")
	}
	if found, err := c.Row(func(*Rows) {}, `SELECT * FROM t`); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

// TestInterrupt ends a statement that would take for ever.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	c := memory(t, ``)
	const forever = `WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`
	rows := c.Query(forever)
	if !rows.Next() {
		t.Fatal(rows.Close())
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Interrupt()
	}()
	for rows.Next() {
	}
	<-done
	if e, ok := errors.AsType[*Error](rows.Close()); !ok || e.Primary() != sqlite3.SQLITE_INTERRUPT {
		t.Errorf("%+v", e)
	}
	must(t, c, `SELECT 1`)
}
