// Package lite is a thin layer over SQLite: connections that prepare statements once
// and keep them, and rows that are read without copying first.
//
// For the small statements of a log, database/sql costs more than SQLite itself: it
// manages connections, locks, converts and copies every value, and starts a goroutine
// for each cancellable query.
//
// Only one goroutine at a time may use a connection, except for [Conn.Interrupt]. A
// statement has one use at a time: close its rows before running it again.
package lite

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// maxKept bounds how many statements a connection keeps, so that generated texts do not
// pile up.
const maxKept = 100

// Error is an error from SQLite.
type Error struct {
	Code int // extended result code
	Text string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("sqlite: %s (%d)", e.Text, e.Code) }

// Primary is the primary result code, such as sqlite3.SQLITE_BUSY.
func (e *Error) Primary() int { return e.Code & 0xff }

// ErrInUse says that a statement was run again before its rows were closed.
var ErrInUse = errors.New("sqlite: the statement is in use")

// Conn is a connection to a database. The zero value is not usable.
type Conn struct {
	tls  *libc.TLS
	db   uintptr
	out  uintptr // two words: where SQLite writes a pointer, or reads arguments
	kept map[string]*Rows
}

// patch does what modernc.org/sqlite does in its init, for arm64.
var patch = sync.OnceFunc(sqlite3.PatchIssue199)

// Open opens the file at path, or creates it. The path ":memory:" is a database in
// memory. The caller must Close the connection.
func Open(path string) (*Conn, error) {
	return openWith(path, sqlite3.SQLITE_OPEN_READWRITE|sqlite3.SQLITE_OPEN_CREATE)
}

// OpenReadOnly opens the file at path, which may be another program's: nothing is written
// to it, and what the other program has written is not moved into it.
func OpenReadOnly(path string) (*Conn, error) { return openWith(path, sqlite3.SQLITE_OPEN_READONLY) }

func openWith(path string, mode int32) (*Conn, error) {
	patch()
	c := &Conn{tls: libc.NewTLS(), kept: map[string]*Rows{}}
	name, err := libc.CString(path)
	if err != nil {
		c.tls.Close()
		return nil, err
	}
	defer libc.Xfree(c.tls, name)
	if c.out = sqlite3.Xsqlite3_malloc64(c.tls, uint64(wordSize*2)); c.out == 0 {
		c.tls.Close()
		return nil, errMemory
	}
	flags := mode | sqlite3.SQLITE_OPEN_NOMUTEX | sqlite3.SQLITE_OPEN_EXRESCODE
	rc := sqlite3.Xsqlite3_open_v2(c.tls, name, c.out, flags, 0)
	c.db = c.result() // set even if it fails
	if rc != sqlite3.SQLITE_OK {
		return nil, errors.Join(c.fail(rc), c.Close())
	}
	// Without this promise of stability, SQLite re-prepares a statement with a bound
	// LIMIT each time, in case another plan is better.
	args := libc.VaList(c.out, int32(1), uintptr(0))
	if rc := sqlite3.Xsqlite3_db_config(c.tls, c.db, sqlite3.SQLITE_DBCONFIG_ENABLE_QPSG, args); rc != sqlite3.SQLITE_OK {
		return nil, errors.Join(c.fail(rc), c.Close())
	}
	return c, nil
}

const wordSize = unsafe.Sizeof(uintptr(0))

var errMemory = &Error{Code: sqlite3.SQLITE_NOMEM, Text: "out of memory"}

// result is the pointer that the last call returned.
func (c *Conn) result() uintptr {
	return *(*uintptr)(unsafe.Pointer(&libc.GoBytes(c.out, int(wordSize))[0]))
}

func (c *Conn) fail(rc int32) error {
	e := &Error{Code: int(rc)}
	if c.db != 0 && int32(rc)&0xff == sqlite3.Xsqlite3_extended_errcode(c.tls, c.db)&0xff {
		e.Text = libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db))
	} else {
		e.Text = libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, rc))
	}
	return e
}

// Close closes all statements and the connection.
func (c *Conn) Close() error {
	if c.tls == nil {
		return nil
	}
	for _, r := range c.kept {
		r.finalize()
	}
	var err error
	if c.db != 0 {
		if rc := sqlite3.Xsqlite3_close_v2(c.tls, c.db); rc != sqlite3.SQLITE_OK {
			err = c.fail(rc)
		}
	}
	sqlite3.Xsqlite3_free(c.tls, c.out)
	c.tls.Close()
	*c = Conn{}
	return err
}

// Interrupt makes whatever runs on the connection fail with SQLITE_INTERRUPT. It may be
// called at any time before Close.
func (c *Conn) Interrupt() {
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite3.Xsqlite3_interrupt(tls, c.db)
}

// Script runs statements without arguments, and keeps none of them.
func (c *Conn) Script(text string) error {
	start, err := libc.CString(text)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, start)
	if rc := sqlite3.Xsqlite3_exec(c.tls, c.db, start, 0, 0, 0); rc != sqlite3.SQLITE_OK {
		return c.fail(rc)
	}
	return nil
}

// Exec runs a statement to its end and keeps it for next time.
func (c *Conn) Exec(text string, args ...any) error {
	rows := c.Query(text, args...)
	for rows.Next() {
		continue // its rows are ignored
	}
	return rows.Close()
}

// Row runs a statement for its first row, and keeps it for next time. It reports
// whether there is one; scan reads it, and must not retain bytes.
func (c *Conn) Row(scan func(*Rows), text string, args ...any) (bool, error) {
	rows := c.Query(text, args...)
	ok := rows.Next()
	if ok {
		scan(rows)
	}
	return ok, rows.Close()
}

// Query starts a statement and keeps it for next time. The caller must close the rows;
// Close returns the error:
//
//	rows := c.Query(`SELECT a FROM t WHERE b = ?`, b)
//	for rows.Next() {
//		use(rows.Text(0))
//	}
//	return rows.Close()
//
// Arguments are nil, bool, int, int64, string, *string or []byte; nil pointers and
// slices are NULL.
func (c *Conn) Query(text string, args ...any) *Rows {
	r := c.kept[text]
	switch {
	case r == nil:
		if r = c.prepare(text); r.err != nil {
			return r
		}
	case r.open:
		return &Rows{err: fmt.Errorf("%w: %s", ErrInUse, text)}
	}
	r.open, r.err = true, nil
	if rc := r.bind(args); rc != sqlite3.SQLITE_OK {
		r.err = c.fail(rc)
	}
	return r
}

func (c *Conn) prepare(text string) *Rows {
	name, err := libc.CString(text)
	if err != nil {
		return &Rows{err: err}
	}
	defer libc.Xfree(c.tls, name)
	rc := sqlite3.Xsqlite3_prepare_v3(c.tls, c.db, name, int32(len(text)+1), sqlite3.SQLITE_PREPARE_PERSISTENT, c.out, 0)
	if rc != sqlite3.SQLITE_OK {
		return &Rows{err: fmt.Errorf("%w in %s", c.fail(rc), text)}
	}
	r := &Rows{c: c, stmt: c.result()}
	r.params = int(sqlite3.Xsqlite3_bind_parameter_count(c.tls, r.stmt))
	for other, old := range c.kept {
		if len(c.kept) < maxKept {
			break
		}
		if !old.open {
			old.finalize()
			delete(c.kept, other)
		}
	}
	c.kept[text] = r
	return r
}

// Changes is how many rows the last finished statement changed.
func (c *Conn) Changes() int64 { return sqlite3.Xsqlite3_changes64(c.tls, c.db) }

// LastInsertID is the key of the last inserted row.
func (c *Conn) LastInsertID() int64 { return sqlite3.Xsqlite3_last_insert_rowid(c.tls, c.db) }

// InTransaction reports whether a transaction is open.
func (c *Conn) InTransaction() bool { return sqlite3.Xsqlite3_get_autocommit(c.tls, c.db) == 0 }

// Kept is how many statements are prepared, and how often one was prepared again
// because the schema had changed.
func (c *Conn) Kept() (statements, again int) {
	for _, r := range c.kept {
		again += int(sqlite3.Xsqlite3_stmt_status(c.tls, r.stmt, sqlite3.SQLITE_STMTSTATUS_REPREPARE, 0))
	}
	return len(c.kept), again
}
