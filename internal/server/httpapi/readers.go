package httpapi

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/terret-dev/terret"
)

const (
	// readersBudget is what all streams together may hold for their readers, large
	// events aside. Each has its share.
	readersBudget = 16 << 20
	leastShare    = 4 << 10
	mostShare     = 64 << 10
	// maxLarge is how many streams may hold an event that is larger than their share.
	maxLarge = 4
	// stuck is how long a reader may take nothing while others need what it has: the
	// place for a large event, or for a stream.
	stuck = time.Second
	// far is how many events before the end a stream is a replay.
	far = 2000
	// crowd is how many streams are so many that each gets little of the kernel's memory, and
	// takes turns with the others when it reads old events.
	crowd = 100
	// crowdBuffer is what the kernel may hold for a stream that begins in a crowd. It would
	// take megabytes for each reader that reads nothing: work that others wait for.
	crowdBuffer = 32 << 10
)

// errLarge says that too many streams hold a large event to send another.
var errLarge = errors.New("too many large events wait to be written")

// readers bounds the memory of all streams together. What does not fit waits in the log,
// and readers that take nothing are cut to make room: they lose nothing, since they can
// go on after the last event that they got.
type readers struct {
	share atomic.Int64  // how much may wait in one stream before whoever sends waits
	large chan struct{} // a token for each stream that holds a large event
	// replays has a place for each stream that reads old events from the log at a time.
	// They leave room for those who work.
	replays chan struct{}

	mu   sync.Mutex
	open map[*stream]struct{}
	// looked is when a stream last looked for readers of large events to cut.
	looked time.Time
}

func newReaders() *readers {
	r := &readers{replays: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), large: make(chan struct{}, maxLarge), open: map[*stream]struct{}{}}
	r.divide()
	return r
}

// divide gives each stream its share, of which it holds four at most. r.mu must be held.
func (r *readers) divide() {
	r.share.Store(min(max(readersBudget/4/int64(max(len(r.open), 1)), leastShare), mostShare))
}

// add counts a stream in, until the returned function is called.
func (r *readers) add(st *stream) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[st] = struct{}{}
	r.divide()
	return func() {
		st.letGo()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, st)
		r.divide()
	}
}

// places is where a stream waits to read, if it has that many events before it: many, or
// some while there are many streams.
func (r *readers) places(events int64) chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if events > far || events > 0 && len(r.open) >= crowd {
		return r.replays
	}
	return nil
}

// crowded reports whether there are many streams.
func (r *readers) crowded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open) >= crowd
}

// page is how many bytes of the log a stream reads at a time.
func (r *readers) page() int { return int(4 * r.share.Load()) }

func (r *readers) all() []*stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.open))
}

// cutLarge cuts readers of large events that have taken nothing for too long. All who
// wait for their place call it, and one of them at a time looks.
func (r *readers) cutLarge() {
	r.mu.Lock()
	now := time.Now()
	early := now.Sub(r.looked) < stuck/4
	if !early {
		r.looked = now
	}
	r.mu.Unlock()
	if early {
		return
	}
	for _, st := range r.all() {
		if _, large := st.stuckSince(); large {
			st.cutIfStuck()
		}
	}
}

// cutOne cuts the reader that has taken nothing for the longest time, if that is too
// long, and reports whether it cut one. Others may be cutting readers at the same time.
func (r *readers) cutOne() bool {
	all := r.all()
	since := make(map[*stream]time.Time, len(all))
	for _, st := range all {
		since[st], _ = st.stuckSince()
	}
	slices.SortFunc(all, func(a, b *stream) int { return since[a].Compare(since[b]) })
	return slices.ContainsFunc(all, (*stream).cutIfStuck)
}

// cutFor cuts the oldest stream of the caller that has the most, if it has two more than
// the caller who needs a place, and reports whether it did.
func (r *readers) cutFor(caller string) bool {
	count, oldest := map[string]int{}, map[string]*stream{}
	for _, st := range r.all() {
		if st.failed() {
			continue
		}
		count[st.caller]++
		if o := oldest[st.caller]; o == nil || st.began.Before(o.began) {
			oldest[st.caller] = st
		}
	}
	most := ""
	for name, n := range count {
		if n > count[most] || n == count[most] && name < most {
			most = name
		}
	}
	if most == caller || count[most] < count[caller]+2 {
		return false
	}
	return oldest[most].cutIf(func(*stream) bool { return true }, "others need the place of one of your %d streams", count[most])
}

// failed reports whether nothing more can be sent.
func (st *stream) failed() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.err != nil
}

// admit says whether there is room for an event of that size: errLarge means not now.
func (st *stream) admit(size int) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if int64(size) <= 2*st.readers.share.Load() {
		return nil
	}
	if !st.large {
		select {
		case st.readers.large <- struct{}{}:
		default:
			return errLarge
		}
	}
	st.large, st.coming = true, true
	return nil
}

// sent takes note that the event that was admitted is among what waits to be written.
func (st *stream) sent() {
	st.mu.Lock()
	st.coming = false
	st.mu.Unlock()
	st.settle()
}

// waitLarge waits until a large event may be sent. Those who hold one and do not read it
// are cut.
func (st *stream) waitLarge(ctx context.Context) error {
	if st.holdsLarge() {
		return nil // admit looks again
	}
	again := time.NewTicker(stuck / 4)
	defer again.Stop()
	for {
		select {
		case st.readers.large <- struct{}{}:
			st.mu.Lock()
			st.large, st.coming = true, true
			st.mu.Unlock()
			return nil
		case <-again.C:
			st.readers.cutLarge()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// holdsLarge reports whether a large event waits to be written.
func (st *stream) holdsLarge() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.large
}

// settle gives the token for a large event back once it is written, or was not sent.
func (st *stream) settle() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.large && !st.coming && st.held <= 2*st.readers.share.Load() {
		st.large = false
		<-st.readers.large
	}
}

// stuckSince is when the current write began, or zero, and whether it is one of a
// large event.
func (st *stream) stuckSince() (since time.Time, large bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.err != nil {
		return time.Time{}, false
	}
	return st.writing, st.large
}

// cutIfStuck cuts the reader if it has taken nothing for too long, and reports whether
// it did.
func (st *stream) cutIfStuck() bool {
	isStuck := func(st *stream) bool { return !st.writing.IsZero() && time.Since(st.writing) >= stuck }
	return st.cutIf(isStuck, "the reader took nothing for %s, and others need its place", stuck)
}

// cutIf cuts the reader if the condition holds, under the lock, and reports whether it did.
func (st *stream) cutIf(holds func(*stream) bool, why string, args ...any) bool {
	st.mu.Lock()
	if st.err != nil || !holds(st) {
		st.mu.Unlock()
		return false
	}
	st.err = terret.Errorf(terret.CodeTimeout, why, args...)
	_ = st.rc.SetWriteDeadline(time.Unix(1, 0)) // the write that does not end ends
	err := st.err
	st.mu.Unlock()
	signal(st.room)
	st.stop(err)
	return true
}

// letGo forgets what waits to be written: nobody writes it any more.
func (st *stream) letGo() {
	st.mu.Lock()
	st.held, st.buf, st.spare, st.coming = 0, nil, nil, false
	st.mu.Unlock()
	st.settle()
}
