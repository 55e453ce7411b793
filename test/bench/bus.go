package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
	"github.com/terret-dev/terret/work/team"
)

const (
	busAgents   = 100
	busEach     = 100 // messages that each agent gets
	busPerson   = "ann"
	busDeadline = 5 * time.Minute
)

func busSection() section {
	return section{
		name:  "Bus",
		intro: "`team` on a file of `store/sqlite`: 100 mock agents, each of which answers 100 messages by writing to the next agent. A message is a turn of its recipient's session, and its receipts are committed.",
		run:   benchBus,
	}
}

func busName(i int) string { return fmt.Sprintf("a%02d", i%busAgents) }

// busDriver makes agents that write to the next one, and to the person at last.
func busDriver() terret.Driver {
	next := map[string]string{}
	for i := range busAgents {
		next[busName(i)] = busName(i + 1)
	}
	return mock.NewFunc("mock", func(s terret.Session) mock.Script {
		var out mock.Script
		for range busEach - 1 {
			out.Turns = append(out.Turns, []mock.Step{{Text: "@" + next[s.Title] + " Your turn."}})
		}
		out.Turns = append(out.Turns, []mock.Step{{Text: "@" + busPerson + " Done."}})
		return out
	})
}

func benchBus(ctx context.Context, dir string) (rows []row, err error) {
	ctx, cancel := context.WithTimeout(ctx, busDeadline)
	defer cancel()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "bus.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	drivers := []terret.Driver{busDriver()}
	e, err := engine.New(ctx, engine.Config{Store: s, Drivers: drivers})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	host := team.Host{Engine: e, Store: s}
	r, err := team.Open(ctx, team.Options{Host: host, Providers: team.FromDrivers(host, drivers), Limits: team.Limits{Hops: -1, PerMinute: -1}})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if _, err := r.Spawn(ctx, "bench", team.Config{Name: busPerson, Type: team.Person}); err != nil {
		return nil, err
	}
	for i := range busAgents {
		if _, err := r.Spawn(ctx, "bench", team.Config{Name: busName(i), Type: "mock", Cwd: dir}.Lasting()); err != nil {
			return nil, err
		}
	}
	took, err := busTalk(ctx, r)
	if err != nil {
		return nil, err
	}
	sent, lost, err := busCount(context.WithoutCancel(ctx), r)
	if err != nil {
		return nil, err
	}
	return []row{
		{"messages in a minute", fmt.Sprintf("%.0f (%d in %.1f s)", float64(sent)/took.Minutes(), sent, took.Seconds()), "10,000"},
		{"of them lost, or not answered once", fmt.Sprint(lost), "0"},
	}, nil
}

// busTalk runs the team until all agents have told the person that they are done.
func busTalk(ctx context.Context, r *team.Registry) (took time.Duration, err error) {
	running, stop := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- r.Run(running) }()
	defer func() {
		stop()
		if e := <-ran; e != nil && !errors.Is(e, context.Canceled) {
			err = errors.Join(err, e)
		}
	}()
	began := time.Now()
	for i := range busAgents {
		if _, err := r.Bus.Send(ctx, team.NewMessage("bench", "Begin.", busName(i))); err != nil {
			return 0, err
		}
	}
	done := 0
	for m, err := range r.Bus.History(ctx, team.HistoryQuery{Member: busPerson, Follow: true}) {
		if err != nil {
			return 0, fmt.Errorf("%d of %d agents got all their messages: %w", done, busAgents, err)
		}
		if m.Sender != busPerson {
			done++
		}
		if done == busAgents {
			break
		}
	}
	return time.Since(began), nil
}

// busCount counts the messages, and those that were lost or not answered exactly once.
func busCount(ctx context.Context, r *team.Registry) (sent, lost int, err error) {
	got := map[string]int{}
	for m, err := range r.Bus.History(ctx, team.HistoryQuery{}) {
		if err != nil {
			return 0, 0, err
		}
		sent++
		for _, to := range m.Recipients {
			if to == busPerson {
				continue
			}
			if got[to]++; m.Receipts[to] != team.Answered {
				lost++
			}
		}
	}
	for i := range busAgents {
		lost += max(busEach-got[busName(i)], got[busName(i)]-busEach)
	}
	return sent, lost, nil
}
