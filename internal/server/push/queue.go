package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	maxTopics  = 200              // that wait for one browser; the oldest make room
	maxTries   = 5                // for one message
	maxWait    = time.Hour        // that a service may ask for between two tries
	firstRetry = 15 * time.Second // it is four times as long each time
	together   = 8                // messages that are sent at a time
	maxTests   = 4                // at a time
)

// Topic is something that a person may have to know: that a session needs an answer, or
// that a turn of it has ended.
type Topic struct {
	Session string
	Ended   bool
	Failed  string // why it failed; empty if it did not
	At      time.Time
}

// Queue gathers topics, and sends what is still true of them. Add never waits.
type Queue struct {
	Book   *Book
	Client *http.Client
	// Gather is how long the first topic waits for others, Spacing the time between two
	// messages to one browser.
	Gather, Spacing time.Duration
	// Valid reports whether a subscription may still be sent to; one that may not is
	// removed. Notes are what its owner is told of these topics when they are sent; if
	// that is not known now, it is asked again later.
	Valid func(Subscription) bool
	Notes func(context.Context, Subscription, []Topic) ([]Note, error)
	Log   *slog.Logger

	mu    sync.Mutex
	fresh []Topic
	due   time.Time     // of the fresh ones
	wake  chan struct{} // has one element if the fresh ones have a new due time
	once  sync.Once
	tests chan struct{}
}

// box is what waits for one browser. Only Run uses it.
type box struct {
	to     Subscription
	topics []Topic
	due    time.Time // zero if nothing waits
	sent   time.Time // the last message
	tries  int
	gone   bool // the service says so; it is not asked again
}

func (q *Queue) init() {
	q.once.Do(func() {
		q.wake = make(chan struct{}, 1)
		q.tests = make(chan struct{}, maxTests)
	})
}

// Add has people told of a topic.
func (q *Queue) Add(t Topic) {
	q.init()
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.fresh) == 0 {
		q.due = time.Now().Add(q.Gather)
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
	q.fresh = merge(q.fresh, t)
}

// merge adds topics to a list, in place of what it says about the same already.
func merge(list []Topic, more ...Topic) []Topic {
	for _, t := range more {
		list = slices.DeleteFunc(list, func(o Topic) bool { return o.Session == t.Session && o.Ended == t.Ended })
		list = append(list, t)
	}
	return list[max(0, len(list)-maxTopics):]
}

// take returns the fresh topics that are due, and when to look again.
func (q *Queue) take(now time.Time) (topics []Topic, next time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.fresh) == 0 || now.Before(q.due) {
		if len(q.fresh) > 0 {
			next = q.due
		}
		return nil, next
	}
	topics, q.fresh = q.fresh, nil
	return topics, time.Time{}
}

// putBack returns topics that could not be handed out. What came since takes their place.
func (q *Queue) putBack(topics []Topic) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fresh = merge(topics, q.fresh...)
}

// run is what Run remembers.
type run struct {
	boxes   map[string]*box // by endpoint
	reading trouble         // with the book
	ending  trouble         // with taking subscriptions out of it
}

// Run sends what is added until the context ends, and waits for what it has begun.
func (q *Queue) Run(ctx context.Context) {
	q.init()
	defer q.Client.CloseIdleConnections()
	r := &run{boxes: map[string]*box{}}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		case <-timer.C:
		}
		next := r.reading.until
		if !time.Now().Before(next) {
			next = q.round(ctx, r)
		}
		if !next.IsZero() {
			timer.Reset(max(0, time.Until(next)))
		}
	}
}

// round sends what is due, and returns when to look again; zero means when there is more.
func (q *Queue) round(ctx context.Context, r *run) (next time.Time) {
	topics, next := q.take(time.Now())
	if !q.work(ctx, r, topics) {
		return r.reading.until
	}
	for _, b := range r.boxes {
		if !b.due.IsZero() && (next.IsZero() || b.due.Before(next)) {
			next = b.due
		}
	}
	return next
}

// work hands topics out to the boxes, and sends what is due. It reports whether the book
// could be read; if not, nothing has changed.
func (q *Queue) work(ctx context.Context, r *run, topics []Topic) bool {
	now := time.Now()
	if len(topics) == 0 && !slices.ContainsFunc(values(r.boxes), func(b *box) bool { return b.ready(now) }) {
		return true
	}
	p, err := q.Book.read(ctx)
	if r.reading.note(err) && ctx.Err() == nil {
		q.Log.Warn("notifications wait: who wants them cannot be read", "error", err)
	}
	if err != nil {
		q.putBack(topics)
		return false
	}
	q.hand(r.boxes, p.Subscriptions, topics, now)
	q.tidy(ctx, r, &p)
	var wait sync.WaitGroup
	places := make(chan struct{}, together)
	for _, b := range r.boxes {
		if !b.ready(now) {
			continue
		}
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			q.deliver(ctx, p, b)
		})
	}
	wait.Wait()
	q.tidy(ctx, r, &p)
	return true
}

// tidy removes subscriptions that may not be used any more, and those whose browser is gone.
func (q *Queue) tidy(ctx context.Context, r *run, p *page) {
	ended := func(s Subscription) bool { return r.boxes[s.Endpoint].isGone() || !q.Valid(s) }
	if time.Now().Before(r.ending.until) || !slices.ContainsFunc(p.Subscriptions, ended) {
		return
	}
	_, err := q.Book.Remove(ctx, ended)
	if r.ending.note(err) && ctx.Err() == nil {
		q.Log.Warn("subscriptions that have ended cannot be removed", "error", err)
	}
	if err == nil {
		p.Subscriptions = slices.DeleteFunc(p.Subscriptions, ended)
		maps.DeleteFunc(r.boxes, func(_ string, b *box) bool { return b.gone })
	}
}

func values(boxes map[string]*box) (list []*box) {
	for _, b := range boxes {
		list = append(list, b)
	}
	return list
}

func (b *box) ready(now time.Time) bool { return !b.due.IsZero() && !now.Before(b.due) }

func (b *box) isGone() bool { return b != nil && b.gone }

func (b *box) clear() { b.topics, b.due, b.tries = nil, time.Time{}, 0 }

// hand puts topics into the boxes of valid subscriptions, and drops boxes that have none.
// Those whose browser is gone stay until their subscription does.
func (q *Queue) hand(boxes map[string]*box, subscriptions []Subscription, topics []Topic, now time.Time) {
	known := map[string]bool{}
	for _, s := range subscriptions {
		b := boxes[s.Endpoint]
		if !b.isGone() && !q.Valid(s) {
			continue
		}
		known[s.Endpoint] = true
		if b.isGone() {
			continue
		}
		if b == nil {
			b = &box{}
			boxes[s.Endpoint] = b
		}
		b.to = s
		if len(topics) == 0 {
			continue
		}
		b.topics = merge(b.topics, topics...)
		if b.due.IsZero() {
			b.due = now
			if soonest := b.sent.Add(q.Spacing); now.Before(soonest) {
				b.due = soonest
			}
		}
	}
	for endpoint := range boxes {
		if !known[endpoint] {
			delete(boxes, endpoint)
		}
	}
}

// deliver makes one try to send what is in a box.
func (q *Queue) deliver(ctx context.Context, p page, b *box) {
	notes, err := q.Notes(ctx, b.to, b.topics)
	if err == nil && len(notes) == 0 {
		b.clear()
		return
	}
	if err == nil {
		err = send(ctx, q.Client, p, b.to, notes)
	}
	b.tries++
	answer, refused := errors.AsType[*refusal](err)
	switch wait := cmp.Or(waitOf(answer), firstRetry<<(2*(b.tries-1))); {
	case ctx.Err() != nil:
		return
	case err == nil:
		b.sent = time.Now()
	case refused && answer.gone():
		b.gone = true
		q.Log.Info("a browser no longer wants notifications", "device", b.to.Name, "service", b.to.Service())
	case mayPass(err) && b.tries < maxTries && wait <= maxWait:
		b.due = time.Now().Add(wait)
		return
	default:
		q.Log.Warn("a notification was not sent", "device", b.to.Name, "service", b.to.Service(), "tries", b.tries, "error", err)
	}
	b.clear()
}

// mayPass reports whether a failed try may succeed later.
func mayPass(err error) bool {
	answer, refused := errors.AsType[*refusal](err)
	return (!refused || answer.later()) && !errors.Is(err, errTooLong)
}

func waitOf(r *refusal) time.Duration {
	if r == nil {
		return 0
	}
	return r.wait
}

// ErrBusy says that too many tests are on their way.
var ErrBusy = errors.New("other tests are on their way; try again in a few seconds")

// errUnreached is all that a caller learns of a service that was not reached. Why not would
// tell where names lead in the server's network; the log has it.
func errUnreached(to Subscription) error {
	return fmt.Errorf("the push service %s could not be reached; the server's log says why", to.Service())
}

// Test sends a note to a browser, at once and once.
func (q *Queue) Test(ctx context.Context, to Subscription, n Note) error {
	q.init()
	select {
	case q.tests <- struct{}{}:
		defer func() { <-q.tests }()
	default:
		return ErrBusy
	}
	p, err := q.Book.read(ctx)
	if err != nil {
		return err
	}
	err = send(ctx, q.Client, p, to, []Note{n})
	r, refused := errors.AsType[*refusal](err)
	switch {
	case err == nil || errors.Is(err, errTooLong):
		return err
	case !refused:
		q.Log.Warn("a test notification was not sent", "device", to.Name, "error", err)
		return errUnreached(to)
	case r.gone():
		_, removing := q.Book.Remove(ctx, func(s Subscription) bool { return s.Endpoint == to.Endpoint })
		return errors.Join(err, removing)
	}
	return err
}

// Prune removes subscriptions that may not be used any more.
func (q *Queue) Prune(ctx context.Context) error {
	invalid := func(s Subscription) bool { return !q.Valid(s) }
	p, err := q.Book.read(ctx)
	if err != nil || !slices.ContainsFunc(p.Subscriptions, invalid) {
		return err
	}
	_, err = q.Book.Remove(ctx, invalid)
	return err
}

// Put adds a subscription to the book, or renews it. If the book is full, those that may not
// be used any more make room.
func (q *Queue) Put(ctx context.Context, s Subscription) error {
	full, err := q.Book.put(ctx, s)
	if !full {
		return err
	}
	if err := q.Prune(ctx); err != nil {
		return err
	}
	return q.Book.Put(ctx, s)
}
