package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
)

const (
	streamEvents   = 20_000
	streamBatch    = 16 // events that a driver reads at once
	crowd          = 1000
	crowdEvents    = 50
	crowdRounds    = 5
	engineDeadline = 2 * time.Minute
)

func engineSection() section {
	return section{
		name:  "Engine",
		intro: "`engine` on a file of `store/sqlite`, with the mock agent: from a driver's Emit to a subscriber, committed in between.",
		run:   benchEngine,
	}
}

func benchEngine(ctx context.Context, dir string) ([]row, error) {
	ctx, cancel := context.WithTimeout(ctx, engineDeadline)
	defer cancel()
	var rows []row
	for _, step := range []func(context.Context, string) ([]row, error){benchStream, benchCrowd} {
		more, err := step(ctx, dir)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// withEngine runs fn with an engine whose agents speak through the given function.
func withEngine(ctx context.Context, path string, d terret.Driver, fn func(*engine.Engine) error) (err error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	e, err := engine.New(ctx, engine.Config{Store: s, Drivers: []terret.Driver{d}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	return fn(e)
}

// speaker is a driver whose agents emit events of tools at work, which are never
// merged, as fast as they are taken.
type speaker struct{ events, batch int }

func (s speaker) Name() string { return "mock" }

func (s speaker) Open(_ context.Context, r terret.OpenRequest) (terret.Agent, error) {
	return &speech{speaker: s, host: r.Host}, nil
}

type speech struct {
	speaker
	host terret.Host
	work sync.WaitGroup
}

func (a *speech) Prompt(_ context.Context, turn string, _ terret.Prompt, _ terret.Settings) error {
	a.work.Go(func() {
		ctx := context.Background()
		for n := 0; n < a.events; n += a.batch {
			events := make([]terret.Event, a.batch)
			for i := range events {
				events[i] = terret.Event{Data: terret.ToolProgress{ToolID: "tool-" + strconv.Itoa(n+i), Text: words[:400], ElapsedMS: int64(n)}}
			}
			if a.host.Emit(ctx, events, nil) != nil {
				return
			}
		}
		_ = a.host.Emit(ctx, []terret.Event{{Turn: turn, Data: terret.TurnComplete{}}}, nil) // an error says that nobody listens
	})
	return nil
}

func (a *speech) Interrupt(context.Context, string) error { return nil }

func (a *speech) Close(context.Context) error {
	a.work.Wait()
	return nil
}

func (a *speech) Capabilities() terret.Capabilities { return terret.Capabilities{} }

// turn prompts a session and reads its stream to the end of the turn.
func turn(ctx context.Context, e *engine.Engine, session string, after int64) (last int64, err error) {
	t, err := e.Prompt(ctx, engine.PromptRequest{Session: session, Prompt: terret.Prompt{Blocks: []terret.Block{terret.Text("go")}}})
	if err != nil {
		return 0, err
	}
	for entry, err := range e.Events(ctx, engine.EventQuery{Session: session, After: after, Follow: true}) {
		if err != nil {
			return 0, err
		}
		last = entry.Seq
		if entry.Kind == terret.KindTurnError {
			return 0, fmt.Errorf("turn %s failed: %s", t.ID, entry.Body)
		}
		if entry.Kind.EndsTurn() {
			return last, nil
		}
	}
	return last, nil
}

// benchStream measures what one event costs on its way from the driver to one
// subscriber, in time of all processors, the garbage collector's included.
func benchStream(ctx context.Context, dir string) ([]row, error) {
	var rows []row
	err := withEngine(ctx, filepath.Join(dir, "stream.db"), speaker{streamEvents, streamBatch}, func(e *engine.Engine) error {
		s, err := e.Create(ctx, terret.Session{Agent: "mock", Cwd: dir})
		if err != nil {
			return err
		}
		cpu, began := cpuTime(), time.Now()
		if _, err := turn(ctx, e, s.ID, 0); err != nil {
			return err
		}
		spent, took := cpuTime()-cpu, time.Since(began)
		rows = append(rows, row{
			"CPU for an event, driver to subscriber, one session",
			fmt.Sprintf("%.1f µs; %.0f events/s", float64(spent.Microseconds())/streamEvents, streamEvents/took.Seconds()), "50 µs",
		})
		return nil
	})
	return rows, err
}

// benchCrowd streams in many sessions at once, again and again, and watches memory.
func benchCrowd(ctx context.Context, dir string) ([]row, error) {
	steps := make([]mock.Step, crowdEvents)
	for i := range steps {
		steps[i] = mock.Step{Event: &mock.RawEvent{Kind: terret.KindToolProgress, Data: terret.JSON(`{"tool_id":"t","elapsed_ms":` + strconv.Itoa(i+1) + `}`)}}
	}
	var rows []row
	err := withEngine(ctx, filepath.Join(dir, "crowd.db"), mock.New(mock.Script{Turns: [][]mock.Step{steps}}), func(e *engine.Engine) error {
		ids, last := make([]string, crowd), make([]int64, crowd)
		for i := range ids {
			s, err := e.Create(ctx, terret.Session{Agent: "mock", Cwd: dir})
			if err != nil {
				return err
			}
			ids[i] = s.ID
		}
		var early uint64
		cpu, began := cpuTime(), time.Now()
		for round := range crowdRounds {
			if err := together(crowd, func(i int) (err error) {
				last[i], err = turn(ctx, e, ids[i], last[i])
				return err
			}); err != nil {
				return err
			}
			if round == 0 {
				early = alive()
			}
		}
		spent, took := cpuTime()-cpu, time.Since(began)
		const total = crowd * crowdEvents * crowdRounds
		rows = append(rows,
			row{
				"1,000 sessions at once, 50 events a turn, each watched",
				fmt.Sprintf("%.0f events/s; %.1f µs CPU an event, turns included", total/took.Seconds(), float64(spent.Microseconds())/total), "",
			},
			row{"memory reachable after the first and the last round of turns", fmt.Sprintf("%.1f MB, %.1f MB", float64(early)/1e6, float64(alive())/1e6), "flat"},
		)
		return nil
	})
	return rows, err
}

// alive is the memory of what is reachable. Of what is merely in use, which depends
// on when the collector ran, there is more.
func alive() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// together runs fn n times at once and returns the first error.
func together(n int, fn func(int) error) error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = fn(i) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
