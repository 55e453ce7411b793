package team_test

import (
	"context"
	"sync"

	"github.com/terret-dev/terret"
)

// talker is a driver whose agents answer as a function says, which gets the agent's name
// and the prompt. Its context ends when the agent is interrupted or closed.
type talker func(ctx context.Context, name, prompt string) (string, error)

func (t talker) Name() string { return "talker" }

func (t talker) Open(_ context.Context, r terret.OpenRequest) (terret.Agent, error) {
	a := &talkerAgent{talk: t, name: r.Session.Title, host: r.Host}
	a.life, a.end = context.WithCancel(context.Background())
	return a, nil
}

type talkerAgent struct {
	talk talker
	name string
	host terret.Host
	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup
}

func (a *talkerAgent) Prompt(_ context.Context, _ string, p terret.Prompt, _ terret.Settings) error {
	a.work.Go(func() {
		text, err := a.talk(a.life, a.name, terret.TextOf(p.Blocks))
		var end terret.Data = terret.TurnComplete{Text: text, CostUSD: terret.USD / 10}
		if err != nil {
			end = terret.TurnError{Error: *terret.AsError(err), CostUSD: terret.USD / 10}
		}
		_ = a.host.Emit(context.Background(), []terret.Event{{Data: end}}, nil)
	})
	return nil
}

func (a *talkerAgent) Interrupt(context.Context, string) error { a.end(); return nil }

func (a *talkerAgent) Close(context.Context) error {
	a.end()
	a.work.Wait()
	return nil
}

func (a *talkerAgent) Capabilities() terret.Capabilities {
	return terret.Capabilities{Oversight: terret.OversightAll}
}
