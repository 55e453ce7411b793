package tui

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// batch is what a stream has brought since the last frame.
type batch struct {
	stream *stream
	events []terret.Event
	bodies []terret.Entry // of the events, if the stream is for the feed
	err    error          // why it ended; the last thing a stream says
	caught bool           // the history is complete
}

// stream reads events in a goroutine of its own, which ends with its context.
type stream struct {
	cancel context.CancelFunc
	out    chan arrival
}

type arrival struct {
	event terret.Event
	entry terret.Entry
	err   error
	mark  bool // the history is complete
}

const (
	frame    = 16 * time.Millisecond
	maxBatch = 10_000
	backlog  = 4096
)

// open starts a stream; the workspace waits for its goroutine when it ends.
func open(ctx context.Context, wait *sync.WaitGroup, read func(ctx context.Context, put func(arrival) bool) error) *stream {
	ctx, cancel := context.WithCancel(ctx)
	s := &stream{cancel: cancel, out: make(chan arrival, backlog)}
	put := func(a arrival) bool {
		select {
		case s.out <- a:
			return true
		case <-ctx.Done():
			return false
		}
	}
	wait.Go(func() {
		defer close(s.out)
		defer cancel()
		err := func() (err error) {
			defer func() {
				if r := recover(); r != nil { // what a server sends must not end the program
					err = fmt.Errorf("the stream could not be read: %v", r)
				}
			}()
			return read(ctx, put)
		}()
		if err == nil {
			err = terret.Errorf(terret.CodeConnectionFailed, "the server has ended the stream")
		}
		if ctx.Err() == nil {
			put(arrival{err: err})
		}
	})
	return s
}

// next waits for what comes next, and gathers what follows within a frame.
func (s *stream) next() tea.Msg {
	first, ok := <-s.out
	if !ok {
		return nil
	}
	b := batch{stream: s}
	if !b.take(first) {
		return b
	}
	timer := time.NewTimer(frame)
	defer timer.Stop()
	for len(b.events) < maxBatch {
		select {
		case a, ok := <-s.out:
			if !ok || !b.take(a) {
				return b
			}
		case <-timer.C:
			return b
		}
	}
	return b
}

// take adds to the batch, and reports whether more may follow.
func (b *batch) take(a arrival) bool {
	switch {
	case a.err != nil:
		b.err = a.err
		return false
	case a.mark:
		b.caught = true
	default:
		b.events = append(b.events, a.event)
		if a.entry.Body != nil {
			b.bodies = append(b.bodies, a.entry)
		}
	}
	return true
}

// follow reads the events of a session after a number: the history without pieces of text,
// then the pieces of what is not complete, then what comes.
func follow(ctx context.Context, wait *sync.WaitGroup, c *client.Client, session string, after int64) *stream {
	return open(ctx, wait, func(ctx context.Context, put func(arrival) bool) error {
		var history []terret.Event
		if after == 0 { // otherwise a broken stream goes on, with the pieces of what is being written
			for entry, err := range c.Events(ctx, client.EventQuery{Session: session, NoDeltas: true}) {
				if err != nil {
					return err
				}
				if ev, err := entry.Decode(); err == nil {
					history = append(history, ev)
				}
			}
		}
		if from, found := unfinished(history); found {
			for len(history) > 0 && history[len(history)-1].Seq > from {
				history = history[:len(history)-1]
			}
		}
		for _, ev := range history {
			if !put(arrival{event: ev}) {
				return nil
			}
			after = ev.Seq
		}
		if !put(arrival{mark: true}) {
			return nil
		}
		return pour(c.Events(ctx, client.EventQuery{Session: session, After: after, Follow: true}), put)
	})
}

func pour(entries iter.Seq2[terret.Entry, error], put func(arrival) bool) error {
	for entry, err := range entries {
		if err != nil {
			return err
		}
		ev, err := entry.Decode()
		if err != nil {
			continue // a kept event that nobody can read is no reason to stop
		}
		if !put(arrival{event: ev}) {
			return nil
		}
	}
	return nil
}

// followAll reads what happens in all sessions from now on, without pieces of text.
func followAll(ctx context.Context, wait *sync.WaitGroup, c *client.Client) *stream {
	return open(ctx, wait, func(ctx context.Context, put func(arrival) bool) error {
		for entry, err := range c.AllEvents(ctx, client.AllQuery{Cursor: client.Now, NoDeltas: true}) {
			if err != nil {
				return err
			}
			ev, err := entry.Decode()
			if err != nil {
				continue
			}
			e := entry.Entry
			if len(e.Body) > maxKeptBody {
				e.Body = e.Body[:maxKeptBody:maxKeptBody]
			}
			if !put(arrival{event: ev, entry: e}) {
				return nil
			}
		}
		return nil
	})
}
