package engine_test

import (
	"cmp"
	"context"
	"sync"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
)

// faults is a store that fails as it is told to.
type faults struct {
	Store
	mu     sync.Mutex
	rules  error
	queue  error                         // of Pending
	commit func([]terret.Batch) error    // about the transaction
	wrote  func([]terret.Batch) error    // the same, after it was committed
	batch  func(terret.Batch) error      // about one session
	before func(ctx context.Context)     // each commit
	answer func(d terret.Decision) error // instead of Answer
	put    func(rule terret.Rule)        // before PutRule
	turns  func()                        // after Turn or Turns has read
	looked chan struct{}                 // each time somebody asks for answers; buffered, so that none is missed
	reads  map[string]int                // of the queue of a session
	once   map[string]error              // of the next Pending of a session, or of all
	unread map[string]error              // of the next Turn with that id
	leave  func()                        // before Release
	pended func()                        // after Pending of a session has read
	drop   func()                        // after Drop
	inbox  chan struct{}                 // the same, when what is pending of all was read
}

func faultyFixture(t *testing.T, d terret.Driver, change ...func(*engine.Config)) (*fixture, *faults) {
	t.Helper()
	s := &faults{}
	return openFixture(t, sqlite.Memory, d, append(change, s.in)...), s
}

// in puts the faults between an engine and its store.
func (s *faults) in(c *engine.Config) {
	s.Store = c.Store.(Store)
	c.Store = s
}

func (s *faults) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *faults) setRules(err error) { s.set(func() { s.rules = err }) }

func (s *faults) failBatches(fail func(terret.Batch) error) { s.set(func() { s.batch = fail }) }

func (s *faults) ListRules(ctx context.Context, session string) ([]terret.Rule, error) {
	s.mu.Lock()
	err := s.rules
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.Store.ListRules(ctx, session)
}

func (s *faults) Pending(ctx context.Context, session string) ([]terret.InboxItem, error) {
	s.mu.Lock()
	err, inbox := cmp.Or(s.queue, s.once[session]), s.inbox
	delete(s.once, session)
	if s.reads == nil {
		s.reads = map[string]int{}
	}
	s.reads[session]++
	var pended func()
	if session != "" {
		pended = s.pended
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	items, err := s.Store.Pending(ctx, session)
	if pended != nil {
		pended()
	}
	if inbox != nil && session == "" {
		select {
		case inbox <- struct{}{}:
		default:
		}
	}
	return items, err
}

func (s *faults) Drop(ctx context.Context, id string) error {
	err := s.Store.Drop(ctx, id)
	s.mu.Lock()
	drop := s.drop
	s.mu.Unlock()
	if drop != nil {
		drop()
	}
	return err
}

func (s *faults) PutRule(ctx context.Context, r terret.Rule) error {
	s.mu.Lock()
	put := s.put
	s.mu.Unlock()
	if put != nil {
		put(r)
	}
	return s.Store.PutRule(ctx, r)
}

func (s *faults) Turns(ctx context.Context, session string) ([]terret.Turn, error) {
	out, err := s.Store.Turns(ctx, session)
	s.read()
	return out, err
}

func (s *faults) Turn(ctx context.Context, session, id string) (terret.Turn, error) {
	s.mu.Lock()
	fault := s.unread[id]
	delete(s.unread, id)
	s.mu.Unlock()
	if fault != nil {
		return terret.Turn{}, fault
	}
	out, err := s.Store.Turn(ctx, session, id)
	s.read()
	return out, err
}

func (s *faults) read() {
	s.mu.Lock()
	turns := s.turns
	s.mu.Unlock()
	if turns != nil {
		turns()
	}
}

func (s *faults) Answered(ctx context.Context) ([]terret.Request, error) {
	s.mu.Lock()
	looked := s.looked
	s.mu.Unlock()
	if looked != nil {
		select {
		case looked <- struct{}{}:
		default:
		}
	}
	return s.Store.Answered(ctx)
}

func (s *faults) Answer(ctx context.Context, d terret.Decision) error {
	s.mu.Lock()
	answer := s.answer
	s.mu.Unlock()
	if answer != nil {
		if err := answer(d); err != nil {
			return err
		}
	}
	return s.Store.Answer(ctx, d)
}

func (s *faults) Commit(ctx context.Context, batches []terret.Batch) ([]terret.Result, error) {
	s.mu.Lock()
	commit, wrote, batch, before := s.commit, s.wrote, s.batch, s.before
	s.mu.Unlock()
	if before != nil {
		before(ctx)
	}
	if commit != nil {
		if err := commit(batches); err != nil {
			return nil, err
		}
	}
	if batch == nil {
		results, err := s.Store.Commit(ctx, batches)
		if err == nil && wrote != nil {
			err = wrote(batches)
		}
		return results, err
	}
	results := make([]terret.Result, len(batches))
	var good []terret.Batch
	var at []int
	for i, b := range batches {
		if results[i].Err = batch(b); results[i].Err == nil {
			good, at = append(good, b), append(at, i)
		}
	}
	done, err := s.Store.Commit(ctx, good)
	if err != nil {
		return nil, err
	}
	for i, r := range done {
		results[at[i]] = r
	}
	return results, nil
}

func (s *faults) Release(ctx context.Context, session string, epoch int64) error {
	s.mu.Lock()
	leave := s.leave
	s.mu.Unlock()
	if leave != nil {
		leave()
	}
	return s.Store.Release(ctx, session, epoch)
}
