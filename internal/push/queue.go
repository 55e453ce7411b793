package push

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
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

// Topic is something that somebody may have to know: that a session needs an answer, or
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
	// removed. Notes are what there is to say, to whoever it belongs to, of these topics
	// when they are sent.
	Valid func(Subscription) bool
	Notes func(context.Context, Subscription, []Topic) []Note
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

// Run sends what is added until the context ends, and waits for what it has begun.
func (q *Queue) Run(ctx context.Context) {
	q.init()
	defer q.Client.CloseIdleConnections()
	boxes := map[string]*box{}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		case <-timer.C:
		}
		topics, next := q.take(time.Now())
		if err := q.work(ctx, boxes, topics); err != nil && ctx.Err() == nil {
			q.Log.Warn("notifications were not sent", "error", err)
		}
		for _, b := range boxes {
			if !b.due.IsZero() && (next.IsZero() || b.due.Before(next)) {
				next = b.due
			}
		}
		if !next.IsZero() {
			timer.Reset(max(0, time.Until(next)))
		}
	}
}

// work hands topics out to the boxes, and sends what is due.
func (q *Queue) work(ctx context.Context, boxes map[string]*box, topics []Topic) error {
	now := time.Now()
	if len(topics) == 0 && !slices.ContainsFunc(values(boxes), func(b *box) bool { return b.ready(now) }) {
		return nil
	}
	p, err := q.current(ctx)
	if err != nil {
		return err
	}
	q.hand(boxes, p.Subscriptions, topics, now)
	var gone []string
	var mu sync.Mutex // guards gone
	var wait sync.WaitGroup
	places := make(chan struct{}, together)
	for _, b := range boxes {
		if !b.ready(now) {
			continue
		}
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			if q.deliver(ctx, p, b) {
				mu.Lock()
				defer mu.Unlock()
				gone = append(gone, b.to.Endpoint)
			}
		})
	}
	wait.Wait()
	if len(gone) == 0 {
		return nil
	}
	_, err = q.Book.Remove(ctx, func(s Subscription) bool { return slices.Contains(gone, s.Endpoint) })
	return err
}

func values(boxes map[string]*box) (list []*box) {
	for _, b := range boxes {
		list = append(list, b)
	}
	return list
}

func (b *box) ready(now time.Time) bool { return !b.due.IsZero() && !now.Before(b.due) }

// current returns the book without subscriptions that may not be used any more, which it
// removes.
func (q *Queue) current(ctx context.Context) (page, error) {
	p, err := q.Book.read(ctx)
	if err != nil {
		return p, err
	}
	invalid := func(s Subscription) bool { return !q.Valid(s) }
	if !slices.ContainsFunc(p.Subscriptions, invalid) {
		return p, nil
	}
	return q.Book.change(ctx, func(p *page) error {
		p.Subscriptions = slices.DeleteFunc(p.Subscriptions, invalid)
		return nil
	})
}

// hand puts topics into the boxes of all subscriptions, and drops boxes that have none.
func (q *Queue) hand(boxes map[string]*box, subscriptions []Subscription, topics []Topic, now time.Time) {
	known := map[string]bool{}
	for _, s := range subscriptions {
		known[s.Endpoint] = true
		b := boxes[s.Endpoint]
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

// deliver makes one try to send what is in a box. It reports whether the subscription is
// gone.
func (q *Queue) deliver(ctx context.Context, p page, b *box) (gone bool) {
	notes := q.Notes(ctx, b.to, b.topics)
	if len(notes) == 0 {
		b.topics, b.due, b.tries = nil, time.Time{}, 0
		return false
	}
	err := send(ctx, q.Client, p, b.to, notes)
	b.tries++
	answer, refused := errors.AsType[*refusal](err)
	switch wait := cmp.Or(waitOf(answer), firstRetry<<(2*(b.tries-1))); {
	case ctx.Err() != nil:
		return false
	case err == nil:
		b.sent = time.Now()
	case refused && answer.gone():
		q.Log.Info("a browser no longer wants notifications", "device", b.to.Name, "service", b.to.Service())
		return true
	case (!refused || answer.later()) && b.tries < maxTries && wait <= maxWait:
		b.due = time.Now().Add(wait)
		return false
	default:
		q.Log.Warn("a notification was not sent", "device", b.to.Name, "service", b.to.Service(), "tries", b.tries, "error", err)
	}
	b.topics, b.due, b.tries = nil, time.Time{}, 0
	return false
}

func waitOf(r *refusal) time.Duration {
	if r == nil {
		return 0
	}
	return r.wait
}

// ErrBusy says that too many tests are on their way.
var ErrBusy = errors.New("other tests are on their way; try again in a few seconds")

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
	if r, ok := errors.AsType[*refusal](err); ok && r.gone() {
		_, removing := q.Book.Remove(ctx, func(s Subscription) bool { return s.Endpoint == to.Endpoint })
		return errors.Join(err, removing)
	}
	return err
}
