package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/sse"
)

// reading is a response whose reader may stop reading.
type reading struct {
	header   http.Header
	mu       sync.Mutex
	got      bytes.Buffer
	writes   int
	deadline time.Time
	stuck    bool
}

func (r *reading) Header() http.Header { return r.header }
func (r *reading) WriteHeader(int)     {}
func (r *reading) Flush()              {}

func (r *reading) SetReadDeadline(time.Time) error { return nil }
func (r *reading) SetWriteDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deadline = t
	return nil
}

func (r *reading) Write(b []byte) (int, error) {
	r.mu.Lock()
	stuck, until := r.stuck, r.deadline
	r.writes++
	r.mu.Unlock()
	if stuck {
		time.Sleep(time.Until(until))
		return 0, os.ErrDeadlineExceeded
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.Write(b)
}

func (r *reading) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.String()
}

// bare is a server that has nothing but what streams need.
func bare() *Server {
	s := &Server{limits: Limits{}.withDefaults(), log: slog.New(slog.DiscardHandler), readers: newReaders()}
	s.metrics.init()
	return s
}

func bareRequest(t *testing.T) *http.Request {
	return httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
}

// TestHeartbeat holds that no silence is longer than 15 seconds.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &reading{header: http.Header{}}
		bare().streaming(w, bareRequest(t), sse.ContentType, nil, func(_ context.Context, st *stream) error {
			for i := range 3 {
				time.Sleep(16 * time.Second)
				synctest.Wait()
				if n := strings.Count(w.text(), ": still here\n\n"); n != i+1 {
					t.Errorf("%d heartbeats after %d silences", n, i+1)
				}
				if err := st.send(func(b []byte) []byte { return sse.Append(b, "1", "a", []byte("x")) }); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if !strings.HasSuffix(w.text(), "id: 1\nevent: a\ndata: x\n\n") {
					t.Errorf("not sent at once: %q", w.text())
				}
			}
			return nil
		})
	})
}

// TestNoHeartbeatInLines holds that lines are nothing but lines.
func TestNoHeartbeatInLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &reading{header: http.Header{}}
		bare().streaming(w, bareRequest(t), ndjsonType, nil, func(context.Context, *stream) error {
			time.Sleep(time.Hour)
			return nil
		})
		if w.text() != "" {
			t.Errorf("sent %q", w.text())
		}
	})
}

// TestSlowReader holds that a reader that does not read is cut, and when.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := bare()
		w := &reading{header: http.Header{}, stuck: true}
		began := time.Now()
		s.streaming(w, bareRequest(t), sse.ContentType, nil, func(ctx context.Context, st *stream) error {
			line := bytes.Repeat([]byte("x"), 1000)
			for n := 0; ; n++ {
				if err := st.send(func(b []byte) []byte { return sse.Append(b, "", "", line) }); err != nil {
					<-ctx.Done() // whoever only waits is told too
					if n > 2*(mostShare/len(line)+1) {
						t.Errorf("%d events were taken for a reader that does not read", n)
					}
					return err
				}
			}
		})
		if took := time.Since(began); took != s.limits.Write {
			t.Errorf("it was cut after %s", took)
		}
		if s.metrics.cuts.Load() != 1 || s.streams.Load() != 0 {
			t.Errorf("%d cuts, %d streams", s.metrics.cuts.Load(), s.streams.Load())
		}
	})
}

// TestRevoked holds that a stream ends when it is no longer allowed.
func TestRevoked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &reading{header: http.Header{}}
		revoked := errors.New("revoked")
		asked := 0
		var got error
		bare().streaming(w, bareRequest(t), sse.ContentType, func() error {
			if asked++; asked == 3 {
				return revoked
			}
			return nil
		}, func(ctx context.Context, _ *stream) error {
			<-ctx.Done()
			got = context.Cause(ctx)
			return got
		})
		if !errors.Is(got, revoked) || strings.Count(w.text(), "still here") != 2 {
			t.Errorf("ended by %v after %q", got, w.text())
		}
	})
}

// TestRevokedWhileBusy holds the same for a stream that is never silent, and that the
// reader is told why.
func TestRevokedWhileBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &reading{header: http.Header{}}
		began := time.Now()
		bare().streaming(w, bareRequest(t), sse.ContentType, func() error {
			err := terret.Errorf(terret.CodeUnauthorized, "revoked")
			return &parting{err, appendEnd(nil, err)}
		}, func(_ context.Context, st *stream) error {
			for range 1000 {
				time.Sleep(time.Second)
				if err := st.send(func(b []byte) []byte { return sse.Append(b, "1", "a", []byte("x")) }); err != nil {
					return err
				}
			}
			return nil
		})
		if took := time.Since(began); took > heartbeat+time.Second {
			t.Errorf("it went on for %s", took)
		}
		if got := w.text(); strings.Count(got, "event: stream.end\n") != 1 || !strings.Contains(got[strings.Index(got, "stream.end"):], `"kind":"unauthorized"`) {
			t.Errorf("the reader was told %q", got)
		}
	})
}

// TestBrokenLines holds that lines that end too early do not look like all there are.
func TestBrokenLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		contentType string
		live, send  error
		breaks      bool
	}{
		"lines":           {ndjsonType, nil, nil, false},
		"lines that fail": {ndjsonType, nil, errors.New("no disk"), true},
		"lines, revoked":  {ndjsonType, errors.New("revoked"), nil, true},
		"events":          {sse.ContentType, nil, errors.New("no disk"), false}, // they have stream.end
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				defer func() {
					if got := recover(); (got == http.ErrAbortHandler) != c.breaks { //nolint:errorlint // it is panicked with as it is
						t.Errorf("it ended with %v", got)
					}
				}()
				w := &reading{header: http.Header{}}
				bare().streaming(w, bareRequest(t), c.contentType, func() error { return c.live }, func(_ context.Context, st *stream) error {
					time.Sleep(heartbeat + time.Second)
					if err := st.send(func(b []byte) []byte { return append(b, "x\n"...) }); err != nil {
						return err
					}
					return c.send
				})
			})
		})
	}
}

// TestBatches holds that what comes while the last write is under way leaves
// together, in order and whole.
func TestBatches(t *testing.T) {
	t.Parallel()
	w := &reading{header: http.Header{}}
	var want strings.Builder
	bare().streaming(w, bareRequest(t), ndjsonType, nil, func(_ context.Context, st *stream) error {
		for i := range 20_000 {
			fmt.Fprintln(&want, i)
			if err := st.send(func(b []byte) []byte { return fmt.Appendln(b, i) }); err != nil {
				return err
			}
		}
		return nil
	})
	if w.text() != want.String() {
		t.Error("what was read is not what was sent")
	}
}

// TestKeys holds that a key that failed may be tried again, and that a panic does
// not leave others waiting.
func TestKeys(t *testing.T) {
	t.Parallel()
	var k keys
	k.init()
	fails := errors.New("fails")
	if _, err := k.do(t.Context(), "k", nil, 1, func() (any, error) { return nil, fails }, nil); !errors.Is(err, fails) {
		t.Error(err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = k.do(t.Context(), "k", nil, 1, func() (any, error) { panic("x") }, nil)
	}()
	replayed := false
	for i := range 2 {
		v, err := k.do(t.Context(), "k", nil, 1, func() (any, error) { return i, nil }, &replayed)
		if err != nil || v != 0 || replayed != (i == 1) {
			t.Errorf("%v %v %v", v, err, replayed)
		}
	}
	if _, err := k.do(t.Context(), "k", nil, 2, func() (any, error) { return 3, nil }, nil); err == nil {
		t.Error("the key was used for something else")
	}
	if v, err := k.do(t.Context(), "k", []any{"elsewhere"}, 2, func() (any, error) { return 3, nil }, nil); err != nil || v != 3 {
		t.Errorf("%v %v", v, err)
	}
	// What fails takes nobody's place.
	for range maxKeys + 10 {
		_, _ = k.do(t.Context(), "fails", nil, 1, func() (any, error) { return nil, fails }, nil)
	}
	if v, err := k.do(t.Context(), "k", nil, 1, func() (any, error) { return 7, nil }, nil); err != nil || v != 0 {
		t.Errorf("%v %v: it was forgotten", v, err)
	}
	for i := range maxKeys + 10 {
		if _, err := k.do(t.Context(), fmt.Sprint(i), nil, 1, func() (any, error) { return nil, nil }, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(k.known) > maxKeys || len(k.order) > maxKeys {
		t.Errorf("%d keys are known", len(k.known))
	}
}

// TestHarnessEnd holds that a turn of which nothing more is heard has a last message, and
// an error before it unless it has had its result.
func TestHarnessEnd(t *testing.T) {
	t.Parallel()
	for over, want := range map[bool][]string{false: {"session:error the server is stopping", "process:exit "}, true: {"process:exit "}} {
		var got []string
		for ev, err := range sse.Read(bytes.NewReader(appendHarnessEnd(nil, "s", over, terret.Errorf(terret.CodeStartupRefused, "the server is stopping"))), 1<<20) {
			var m struct{ Type, SessionID, Error string }
			if err := errors.Join(err, json.Unmarshal(ev.Data, &m)); err != nil || m.SessionID != "s" {
				t.Fatalf("%s: %v", ev.Data, err)
			}
			got = append(got, m.Type+" "+m.Error)
		}
		if !slices.Equal(got, want) {
			t.Errorf("over %v: %q, want %q", over, got, want)
		}
	}
}
