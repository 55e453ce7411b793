package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/tui/draft"
)

// board shows what several agents do at the same time: on a terminal a line for each,
// which is drawn anew, and elsewhere a line for each thing that one of them begins.
type board struct {
	out  io.Writer
	live bool // out supports cursor movement
	asks bool // requests wait for people; otherwise they are answered at once
	now  func() time.Time

	rows  []*boardRow
	drawn bool
}

type boardRow struct {
	name, session string
	doing         string
	since         time.Time
	over          bool
}

func newBoard(out io.Writer, live, asks bool) *board {
	return &board{out: out, live: live, asks: asks, now: time.Now}
}

// add adds an agent that works in that session.
func (b *board) add(name, session string) {
	b.rows = append(b.rows, &boardRow{name: name, session: session, doing: "waiting for its folder", since: b.now()})
}

// watch shows what the agents do until stop is called, which waits. The last lines stay.
func (b *board) watch(ctx context.Context, e *engine.Engine) (stop func()) {
	if len(b.rows) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var ids []string
	for _, r := range b.rows {
		ids = append(ids, r.session)
	}
	events := make(chan terret.Event)
	var work sync.WaitGroup
	work.Go(func() {
		for entry, err := range e.AllEvents(ctx, engine.AllQuery{Sessions: ids, Follow: true}) {
			if err != nil {
				return // it is only for show; who waits for the agents says what is wrong
			}
			ev, err := entry.Decode()
			if err != nil {
				continue
			}
			select {
			case events <- ev:
			case <-ctx.Done():
				return
			}
		}
	})
	work.Go(func() {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		b.draw()
		for {
			select {
			case ev := <-events:
				b.take(ev)
			case <-t.C:
				b.draw()
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// take takes in an event.
func (b *board) take(ev terret.Event) {
	doing, over := b.activity(ev)
	for _, r := range b.rows {
		if r.session != ev.Session || doing == "" || doing == r.doing || r.over {
			continue
		}
		r.doing, r.since, r.over = doing, b.now(), over
		if b.live {
			b.draw()
		} else {
			fmt.Fprintf(b.out, "%s: %s\n", r.name, fit(doing, 120))
		}
	}
}

// activity is what an agent does from that event on, or empty if that tells nothing, and
// whether it is done.
func (b *board) activity(ev terret.Event) (doing string, over bool) {
	switch d := ev.Data.(type) {
	case terret.SessionStateChange:
		if d.State == terret.SessionStarting {
			return "starting", false
		}
	case terret.MessageDelta:
		return "writing", false
	case terret.ReasoningDelta:
		return "thinking", false
	case terret.ToolPre:
		if ev.Visibility == terret.VisibleUI {
			return toolTitle(d), false
		}
	case terret.PermissionRequest, terret.QuestionRequest, terret.PlanRequest:
		if b.asks {
			return "waiting for an answer; `terret pending` shows it", false
		}
	case terret.TurnComplete:
		return "done", true
	case terret.TurnError:
		return oneLine("failed: " + d.Error.Message), true
	}
	return "", false
}

// draw draws all lines over the last ones.
func (b *board) draw() {
	if !b.live {
		return
	}
	var text strings.Builder
	if b.drawn {
		fmt.Fprintf(&text, "\x1b[%dA", len(b.rows))
	}
	columns, _ := size(b.out) // a line that wraps could not be drawn over
	width := 0
	for _, r := range b.rows {
		width = max(width, draft.Columns(printable(r.name)))
	}
	width = min(width, columns/3)
	for _, r := range b.rows {
		took := ""
		if !r.over {
			took = elapsed(b.now().Sub(r.since).Truncate(time.Second))
		}
		name := fit(printable(r.name), width)
		name += strings.Repeat(" ", width-draft.Columns(name))
		doing := fit(oneLine(r.doing), min(60, columns-width-len(took)-4))
		fmt.Fprintf(&text, "\r\x1b[K%s%s%s  %s %s%s%s\n", bold, name, reset, doing, dim, took, reset)
	}
	b.drawn = true
	fmt.Fprint(b.out, text.String())
}
