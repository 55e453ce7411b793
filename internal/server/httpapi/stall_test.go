package httpapi

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/sse"
	"github.com/terret-dev/terret/view"
)

// pausing is a response whose reader takes nothing until it is let.
type pausing struct {
	reading
	read chan struct{}
}

func (p *pausing) Write(b []byte) (int, error) {
	<-p.read
	return p.reading.Write(b)
}

// counting is a view that counts what it sees.
type counting struct{ seen []int64 }

func (c *counting) Event(e terret.Event) []view.Message {
	c.seen = append(c.seen, e.Seq)
	return []view.Message{{Name: "n", Data: []byte(strings.Repeat("x", 1000))}}
}

// TestStalledReader holds that nothing is kept for a reader that does not read but what
// waits to be written, and that it misses nothing and gets nothing twice when it reads
// again.
func TestStalledReader(t *testing.T) {
	t.Parallel()
	const total = 500
	for _, viewed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := bare()
			s.limits.Write = time.Hour
			w := &pausing{reading: reading{header: http.Header{}}, read: make(chan struct{})}
			running, starts := 0, 0
			events := func(_ context.Context, last terret.Entry) iter.Seq2[terret.Entry, error] {
				return func(yield func(terret.Entry, error) bool) {
					starts++
					running++
					defer func() { running-- }()
					for seq := last.Seq + 1; seq <= total; seq++ {
						body := fmt.Sprintf(`{"kind":"notification","data":{"text":%q}}`, strings.Repeat("y", 1000))
						if !yield(terret.Entry{Session: "s", Seq: seq, Kind: terret.KindNotification, Body: []byte(body)}, nil) {
							return
						}
					}
				}
			}
			ew := &eventWriter{}
			seen := &counting{}
			if viewed {
				ew.view = seen
			}
			go func() {
				time.Sleep(10 * stalled)
				synctest.Wait()
				if running != 0 || starts != 1 {
					t.Errorf("%d of %d readings go on for a reader that does not read", running, starts)
				}
				close(w.read)
			}()
			s.streaming(w, bareRequest(t), sse.ContentType, nil, func(ctx context.Context, st *stream) error {
				return s.sendEvents(ctx, st, ew, events)
			})
			if starts < 2 {
				t.Error("nothing was read again")
			}
			want := int64(1)
			for e, err := range sse.Read(strings.NewReader(w.text()), 1<<20) {
				if err != nil || e.ID != fmt.Sprint(want) {
					t.Fatalf("event %s where %d should be, %v", e.ID, want, err)
				}
				want++
			}
			if want != total+1 {
				t.Errorf("%d events arrived, want %d", want-1, total)
			}
			for i, seq := range seen.seen {
				if seq != int64(i+1) {
					t.Fatalf("the view saw event %d where %d should be", seq, i+1)
				}
			}
		})
	}
}

// TestLineEnds holds that events whose JSON has line ends in it, as another program may
// have written them, arrive whole.
func TestLineEnds(t *testing.T) {
	t.Parallel()
	e := terret.Entry{Session: "s", Seq: 7, Kind: terret.KindNotification, Body: []byte("{\"a\":1,\n\"b\":2}")}
	got := string((&eventWriter{}).appendEvent(nil, e))
	if want := "id: 7\nevent: notification\ndata: {\"seq\":7,\"a\":1,\ndata: \"b\":2}\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	got = string((&eventWriter{lines: true}).appendEvent([]byte("x\n"), e))
	if want := "x\n{\"seq\":7,\"a\":1,\"b\":2}\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	named := &eventWriter{id: func(terret.Entry) string { return "place" }}
	got = string(named.appendEvent(nil, terret.Entry{Seq: 7, Kind: terret.KindNotification, Body: []byte(`{"a":1}`)}))
	if want := "id: place\nevent: notification\ndata: {\"seq\":7,\"a\":1}\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDeadReaders holds that readers that never read hold their share and no more, that
// few of them hold an event that is larger, and that those are cut for others who read.
func TestDeadReaders(t *testing.T) {
	t.Parallel()
	const dead, large = 400, 1 << 20
	for _, size := range []int{1000, large} {
		synctest.Test(t, func(t *testing.T) {
			s := bare()
			s.limits.Write = time.Hour
			body := []byte(`{"text":"` + strings.Repeat("y", size) + `"}`)
			events := func(_ context.Context, last terret.Entry) iter.Seq2[terret.Entry, error] {
				return func(yield func(terret.Entry, error) bool) {
					for seq := last.Seq + 1; seq <= 100; seq++ {
						if !yield(terret.Entry{Session: "s", Seq: seq, Kind: terret.KindNotification, Body: body}, nil) {
							return
						}
					}
				}
			}
			serve := func(ctx context.Context, w http.ResponseWriter) {
				r := bareRequest(t).WithContext(ctx)
				s.streaming(w, r, sse.ContentType, nil, func(ctx context.Context, st *stream) error {
					return s.sendEvents(ctx, st, &eventWriter{}, events)
				})
			}
			ctx, leave := context.WithCancel(t.Context())
			var wait sync.WaitGroup
			deaf := make([]*deafReader, dead)
			for i := range deaf {
				deaf[i] = &deafReader{reading: reading{header: http.Header{}}, gone: ctx.Done(), cut: make(chan struct{})}
				wait.Go(func() { serve(ctx, deaf[i]) })
			}
			synctest.Wait()
			if held, most := s.readers.holds(), int64(2*readersBudget+maxLarge*2*size); held > most {
				t.Errorf("events of %d bytes: %d dead readers hold %d bytes, want at most %d", size, dead, held, most)
			}
			w := &reading{header: http.Header{}}
			serve(t.Context(), w)
			if n := strings.Count(w.text(), "id: "); n != 100 {
				t.Errorf("events of %d bytes: a reader that reads got %d of 100", size, n)
			}
			before := s.metrics.cuts.Load()
			if size != large { // those who hold large events are cut by those who wait for one
				s.limits.Streams = 1
				s.streams.Store(1)
				time.Sleep(2 * stuck)
				if _, err := s.slot(t.Context()); err != nil {
					t.Errorf("no room for a reader where others do not read: %v", err)
				}
				synctest.Wait()
				if after := s.metrics.cuts.Load(); after != before+1 {
					t.Errorf("%d readers were cut to make room for one", after-before)
				}
			}
			if cut := before; (cut > 0) != (size == large) {
				t.Errorf("events of %d bytes: %d dead readers were cut", size, cut)
			}
			leave()
			wait.Wait()
			if len(s.readers.open) != 0 || len(s.readers.large) != 0 {
				t.Errorf("%d streams and %d large events are left", len(s.readers.open), len(s.readers.large))
			}
		})
	}
}

// deafReader takes nothing until it is cut or gone.
type deafReader struct {
	reading
	gone <-chan struct{}
	cut  chan struct{}
	once sync.Once
}

func (d *deafReader) SetWriteDeadline(t time.Time) error {
	if t.Before(time.Now()) {
		d.once.Do(func() { close(d.cut) })
	}
	return nil
}

func (d *deafReader) Write([]byte) (int, error) {
	select {
	case <-d.cut:
	case <-d.gone:
	}
	return 0, os.ErrDeadlineExceeded
}

// holds is what all streams hold.
func (r *readers) holds() (n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for st := range r.open {
		st.mu.Lock()
		n += st.held
		st.mu.Unlock()
	}
	return n
}

// sipping is a response whose reader takes a moment for a small piece, and nothing of a
// large one until it is let.
type sipping struct {
	reading
	read chan struct{}
}

func (s *sipping) Write(b []byte) (int, error) {
	if len(b) > mostShare {
		<-s.read
	} else {
		time.Sleep(10 * time.Millisecond)
	}
	return s.reading.Write(b)
}

// TestLargeWhileSmallIsWritten holds that the end of a write does not give away the place
// of a large event that is still to come.
func TestLargeWhileSmallIsWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := bare()
		s.limits.Write = time.Hour
		large := []byte(`{"kind":"notification","data":{"text":"` + strings.Repeat("y", 1<<20) + `"}}`)
		events := func(_ context.Context, last terret.Entry) iter.Seq2[terret.Entry, error] {
			return func(yield func(terret.Entry, error) bool) {
				for seq := last.Seq + 1; seq <= 2; seq++ {
					body := []byte(`{"kind":"notification","data":{"text":"small"}}`)
					if seq == 2 {
						body = large
					}
					if !yield(terret.Entry{Session: "s", Seq: seq, Kind: terret.KindNotification, Body: body}, nil) {
						return
					}
				}
			}
		}
		read := make(chan struct{})
		var work sync.WaitGroup
		for range 5 * maxLarge {
			work.Go(func() {
				ew := &eventWriter{skip: func(e terret.Entry) bool { // as a view that takes its time
					if len(e.Body) == len(large) {
						time.Sleep(20 * time.Millisecond)
					}
					return false
				}}
				s.streaming(&sipping{reading{header: http.Header{}}, read}, bareRequest(t), sse.ContentType, nil, func(ctx context.Context, st *stream) error {
					return s.sendEvents(ctx, st, ew, events)
				})
			})
		}
		time.Sleep(stuck / 2) // before anybody is cut
		synctest.Wait()
		held := 0
		for _, st := range s.readers.all() {
			st.mu.Lock()
			if st.held > mostShare {
				held++
			}
			st.mu.Unlock()
		}
		if held != maxLarge {
			t.Errorf("%d streams hold a large event, want %d", held, maxLarge)
		}
		close(read)
		work.Wait()
	})
}
