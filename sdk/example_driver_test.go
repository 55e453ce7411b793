package sdk_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/sdk"
)

// shouter is a driver: its agents repeat the prompt in capitals, if they may.
type shouter struct{}

func (shouter) Name() string { return "shouter" }

func (shouter) Open(_ context.Context, r terret.OpenRequest) (terret.Agent, error) {
	return &shouting{host: r.Host, stop: func() {}}, nil
}

type shouting struct {
	host terret.Host
	work sync.WaitGroup

	mu   sync.Mutex
	turn string
	stop context.CancelFunc // ends that turn
}

// Prompt returns at once; the turn goes on by itself, and ends exactly once.
func (a *shouting) Prompt(_ context.Context, turn string, p terret.Prompt, _ terret.Settings) error {
	ctx, stop := context.WithCancel(context.Background())
	a.mu.Lock()
	a.turn, a.stop = turn, stop
	a.mu.Unlock()
	a.work.Go(func() {
		defer stop()
		said, err := a.shout(ctx, turn, terret.TextOf(p.Blocks))
		var end terret.Data = terret.TurnComplete{Text: said}
		if err != nil {
			end = terret.TurnError{Error: *terret.AsError(err)}
		}
		// The end is written even if the turn was stopped. Without a host there is nobody to tell.
		_ = a.host.Emit(context.WithoutCancel(ctx), []terret.Event{{Data: end}}, nil)
	})
	return nil
}

func (a *shouting) shout(ctx context.Context, turn, text string) (string, error) {
	input := terret.JSON(fmt.Sprintf("{%q: %q}", "text", text))
	d, err := a.host.Ask(ctx, terret.Ask{
		Key: turn, Gate: terret.GatePermission,
		Event: terret.Event{Data: terret.PermissionRequest{Tool: "Shout", Input: input, Title: "Shout"}},
	})
	if err != nil {
		return "", err
	}
	if err := a.host.Delivered(ctx, d.RequestID); err != nil {
		return "", err
	}
	if d.Behavior != terret.BehaviorAllow {
		return "(whispers) " + text, nil
	}
	said := strings.ToUpper(text)
	message := terret.MessageComplete{MessageID: terret.NewID(terret.PrefixMessage), Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text(said)}}
	return said, a.host.Emit(ctx, []terret.Event{{Data: message}}, nil)
}

func (a *shouting) Interrupt(_ context.Context, turn string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn == turn {
		a.stop()
	}
	return nil
}

func (a *shouting) Close(context.Context) error {
	a.mu.Lock()
	a.stop()
	a.mu.Unlock()
	a.work.Wait()
	return nil
}

// Capabilities says that the agent does nothing without asking.
func (a *shouting) Capabilities() terret.Capabilities {
	return terret.Capabilities{Oversight: terret.OversightAll}
}

// A driver makes any agent a session's: it opens agents, passes what they say to the host,
// and asks the host before they act.
func ExampleOptions_drivers() {
	dir, remove := project()
	defer remove()
	result, err := sdk.Prompt(context.Background(), "hello", sdk.Options{Cwd: dir, Drivers: []terret.Driver{shouter{}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content)
	// Output: HELLO
}
