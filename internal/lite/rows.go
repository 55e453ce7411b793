package lite

import (
	"fmt"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// keepScratch bounds the argument buffer that a statement keeps between uses.
const keepScratch = 16 << 10

// Rows is a running statement and its current row.
type Rows struct {
	c      *Conn
	stmt   uintptr
	params int
	open   bool
	err    error

	scratch uintptr // the bytes of the arguments, which SQLite does not copy
	room    int
}

// bind sets all arguments. It copies their bytes once, to where SQLite can see them.
func (r *Rows) bind(args []any) int32 {
	if len(args) != r.params {
		r.err = fmt.Errorf("sqlite: %d arguments for %d parameters", len(args), r.params)
		return sqlite3.SQLITE_OK
	}
	size := 0
	for _, a := range args {
		switch v := a.(type) {
		case string:
			size += len(v)
		case *string:
			if v != nil {
				size += len(*v)
			}
		case []byte:
			size += len(v)
		}
	}
	if !r.reserve(size) {
		return sqlite3.SQLITE_NOMEM
	}
	at := r.scratch
	for i, a := range args {
		if rc := r.bindOne(int32(i+1), a, &at); rc != sqlite3.SQLITE_OK || r.err != nil {
			return rc
		}
	}
	return sqlite3.SQLITE_OK
}

func (r *Rows) bindOne(i int32, arg any, at *uintptr) int32 {
	tls := r.c.tls
	switch v := arg.(type) {
	case nil:
		return sqlite3.Xsqlite3_bind_null(tls, r.stmt, i)
	case int64:
		return sqlite3.Xsqlite3_bind_int64(tls, r.stmt, i, v)
	case int:
		return sqlite3.Xsqlite3_bind_int64(tls, r.stmt, i, int64(v))
	case bool:
		n := int64(0)
		if v {
			n = 1
		}
		return sqlite3.Xsqlite3_bind_int64(tls, r.stmt, i, n)
	case string:
		return r.bindText(i, v, at)
	case *string:
		if v == nil {
			return sqlite3.Xsqlite3_bind_null(tls, r.stmt, i)
		}
		return r.bindText(i, *v, at)
	case []byte:
		switch {
		case v == nil:
			return sqlite3.Xsqlite3_bind_null(tls, r.stmt, i)
		case len(v) == 0:
			return sqlite3.Xsqlite3_bind_zeroblob(tls, r.stmt, i, 0)
		}
		p := *at
		*at += uintptr(copy(libc.GoBytes(p, len(v)), v))
		return sqlite3.Xsqlite3_bind_blob64(tls, r.stmt, i, p, uint64(len(v)), sqlite3.SQLITE_STATIC)
	}
	r.err = fmt.Errorf("sqlite: argument %d is a %T", i, arg)
	return sqlite3.SQLITE_OK
}

func (r *Rows) bindText(i int32, v string, at *uintptr) int32 {
	p := *at
	*at += uintptr(copy(libc.GoBytes(p, len(v)), v))
	return sqlite3.Xsqlite3_bind_text64(r.c.tls, r.stmt, i, p, uint64(len(v)), sqlite3.SQLITE_STATIC, sqlite3.SQLITE_UTF8)
}

// reserve makes room for the bytes of the arguments. There is always at least one byte,
// so that empty text is not NULL.
func (r *Rows) reserve(size int) bool {
	if size < r.room {
		return true
	}
	r.release()
	r.room = max(size+1, 64)
	r.scratch = sqlite3.Xsqlite3_malloc64(r.c.tls, uint64(r.room))
	if r.scratch == 0 {
		r.room = 0
	}
	return r.scratch != 0
}

func (r *Rows) release() {
	sqlite3.Xsqlite3_free(r.c.tls, r.scratch)
	r.scratch, r.room = 0, 0
}

// Next moves to the next row and reports whether there is one.
func (r *Rows) Next() bool {
	if r.err != nil {
		return false
	}
	switch rc := sqlite3.Xsqlite3_step(r.c.tls, r.stmt); rc {
	case sqlite3.SQLITE_ROW:
		return true
	case sqlite3.SQLITE_DONE:
	default:
		r.err = r.c.fail(rc)
	}
	return false
}

// Close ends the statement, even before its last row, and returns its error. It may be
// called again.
func (r *Rows) Close() error {
	if r.open {
		r.open = false
		sqlite3.Xsqlite3_reset(r.c.tls, r.stmt) // repeats the error of the last step
		if r.room > keepScratch {
			sqlite3.Xsqlite3_clear_bindings(r.c.tls, r.stmt)
			r.release()
		}
	}
	return r.err
}

func (r *Rows) finalize() {
	sqlite3.Xsqlite3_finalize(r.c.tls, r.stmt) // repeats the error of the last step
	r.release()
}

// Int is a column as a number, 0 if NULL.
func (r *Rows) Int(column int) int64 {
	return sqlite3.Xsqlite3_column_int64(r.c.tls, r.stmt, int32(column))
}

// Bool reports whether a column is not 0.
func (r *Rows) Bool(column int) bool { return r.Int(column) != 0 }

// Null reports whether a column is NULL.
func (r *Rows) Null(column int) bool {
	return sqlite3.Xsqlite3_column_type(r.c.tls, r.stmt, int32(column)) == sqlite3.SQLITE_NULL
}

// Text is a column as text, empty if NULL.
func (r *Rows) Text(column int) string { return string(r.Bytes(column)) }

// Bytes is a column in place, nil if it is NULL or empty. It is valid until the next
// call of Next or Close, and must not be changed.
func (r *Rows) Bytes(column int) []byte {
	p := sqlite3.Xsqlite3_column_blob(r.c.tls, r.stmt, int32(column))
	if p == 0 {
		return nil
	}
	return libc.GoBytes(p, int(sqlite3.Xsqlite3_column_bytes(r.c.tls, r.stmt, int32(column))))
}
