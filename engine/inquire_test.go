package engine_test

import (
	"context"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
)

// only is a driver whose agents do only what as makes of them.
type only struct {
	terret.Driver
	as func(terret.Agent) terret.Agent
}

func (o only) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	a, err := o.Driver.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	return o.as(a), nil
}

// lister lists commands of its own.
type lister struct {
	terret.Agent
	terret.Commander
	own []terret.Command
	err error
}

func (l lister) Commands(context.Context) ([]terret.Command, error) { return l.own, l.err }

// TestCommandsOfAgents holds that the agent is asked for its commands, that its error is
// not covered by what it said before, and that the log has those of one that cannot be asked.
func TestCommandsOfAgents(t *testing.T) {
	t.Parallel()
	type mute struct {
		terret.Agent
		terret.Commander
	}
	for name, c := range map[string]struct {
		as   func(terret.Agent) terret.Agent
		want string
		code terret.ErrorCode
	}{
		"asked": {as: func(a terret.Agent) terret.Agent {
			return lister{Agent: a, Commander: a.(terret.Commander), own: []terret.Command{{Name: "new"}}}
		}, want: "new"},
		"fails": {as: func(a terret.Agent) terret.Agent {
			return lister{Agent: a, Commander: a.(terret.Commander), err: terret.Errorf(terret.CodeProcessFailed, "it hangs")}
		}, code: terret.CodeProcessFailed},
		"mute": {as: func(a terret.Agent) terret.Agent { return mute{a, a.(terret.Commander)} }, want: "review"},
	} {
		f := openFixture(t, ":memory:", only{mock.New(able()), c.as})
		id := f.session()
		f.run(id, "1")
		got, err := f.Commands(t.Context(), id)
		if c.code != "" {
			wantKind(t, err, c.code)
			continue
		}
		if err != nil || len(got) != 1 || got[0].Name != c.want {
			t.Errorf("%s: %+v, %v; want %s", name, got, err, c.want)
		}
	}
}
