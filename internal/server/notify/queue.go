package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/files"
)

const (
	maxWaiting = 1000 // the oldest make room
	maxLost    = 50   // that are remembered
	firstRetry = 15 * time.Second
	lastRetry  = time.Hour      // it is twice as long each time, up to this
	patience   = 24 * time.Hour // then a delivery is given up
	unreadable = 30 * time.Second
	queueFile  = "notify-queue.json"
)

// Occurrence is something that people may have to know.
type Occurrence struct {
	Event   Event       `json:"event" enum:"needs,done,failed,budget,test"`
	Session string      `json:"session,omitempty"`
	Turn    string      `json:"turn,omitempty"`
	Request string      `json:"request,omitempty"`
	At      terret.Time `json:"at"`
	Failure string      `json:"failure,omitempty" doc:"Why the turn failed."`
}

// Delivery is one occurrence that one channel is told.
type Delivery struct {
	ID      string `json:"id"`
	Channel string `json:"channel"`
	Occurrence
	Begun terret.Time `json:"begun" doc:"When it could first be sent."`
	Due   terret.Time `json:"due" doc:"When it is tried next."`
	Tries int         `json:"tries"`
	Error string      `json:"error,omitempty" doc:"Why the last try failed."`
}

// State is what a queue keeps on disk.
type State struct {
	Pos     int64      `json:"pos"`     // what came up to here in the log is in it
	Dropped int        `json:"dropped"` // to make room
	Waiting []Delivery `json:"waiting"`
	Lost    []Delivery `json:"lost"` // that were given up, the newest last
}

// Read returns the state of the queue in a folder.
func Read(home string) (s State, err error) {
	raw, err := os.ReadFile(filepath.Join(home, queueFile))
	if errors.Is(err, fs.ErrNotExist) || home == "" {
		return State{}, nil
	}
	if err != nil {
		return State{}, err
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return State{}, terret.Errorf(terret.CodeInternal, "%s, which keeps notifications to be sent, is damaged: %w; remove it", queueFile, err)
	}
	return s, nil
}

// Show returns what people may see: the channels without their secrets, and the queue in the
// book's folder without what waits for channels that are not told any more.
func (b *Book) Show(ctx context.Context) (p Page, s State, err error) {
	if p, err = b.Read(ctx); err != nil {
		return Page{}, State{}, err
	}
	if s, err = Read(b.Home); err != nil {
		return Page{}, State{}, err
	}
	s.Waiting = slices.DeleteFunc(s.Waiting, func(d Delivery) bool { _, ok := p.Channel(d.Channel); return !ok })
	p.Key = nil
	for i, c := range p.Channels {
		p.Channels[i] = c.Shown()
	}
	return p, s, nil
}

// Queue keeps deliveries until they have succeeded, and sends them. Of the processes with one
// data folder one at a time may use it.
type Queue struct {
	Book    *Book
	Clients Clients
	Home    string // empty: the queue is in memory only
	// Gather is how long an occurrence waits: what is over by then is not told.
	Gather time.Duration
	// Message is what a channel is told of a delivery now; false if there is nothing to tell
	// any more.
	Message func(context.Context, Page, Channel, Delivery) (Message, bool, error)
	Log     *slog.Logger

	mu    sync.Mutex
	state State
	busy  map[string]bool // channels that are being sent to
	wake  chan struct{}   // has one element if there is something new to do
}

// Open reads what an earlier process left.
func (q *Queue) Open() (err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy, q.wake = map[string]bool{}, make(chan struct{}, 1)
	q.state, err = Read(q.Home)
	return err
}

// From returns the position in the log after which channels were not told yet; false if there
// is no channel.
func (q *Queue) From(ctx context.Context) (pos int64, any bool, err error) {
	p, err := q.Book.Read(ctx)
	if err != nil {
		return 0, false, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range p.Enabled() {
		if after := max(q.state.Pos, p.Since[c.ID]); !any || after < pos {
			pos, any = after, true
		}
	}
	return pos, any, nil
}

// Add has channels told of what is at a position in the log. When it has returned nil, a
// restart does not lose it.
func (q *Queue) Add(ctx context.Context, pos int64, o Occurrence) error {
	p, err := q.Book.Read(ctx)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if pos <= q.state.Pos {
		return nil
	}
	due := terret.TimeOf(time.Now().Add(q.Gather))
	before := q.state
	q.state.Pos, q.state.Waiting = pos, slices.Clone(q.state.Waiting)
	for _, c := range p.Enabled() {
		if c.wants(o.Event) && pos > p.Since[c.ID] {
			q.state.Waiting = append(q.state.Waiting, Delivery{ID: terret.NewID(""), Channel: c.ID, Occurrence: o, Begun: due, Due: due})
		}
	}
	if more := len(q.state.Waiting) - maxWaiting; more > 0 {
		q.state.Waiting = slices.Delete(q.state.Waiting, 0, more)
		q.state.Dropped += more
		q.Log.Warn("too many notifications wait; the oldest are dropped", "dropped", more)
	}
	if err := q.save(); err != nil {
		q.state = before
		return err
	}
	q.stir()
	return nil
}

// save writes the state. The caller has the lock.
func (q *Queue) save() error {
	if q.Home == "" {
		return nil
	}
	raw, err := json.Marshal(q.state)
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(q.Home, queueFile), raw)
}

func (q *Queue) stir() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run sends what waits until the context ends, and waits for what it has begun.
func (q *Queue) Run(ctx context.Context) {
	var sending sync.WaitGroup
	defer q.Clients.Close()
	defer sending.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		case <-timer.C:
		}
		if next := q.round(ctx, &sending); !next.IsZero() {
			timer.Reset(max(0, time.Until(next)))
		}
	}
}

// round begins to send to each channel for which something is due, and returns when to look
// again; zero means when there is more.
func (q *Queue) round(ctx context.Context, sending *sync.WaitGroup) (next time.Time) {
	p, err := q.Book.Read(ctx)
	if err != nil {
		if ctx.Err() == nil {
			q.Log.Warn("notifications wait: the channels cannot be read", "error", err)
		}
		return time.Now().Add(unreadable)
	}
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	gone := func(d Delivery) bool { _, ok := p.Channel(d.Channel); return !ok }
	if slices.ContainsFunc(q.state.Waiting, gone) {
		q.state.Waiting = slices.DeleteFunc(q.state.Waiting, gone)
		q.note(q.save())
	}
	due := map[string][]Delivery{}
	for _, d := range q.state.Waiting {
		switch {
		case q.busy[d.Channel]: // which stirs when it is done
		case !now.Before(d.Due.Time):
			due[d.Channel] = append(due[d.Channel], d)
		case next.IsZero() || d.Due.Before(next):
			next = d.Due.Time
		}
	}
	for id, list := range due {
		c, _ := p.Channel(id)
		q.busy[id] = true
		sending.Go(func() {
			q.deliver(ctx, p, c, list)
			q.mu.Lock()
			delete(q.busy, id)
			q.mu.Unlock()
			q.stir()
		})
	}
	return next
}

func (q *Queue) note(err error) {
	if err != nil {
		q.Log.Error("cannot store which notifications were sent; some may be sent again", "error", err)
	}
}

// deliver sends to one channel what is due, until a try fails.
func (q *Queue) deliver(ctx context.Context, p Page, c Channel, list []Delivery) {
	for _, d := range list {
		if end := c.Quiet.until(time.Now()); !end.IsZero() {
			q.wait(c.ID, end)
			return
		}
		m, tell, err := q.Message(ctx, p, c, d)
		if err == nil && tell {
			err = q.Clients.send(ctx, c, d, m)
		}
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			q.end(d, false)
			continue
		}
		d.Tries++
		d.Error = err.Error()
		if !mayPass(err) || time.Since(d.Begun.Time) >= patience {
			q.Log.Warn("a notification was not sent", "channel", c.ID, "tries", d.Tries, "error", err)
			q.end(d, true)
			continue
		}
		pause := lastRetry
		if d.Tries < 10 {
			pause = min(firstRetry<<(d.Tries-1), lastRetry)
		}
		d.Due = terret.TimeOf(time.Now().Add(pause))
		q.again(d)
		return
	}
}

// end takes a delivery out of the queue.
func (q *Queue) end(d Delivery, lost bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.state.Waiting = slices.DeleteFunc(q.state.Waiting, func(o Delivery) bool { return o.ID == d.ID })
	if lost {
		q.state.Lost = append(q.state.Lost, d)
		q.state.Lost = slices.Delete(q.state.Lost, 0, max(0, len(q.state.Lost)-maxLost))
	}
	q.note(q.save())
}

// again puts a delivery off that failed, and those that wait for the same channel.
func (q *Queue) again(d Delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, o := range q.state.Waiting {
		switch {
		case o.ID == d.ID:
			q.state.Waiting[i] = d
		case o.Channel == d.Channel && o.Due.Before(d.Due.Time):
			q.state.Waiting[i].Due = d.Due
		}
	}
	q.note(q.save())
}

// wait puts off what a channel is told until its quiet hours end.
func (q *Queue) wait(channel string, end time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.state.Waiting {
		d := &q.state.Waiting[i]
		if d.Channel != channel || !d.Due.Before(end) {
			continue
		}
		d.Due = terret.TimeOf(end)
		if d.Tries == 0 {
			d.Begun = d.Due
		}
	}
	q.note(q.save())
}

// ErrNoChannel says that a channel is not there, or is disabled.
var ErrNoChannel = terret.Errorf(terret.CodeNotFound, "there is no such channel that is enabled; GET /v1/notify lists them")

// Test sends a message to a channel, at once and once. It is safe for concurrent use, and needs
// no Open.
func (q *Queue) Test(ctx context.Context, id string, m Message) error {
	p, err := q.Book.Read(ctx)
	if err != nil {
		return err
	}
	c, ok := p.Channel(id)
	if !ok {
		return ErrNoChannel
	}
	d := Delivery{ID: terret.NewID(""), Channel: id, Occurrence: Occurrence{Event: Test, At: terret.Now()}}
	if err := q.Clients.send(ctx, c, d, m); err != nil {
		return terret.Errorf(terret.CodeConnectionFailed, "the notification was not sent: %w", err)
	}
	return nil
}
