package mock

import (
	"context"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
)

// Talker is a driver whose agents answer as a function says, which gets the session's
// title, without what comes before ": ", and the prompt. Its context ends when the turn
// is interrupted or the agent is closed; it must return then, because Close waits for it.
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

	mu   sync.Mutex
	turn string
	stop context.CancelFunc // ends that turn
}

// Prompt implements terret.Agent.
func (a *talkerAgent) Prompt(_ context.Context, turn string, p terret.Prompt, _ terret.Settings) error {
	ctx, stop := context.WithCancel(a.life)
	a.mu.Lock()
	a.turn, a.stop = turn, stop
	a.mu.Unlock()
	a.work.Go(func() {
		defer stop()
		text, err := a.talk(ctx, a.name, terret.TextOf(p.Blocks))
		var end terret.Data = terret.TurnComplete{Text: text, CostUSD: terret.USD / 10}
		if err != nil {
			end = terret.TurnError{Error: *terret.AsError(err), CostUSD: terret.USD / 10}
		}
		_ = a.host.Emit(context.Background(), []terret.Event{{Data: end}}, nil)
	})
	return nil
}

// Interrupt implements terret.Agent.
func (a *talkerAgent) Interrupt(_ context.Context, turn string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn == turn {
		a.stop()
	}
	return nil
}

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
