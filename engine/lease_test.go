package engine_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/postgres"
)

// shortLease is enough for a busy machine to renew in time.
const shortLease = 5 * time.Second

// talk is the process that is stopped. Its agent talks all the time, or falls silent.
func talk(ctx context.Context, path, session string, silent bool) error {
	s, err := postgres.Open(ctx, server.URL(path), postgres.Options{Lease: shortLease})
	if err != nil {
		return err
	}
	steps := make([]mock.Step, 0, 20_000)
	for i := range cap(steps) / 2 {
		steps = append(steps, mock.Step{Text: fmt.Sprint(i)}, mock.Step{Delay: mock.Duration(10 * time.Millisecond)})
	}
	if silent {
		steps = append(steps[:1], mock.Step{Hang: true})
	}
	d := told{mock.New(mock.Script{Turns: [][]mock.Step{steps, {{Text: "again"}}}})}
	e, err := engine.New(ctx, engine.Config{Store: s, Drivers: []terret.Driver{d}})
	if err != nil {
		return err
	}
	if _, err := e.Prompt(ctx, engine.PromptRequest{Session: session, Prompt: text("go")}); err != nil {
		return err
	}
	for entry, err := range e.Events(ctx, engine.EventQuery{Session: session, Follow: true}) {
		if err != nil {
			return err
		}
		if entry.Seq > 20 || silent && entry.Kind == terret.KindMessageComplete {
			break
		}
	}
	worker := s.Worker()
	fmt.Println("ready")
	for {
		n, err := s.Session(ctx, session)
		if err != nil {
			return err
		}
		if n.Owner == "" && n.Epoch > 1 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	for busy := true; busy; { // until the engine, too, knows that the session is another's
		_, err := e.Prompt(ctx, engine.PromptRequest{Session: session, Prompt: text("more")})
		if busy = errors.Is(err, terret.ErrBusy); err != nil && !busy {
			return err
		}
	}
	if s.Worker() == worker {
		return fmt.Errorf("it is still worker %s", worker)
	}
	fmt.Println("works again")
	select {} // until we are killed
}

// told says when an agent has ended.
type told struct{ terret.Driver }

func (d told) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	a, err := d.Driver.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	return toldAgent{a}, nil
}

type toldAgent struct{ terret.Agent }

func (a toldAgent) Close(ctx context.Context) error {
	err := a.Agent.Close(ctx)
	fmt.Println("the agent has ended")
	return err
}
