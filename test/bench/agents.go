package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/all"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/test/agenttest"
	"github.com/terret-dev/terret/store/sqlite"
)

func agentsSection() section {
	return section{
		name: "Other agents",
		intro: "The real programs, with a scripted model on loopback: a warm turn through Terret, and the same program driven by hand over the same protocol, " +
			"in alternation, with a rest after each turn, in which some programs are still at work. A turn may take 10 % or 5 ms longer, whichever is more. " +
			"From the pool means that the agent was started before the session. Times are medians.",
		run: benchAgents,
	}
}

const (
	agentTurns = 40
	agentRest  = 500 * time.Millisecond
)

func benchAgents(ctx context.Context, dir string) ([]row, error) {
	model, err := startModel(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer model.close()
	var rows []row
	for _, a := range agenttest.All() {
		start := map[string]byHand{"codex": codexByHand, "opencode": opencodeByHand}[a.Name]
		if start == nil && len(a.ACP) == 0 && !strings.HasSuffix(a.Name, "-acp") || a.Name == "opencode-anthropic" {
			continue
		}
		if start == nil {
			start = acpByHand(a.ACP)
		}
		// Each has a home of its own: some programs look at what others write there.
		place, err := placeFor(a, filepath.Join(dir, a.Name), model.url)
		if errors.Is(err, fs.ErrNotExist) {
			rows = append(rows, row{a.Name, "not installed: run `make conformance` first", ""})
			continue
		}
		if err != nil {
			return nil, err
		}
		other, err := placeFor(a, filepath.Join(dir, a.Name+"-by-hand"), model.url)
		if err != nil {
			return nil, err
		}
		hand, err := start(ctx, other)
		if err != nil {
			return nil, fmt.Errorf("%s by hand: %w", a.Name, err)
		}
		r, err := benchAgent(ctx, strings.Replace(a.Name, "claude-agent-acp", "claude-acp", 1), place, hand)
		hand.close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func placeFor(a agenttest.Agent, home, url string) (agenttest.Place, error) {
	work := filepath.Join(home, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return agenttest.Place{}, err
	}
	return a.At(home, work, strings.TrimSpace(url))
}

// benchAgent compares turns through the engine with turns by hand.
func benchAgent(ctx context.Context, name string, place agenttest.Place, hand *manual) (r row, err error) {
	store, err := sqlite.Open(ctx, filepath.Join(place.Home, "terret.db"), sqlite.Options{})
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	drivers, err := driversOf(name, place)
	if err != nil {
		return row{}, err
	}
	e, err := engine.New(ctx, engine.Config{Store: store, Drivers: drivers, Env: place.Env, Home: filepath.Join(place.Home, "terret")})
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	s, err := e.Create(ctx, terret.Session{Agent: name, Cwd: place.Dir})
	if err != nil {
		return row{}, err
	}
	view := watch(ctx, e, s.ID)
	defer view.stop()
	first, err := view.turn(ctx)
	if err != nil {
		return row{}, err
	}
	var own, direct []took
	for i := range agentTurns + 2 {
		through := func() error {
			before := cpuTime()
			t, err := view.turn(ctx)
			t.cpu = cpuTime() - before
			own = append(own, t)
			return err
		}
		byHand := func() error {
			began := time.Now()
			err := hand.turn(ctx)
			direct = append(direct, took{end: time.Since(began)})
			return err
		}
		turns := []func() error{through, byHand}
		if i%2 == 1 {
			slices.Reverse(turns)
		}
		for _, turn := range turns {
			if err := turn(); err != nil {
				return row{}, err
			}
			time.Sleep(agentRest)
		}
	}
	own, direct = own[2:], direct[2:] // the first ones are slower
	through, bare := medianOf(own, endOf), medianOf(direct, endOf)
	waited, err := benchPooled(ctx, name, place)
	if err != nil {
		return row{}, fmt.Errorf("from the pool: %w", err)
	}
	pooled := "cannot wait in the pool"
	if waited > 0 {
		pooled = fmt.Sprintf("from the pool %.0f ms, %.1f times that of a warm turn", ms(waited), ms(waited)/ms(medianOf(own, textOf)))
	}
	return row{
		name, fmt.Sprintf("%.1f ms; by hand %.1f ms: added %.1f ms; %.1f ms CPU of Terret; first text of a new session %.0f ms, %s",
			ms(through), ms(bare), ms(through-bare), ms(meanCPU(own)), ms(first.text), pooled),
		fmt.Sprintf("added %.1f ms", max(5, ms(bare)/10)),
	}, nil
}

func driversOf(name string, place agenttest.Place) ([]terret.Driver, error) {
	return all.Drivers(all.Config{Env: place.Env, Agents: map[string]all.Agent{name: {Path: place.Program, Env: []string{"FAKE_KEY"}}}})
}

// pooledSessions is how many sessions are begun with an agent of the pool.
const pooledSessions = 7

// benchPooled is how long the first text of a new session takes whose agent was started
// beforehand, or 0 if the agent cannot be.
func benchPooled(ctx context.Context, name string, place agenttest.Place) (text time.Duration, err error) {
	drivers, err := driversOf(name, place) // others, which share no process with those before
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(drivers, func(d terret.Driver) bool { return d.Name() == name })
	own, ok := drivers[i].(terret.Prewarmer)
	if !ok {
		return 0, nil
	}
	w := &warmer{Driver: drivers[i], warm: own, ready: make(chan struct{}, pooledSessions+1)}
	store, err := sqlite.Open(ctx, filepath.Join(place.Home, "pooled.db"), sqlite.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	e, err := engine.New(ctx, engine.Config{
		Store: store, Drivers: []terret.Driver{w}, Env: place.Env, Home: filepath.Join(place.Home, "pooled"), Pool: engine.Pool{Size: 1},
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := e.Prewarm(ctx, terret.Session{Agent: name, Cwd: place.Dir}); err != nil {
		return 0, err
	}
	var all []took
	for range pooledSessions {
		select {
		case <-w.ready: // the pool starts the next one by itself
		case <-ctx.Done():
			return 0, fmt.Errorf("no agent was started: %w", ctx.Err())
		}
		time.Sleep(agentRest)
		t, err := firstTurn(ctx, e, terret.Session{Agent: name, Cwd: place.Dir})
		if err != nil {
			return 0, err
		}
		all = append(all, t)
	}
	return medianOf(all, textOf), nil
}

// firstTurn runs a turn in a new session, which it closes then.
func firstTurn(ctx context.Context, e *engine.Engine, s terret.Session) (took, error) {
	s, err := e.Create(ctx, s)
	if err != nil {
		return took{}, err
	}
	view := watch(ctx, e, s.ID)
	defer view.stop()
	t, err := view.turn(ctx)
	return t, errors.Join(err, e.CloseSession(ctx, s.ID, "bench"))
}

// warmer is a driver that says when it has started an agent beforehand.
type warmer struct {
	terret.Driver
	warm  terret.Prewarmer
	ready chan struct{}
}

// WarmKey implements terret.Prewarmer.
func (w *warmer) WarmKey(r terret.OpenRequest) string { return w.warm.WarmKey(r) }

// Prewarm implements terret.Prewarmer.
func (w *warmer) Prewarm(ctx context.Context, r terret.OpenRequest) (terret.Warm, error) {
	got, err := w.warm.Prewarm(ctx, r)
	if err == nil {
		w.ready <- struct{}{}
	}
	return got, err
}

// Shutdown implements terret.Shutdowner.
func (w *warmer) Shutdown(ctx context.Context) error {
	if s, ok := w.Driver.(terret.Shutdowner); ok {
		return s.Shutdown(ctx)
	}
	return nil
}
