package hub_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/hub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errGone = errors.New("no such session")

// logbook is a log in memory, with a hub over it.
type logbook struct {
	*hub.Hub

	mu    sync.Mutex
	all   []terret.Entry            // Pos is the index plus one
	of    map[string][]terret.Entry // by session; Seq is the index plus one
	gone  map[string]bool
	page  int
	reads int // calls that read
	pokes int // that somebody began to watch

	afterRead func() // called after each Read
}

func newLogbook() *logbook {
	l := &logbook{of: map[string][]terret.Entry{}, gone: map[string]bool{}, page: 10}
	l.Hub = hub.New(l, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pokes++
	})
	return l
}

// write commits n entries of a session without publishing them, as other processes do.
func (l *logbook) write(session string, n int) []terret.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		e := terret.Entry{
			Session: session, Seq: int64(len(l.of[session]) + 1), Pos: int64(len(l.all) + 1), Kind: terret.KindNotification,
			Body: []byte("{}"), Raw: []byte("raw"),
		}
		l.all, l.of[session] = append(l.all, e), append(l.of[session], e)
	}
	return slices.Clone(l.of[session][len(l.of[session])-n:])
}

// commit writes entries and publishes them.
func (l *logbook) commit(session string, n int) { l.Publish(session, l.write(session, n)) }

// remove deletes a session.
func (l *logbook) remove(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone[session] = true
}

func (l *logbook) readCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reads
}

func (l *logbook) Read(ctx context.Context, q terret.ReadQuery) ([]terret.Entry, error) {
	if l.afterRead != nil {
		defer l.afterRead()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	if l.gone[q.Session] {
		return nil, errGone
	}
	return l.pick(l.of[q.Session], q.After, func(e *terret.Entry) bool {
		e.Pos = 0
		if !q.Raw {
			e.Raw = nil
		}
		return q.Kinds == nil || slices.Contains(q.Kinds, e.Kind)
	}), ctx.Err()
}

func (l *logbook) ReadAll(ctx context.Context, q terret.ReadAllQuery) ([]terret.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	return l.pick(l.all, q.After, func(e *terret.Entry) bool {
		e.Raw = nil
		return q.Sessions == nil || slices.Contains(q.Sessions, e.Session)
	}), ctx.Err()
}

// pick returns a page of those after an index that are wanted.
func (l *logbook) pick(from []terret.Entry, after int64, want func(*terret.Entry) bool) (out []terret.Entry) {
	for _, e := range from[after:] {
		if len(out) == l.page {
			break
		}
		if want(&e) {
			out = append(out, e)
		}
	}
	return out
}

type stream = iter.Seq2[terret.Entry, error]

// follower reads a stream in the background.
type follower struct {
	mu   sync.Mutex
	seen []int64
	errs []error
}

// follow starts to read; at says what to note of each entry.
func follow(group *sync.WaitGroup, events stream, at func(terret.Entry) int64) *follower {
	f := &follower{}
	group.Go(func() {
		for entry, err := range events {
			f.mu.Lock()
			if err != nil {
				f.errs = append(f.errs, err)
			} else {
				f.seen = append(f.seen, at(entry))
			}
			f.mu.Unlock()
		}
	})
	return f
}

// want waits until everybody has read what there is, and compares.
func (f *follower) want(t *testing.T, what string, seen ...int64) {
	t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.seen, seen) {
		t.Errorf("%s: saw %v, want %v", what, f.seen, seen)
	}
}

func (f *follower) wantEnd(t *testing.T, what string, want error) {
	t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.errs) != 1 || !errors.Is(f.errs[0], want) {
		t.Errorf("%s: ended with %v, want %v", what, f.errs, want)
	}
}

func seqOf(e terret.Entry) int64 { return e.Seq }
func posOf(e terret.Entry) int64 { return e.Pos }
