package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

// puppet is a driver whose agents do only what the test does with their host.
type puppet struct {
	opened chan *puppetAgent
	// Hooks; nil means success.
	onOpen  func(ctx context.Context, a *puppetAgent) error
	onClose func(a *puppetAgent)
	caps    terret.Capabilities
}

func newPuppet() *puppet {
	return &puppet{opened: make(chan *puppetAgent, 100), caps: terret.Capabilities{Oversight: terret.OversightAll}}
}

func (p *puppet) Name() string { return "mock" }

func (p *puppet) Describe() terret.Description {
	return terret.Description{Modes: map[string]terret.Policy{"default": terret.PolicyAsk, "acceptEdits": terret.PolicyAcceptEdits, "plan": terret.PolicyPlan, "bypassPermissions": terret.PolicyAutoApprove, "auto": terret.PolicyAutoApprove}}
}

func (p *puppet) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	a := &puppetAgent{p: p, req: r, prompts: make(chan string, 100), interrupts: make(chan string, 100), closed: make(chan struct{})}
	if p.onOpen != nil {
		if err := p.onOpen(ctx, a); err != nil {
			return nil, err
		}
	}
	p.opened <- a
	return a, nil
}

// agent waits for the next agent that is opened.
func (p *puppet) agent(t *testing.T) *puppetAgent {
	t.Helper()
	return receive(t, p.opened)
}

func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

type puppetAgent struct {
	p          *puppet
	req        terret.OpenRequest
	prompts    chan string
	interrupts chan string
	closed     chan struct{}
	once       sync.Once
	onPrompt   func(ctx context.Context, turn string) error
}

func (a *puppetAgent) prompted(t *testing.T) string {
	t.Helper()
	return receive(t, a.prompts)
}

func (a *puppetAgent) Prompt(ctx context.Context, turn string, _ terret.Prompt, _ terret.Settings) error {
	a.prompts <- turn
	if a.onPrompt != nil {
		return a.onPrompt(ctx, turn)
	}
	return nil
}

func (a *puppetAgent) Interrupt(_ context.Context, turn string) error {
	a.interrupts <- turn
	return nil
}

func (a *puppetAgent) Close(context.Context) error {
	a.once.Do(func() {
		if a.p.onClose != nil {
			a.p.onClose(a)
		}
		close(a.closed)
	})
	return nil
}

func (a *puppetAgent) Capabilities() terret.Capabilities { return a.p.caps }

func (a *puppetAgent) emit(events ...terret.Event) error {
	return a.req.Host.Emit(context.Background(), events, nil)
}

func (a *puppetAgent) say(t *testing.T, data ...terret.Data) {
	t.Helper()
	events := make([]terret.Event, len(data))
	for i, d := range data {
		events[i] = terret.Event{Data: d}
	}
	if err := a.emit(events...); err != nil {
		t.Error(err)
	}
}

func (a *puppetAgent) complete(t *testing.T, turn string) {
	t.Helper()
	if err := a.emit(terret.Event{Turn: turn, Data: terret.TurnComplete{Text: "done"}}); err != nil {
		t.Error(err)
	}
}

func askFor(key, command string) terret.Ask {
	return terret.Ask{Key: key, Gate: terret.GatePermission, Event: terret.Event{Data: terret.PermissionRequest{
		ToolID: key, Tool: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"` + command + `"}`), Title: command,
	}}}
}

func (a *puppetAgent) ask(key, command string) (terret.Decision, error) {
	return a.req.Host.Ask(context.Background(), askFor(key, command))
}
