package mock

import (
	"context"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
)

// Talker is a driver whose agents answer as a function says, which gets the session's
// title, without what comes before ": ", and the prompt. Its context ends when the agent is interrupted or closed.
type Talker func(ctx context.Context, name, prompt string) (string, error)

// Name implements terret.Driver.
func (t Talker) Name() string { return "talker" }

// Open implements terret.Driver.
func (t Talker) Open(_ context.Context, r terret.OpenRequest) (terret.Agent, error) {
	name := r.Session.Title
	if i := strings.LastIndex(name, ": "); i >= 0 {
		name = name[i+len(": "):]
	}
	a := &talkerAgent{talk: t, name: name, host: r.Host}
	a.life, a.end = context.WithCancel(context.Background())
	return a, nil
}

type talkerAgent struct {
	talk Talker
	name string
	host terret.Host
	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup
}

// Prompt implements terret.Agent.
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

// Interrupt implements terret.Agent.
func (a *talkerAgent) Interrupt(context.Context, string) error { a.end(); return nil }

// Close implements terret.Agent.
func (a *talkerAgent) Close(context.Context) error {
	a.end()
	a.work.Wait()
	return nil
}

// Capabilities says that everything passes Terret.
func (a *talkerAgent) Capabilities() terret.Capabilities {
	return terret.Capabilities{Oversight: terret.OversightAll}
}
