package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/sdk"
)

func TestOnRequest(t *testing.T) {
	t.Parallel()
	allow := terret.Decision{Behavior: terret.BehaviorAllow}
	for name, c := range map[string]struct {
		prompt string
		decide func(context.Context, terret.Request) (terret.Decision, error) // nil: none
		want   string
	}{
		"allow": {"run: echo ran", func(_ context.Context, r terret.Request) (terret.Decision, error) {
			var p terret.PermissionRequest
			if err := json.Unmarshal(r.Data, &p); err != nil || r.Gate != terret.GatePermission || p.Tool != "Bash" || !strings.Contains(string(p.Input), "echo ran") {
				return terret.Decision{}, errors.New("another request")
			}
			return allow, nil
		}, "ran"},
		"deny": {"run: echo ran", func(context.Context, terret.Request) (terret.Decision, error) {
			return terret.Decision{Behavior: terret.BehaviorDeny, Reason: "not here"}, nil
		}, "denied: not here"},
		"edit": {"run: echo ran", func(context.Context, terret.Request) (terret.Decision, error) {
			return terret.Decision{Behavior: terret.BehaviorAllow, UpdatedInput: terret.JSON(`{"command": "echo edited"}`)}, nil
		}, "edited"},
		"error": {"run: echo ran", func(context.Context, terret.Request) (terret.Decision, error) {
			return terret.Decision{}, errors.New("the desk is on fire")
		}, "could not decide: the desk is on fire"},
		"no decision": {"run: echo ran", func(context.Context, terret.Request) (terret.Decision, error) {
			return terret.Decision{Behavior: "perhaps"}, nil
		}, "could not decide"},
		"another input": {"run: echo ran", func(context.Context, terret.Request) (terret.Decision, error) {
			return terret.Decision{Behavior: terret.BehaviorAllow, InputHash: "of something else"}, nil
		}, "could not decide: the input of request"},
		"question": {"ask me", func(_ context.Context, r terret.Request) (terret.Decision, error) {
			var q terret.QuestionRequest
			if err := json.Unmarshal(r.Data, &q); err != nil {
				return terret.Decision{}, err
			}
			return terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{q.Questions[0].ID: {"blue"}}}, nil
		}, "You chose blue."},
		"another question": {"ask me", func(context.Context, terret.Request) (terret.Decision, error) {
			return terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"colour": {"blue"}}}, nil
		}, `there is no question "colour" in this request`},
		"plan": {"make a plan", func(context.Context, terret.Request) (terret.Decision, error) {
			return terret.Decision{Behavior: terret.BehaviorApprove}, nil
		}, "The plan is approved"},
		"nobody": {"run: echo ran", nil, "denied: nobody to ask"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := demo(t)
			o.Policy, o.OnRequest = terret.PolicyAsk, c.decide
			result, err := sdk.Prompt(deadline(t), c.prompt, o)
			if err != nil || !strings.Contains(result.Content, c.want) {
				t.Errorf("%+v, %v; want %q in it", result, err, c.want)
			}
		})
	}
}

// Close returns when the callback has: it may use what its program closes next.
func TestCloseWaitsForOnRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		withdrawn, proceed := make(chan struct{}), make(chan struct{})
		o := scripted(t, []mock.Step{{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command": "ls"}`), Ask: true}}})
		o.Policy = terret.PolicyAsk
		asked := make(chan struct{})
		o.OnRequest = func(ctx context.Context, _ terret.Request) (terret.Decision, error) {
			close(asked)
			<-ctx.Done()
			close(withdrawn)
			<-proceed
			return terret.Decision{}, ctx.Err()
		}
		s := newSession(t, o)
		send(t, s, "go")
		<-asked
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		<-withdrawn
		synctest.Wait()
		select {
		case <-closed:
			t.Error("it did not wait")
		default:
		}
		close(proceed)
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// The callback learns that its answer is no longer wanted.
func TestOnRequestIsWithdrawn(t *testing.T) {
	t.Parallel()
	ask := []mock.Step{{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command": "ls"}`), Ask: true}}}
	for name, end := range map[string]func(context.Context, *sdk.Session) error{
		"interrupt": func(ctx context.Context, s *sdk.Session) error { return s.Interrupt(ctx) },
		"close":     func(_ context.Context, s *sdk.Session) error { return s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, withdrawn := make(chan struct{}), make(chan struct{})
			o := scripted(t, ask)
			o.Policy = terret.PolicyAsk
			o.OnRequest = func(ctx context.Context, _ terret.Request) (terret.Decision, error) {
				close(asked)
				<-ctx.Done()
				close(withdrawn)
				return terret.Decision{}, ctx.Err()
			}
			s := newSession(t, o)
			send(t, s, "go")
			<-asked
			if err := end(deadline(t), s); err != nil {
				t.Fatal(err)
			}
			select {
			case <-withdrawn:
			case <-deadline(t).Done():
				t.Fatal("the callback still waits")
			}
		})
	}
}

// A program that resumes a session which another one runs gets what waits already.
func TestOnRequestOfAnother(t *testing.T) {
	t.Parallel()
	o := scripted(t, []mock.Step{{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command": "ls"}`), Ask: true}}, {Text: "done"}})
	asked := make(chan struct{})
	o.DataDir, o.Policy = t.TempDir(), terret.PolicyAsk
	o.OnRequest = func(ctx context.Context, _ terret.Request) (terret.Decision, error) {
		close(asked)
		<-ctx.Done()
		return terret.Decision{}, ctx.Err()
	}
	owner := newSession(t, o)
	send(t, owner, "go")
	<-asked
	o.OnRequest = func(context.Context, terret.Request) (terret.Decision, error) {
		return terret.Decision{Behavior: terret.BehaviorAllow}, nil
	}
	other, err := sdk.Resume(deadline(t), owner.ID(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, result := receive(t, owner); result.Content != "done" {
		t.Errorf("%+v", result)
	}
}

// The gates of a resumed session count, too.
func TestGatesOfResumed(t *testing.T) {
	t.Parallel()
	o := scripted(t, []mock.Step{{Gate: terret.GateStop}, {Text: "done"}})
	o.DataDir = t.TempDir()
	id := newSession(t, o).ID()
	asked := make(chan terret.Gate, 1)
	o.Gates = []terret.Gate{terret.GateStop}
	o.OnRequest = func(_ context.Context, r terret.Request) (terret.Decision, error) {
		asked <- r.Gate
		return terret.Decision{Behavior: terret.BehaviorAllow}, nil
	}
	s, err := sdk.Resume(deadline(t), id, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	send(t, s, "go")
	receive(t, s)
	if len(asked) != 1 {
		t.Error("nobody was asked")
	}
}
