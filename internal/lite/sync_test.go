package lite

import (
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

type syncFunc = func(tls *libc.TLS, file uintptr, flags int32) int32

// countSyncs makes the connection's log file count how often it is synced, and with how
// many bytes in it. It must have been written to.
func countSyncs(t *testing.T, c *Conn) (synced func() (times int, size int64)) {
	t.Helper()
	name, err := libc.CString("main")
	if err != nil {
		t.Fatal(err)
	}
	defer libc.Xfree(c.tls, name)
	if rc := sqlite3.Xsqlite3_file_control(c.tls, c.db, name, sqlite3.SQLITE_FCNTL_JOURNAL_POINTER, c.out); rc != sqlite3.SQLITE_OK {
		t.Fatal(c.fail(rc))
	}
	file := (*sqlite3.Tsqlite3_file)(at(c.result()))
	methods := *(*sqlite3.Tsqlite3_io_methods)(at(file.FpMethods))
	real, fileSize := methods.FxSync, methods.FxFileSize
	times, size := 0, int64(0)
	count := func(tls *libc.TLS, f uintptr, flags int32) int32 {
		times++
		(*(*func(*libc.TLS, uintptr, uintptr) int32)(unsafe.Pointer(&struct{ f uintptr }{fileSize})))(tls, f, uintptr(unsafe.Pointer(&size)))
		return (*(*syncFunc)(unsafe.Pointer(&struct{ f uintptr }{real})))(tls, f, flags)
	}
	methods.FxSync = *(*uintptr)(unsafe.Pointer(&struct{ f syncFunc }{count}))
	place := sqlite3.Xsqlite3_malloc64(c.tls, uint64(unsafe.Sizeof(methods)))
	*(*sqlite3.Tsqlite3_io_methods)(at(place)) = methods
	file.FpMethods = place
	return func() (int, int64) {
		n := times
		times = 0
		runtime.KeepAlive(count)
		return n, size
	}
}

// at is memory of SQLite.
func at(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// TestSynchronous holds what stores rely on: a transaction at FULL is synced once, with all
// of the log file in it. One at NORMAL is not.
func TestSynchronous(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	c := open(t, path, `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (v); INSERT INTO t VALUES (0)`)
	other := open(t, path, ``)
	synced := countSyncs(t, c)
	last := int64(0)
	commit := func(level string, want int) {
		t.Helper()
		if err := c.Script("PRAGMA synchronous = " + level); err != nil {
			t.Fatal(err)
		}
		must(t, c, `BEGIN IMMEDIATE`)
		must(t, c, `UPDATE t SET v = v + 1`)
		if err := c.Script("PRAGMA synchronous = OFF"); err == nil {
			t.Error("the level can be changed in a transaction")
		}
		must(t, c, `COMMIT`)
		last++
		if found, err := other.Row(func(r *Rows) {
			if r.Int(0) != last {
				t.Errorf("another connection sees %d after %d", r.Int(0), last)
			}
		}, `SELECT v FROM t`); !found || err != nil {
			t.Error(found, err)
		}
		times, size := synced()
		if times != want {
			t.Errorf("%d syncs of a commit at %s, want %d", times, level, want)
		}
		if want > 0 && size < last*4096 {
			t.Errorf("a sync when only %d bytes of %d commits were written", size, last)
		}
	}
	commit("FULL", 1)
	commit("FULL", 1)
	commit("NORMAL", 0)
	commit("FULL", 1)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	synced() // the function is in use until here
}
