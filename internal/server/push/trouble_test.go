package push_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// logged has the queue log into the result. Read it while the queue waits.
func (f *fixture) logged() *bytes.Buffer {
	var log bytes.Buffer
	f.queue.Log = slog.New(slog.NewTextHandler(&log, nil))
	return &log
}

func (f *fixture) wantLines(log *bytes.Buffer, want int) {
	f.t.Helper()
	if got := bytes.Count(log.Bytes(), []byte("\n")); got != want {
		f.t.Errorf("%d lines are logged, want %d:\n%.2000s", got, want, log)
	}
}

// damage makes the book unreadable until it is mended.
func (f *fixture) damage() (mend func()) {
	f.t.Helper()
	path := filepath.Join(f.book.Home, "push.json")
	good, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	write := func(raw []byte) {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
	write([]byte("{"))
	return func() { write(good) }
}

// TestUnreadableBook holds that a book that cannot be read is asked now and then, is logged
// once, and that nothing is lost when it can be read again.
func TestUnreadableBook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		log := f.logged()
		b := f.subscribe("a")
		defer f.run()()
		f.need("x")
		f.want("the first", after(4*time.Second, b), "x")
		f.need("y")
		f.want("waits for the spacing", after(5*time.Second, b))
		mend := f.damage()
		f.need("z")
		f.want("damaged", after(time.Hour, b))
		f.wantLines(log, 1)
		f.need("z")
		f.want("damaged still", after(time.Hour, b))
		f.wantLines(log, 1)
		mend()
		f.want("mended", after(6*time.Minute, b), "y+z")
		f.damage()
		f.need("x")
		f.want("damaged again", after(time.Minute, b))
		f.wantLines(log, 2)
	})
}

// TestGoneForGood holds that a browser that is gone is not sent to again, also while its
// subscription cannot be removed, which keeps nobody else waiting.
func TestGoneForGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		log := f.logged()
		gone, there, revoked := f.subscribe("a"), f.subscribe("b"), f.subscribe("c")
		lock := filepath.Join(f.book.Home, "push.lock")
		if err := os.Remove(lock); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(lock, 0o700); err != nil {
			t.Fatal(err)
		}
		f.revoked["c"] = true
		f.service.Answer(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(gone.Endpoint, r.URL.Path) {
				w.WriteHeader(http.StatusGone)
			}
		})
		defer f.run()()
		f.need("x")
		f.want("one that goes", after(time.Hour, gone), "x")
		f.need("y")
		f.want("one that is gone", after(time.Hour, gone))
		f.want("another", after(0, there), "x", "y")
		f.want("whose token has ended", after(0, revoked))
		f.wantLines(log, 2) // that it is gone, and that it cannot be removed
		if err := os.Remove(lock); err != nil {
			t.Fatal(err)
		}
		f.need("z")
		f.want("another, later", after(time.Hour, there), "z")
		if left := f.subscribers(); left != 1 {
			t.Errorf("%d subscriptions are left", left)
		}
		if err := f.book.Put(t.Context(), subscription(gone, "a")); err != nil {
			t.Fatal(err)
		}
		f.service.Answer(nil)
		f.need("back")
		f.want("one that is back", after(time.Hour, gone), "back")
	})
}

// TestBlind holds that what cannot be told at the moment is told later.
func TestBlind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		log := f.logged()
		b := f.subscribe("a")
		see := func(blind bool) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.blind = blind
		}
		see(true)
		defer f.run()()
		f.need("x")
		f.want("the store is away", after(4*time.Second, b))
		see(false)
		f.want("it is back", after(15*time.Second, b), "x")
		f.wantLines(log, 0)
		see(true)
		f.need("y")
		f.want("it is away for long", after(time.Hour, b))
		f.wantLines(log, 1)
	})
}
