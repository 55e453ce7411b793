package sdk

import (
	"context"
	"errors"
	"fmt"

	"github.com/terret-dev/terret"
)

// decide lets OnRequest decide the requests that wait already, and all from now on.
func (s *Session) decide(o Options, waiting ...string) {
	if o.OnRequest == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	release := s.engine.Want(s.id, o.Gates...)
	s.desk = func() {
		release() // requests that wait for OnRequest continue
		cancel()
	}
	after := s.received // nobody else has the session yet
	s.deciding.Go(func() {
		asked := map[string]context.CancelFunc{}
		ask := func(id string) {
			open, stop := context.WithCancel(ctx)
			asked[id] = stop
			s.deciding.Go(func() { s.decideOne(open, o, id) })
		}
		for _, id := range waiting {
			ask(id)
		}
		for ev, err := range s.follow(ctx, after) {
			if err != nil {
				break
			}
			if d, ok := terret.DecisionOf(ev.Data); ok && asked[d.RequestID] != nil {
				asked[d.RequestID]()
				delete(asked, d.RequestID)
			}
			if ev.Expects != nil {
				ask(ev.Expects.RequestID)
			}
		}
		for _, stop := range asked {
			stop()
		}
	})
}

func (s *Session) decideOne(ctx context.Context, o Options, id string) {
	r, err := s.store.Request(ctx, id)
	if err != nil || r.State != terret.RequestOpen {
		return
	}
	d, err := o.OnRequest(ctx, r)
	if err != nil {
		d = refusal(r.Gate, err)
	}
	err = s.answer(ctx, id, d)
	if err == nil || ctx.Err() != nil {
		return
	}
	if o.Log != nil {
		o.Log.Warn("a decision was refused", "request", id, "error", err)
	}
	if !errors.Is(err, terret.ErrAlreadyDecided) { // the agent waits, and perhaps nobody else will decide
		_ = s.answer(ctx, id, refusal(r.Gate, err))
	}
}

// answer passes a decision to the engine. The context ends while that happens, because
// the request is decided then, so it does not count here.
func (s *Session) answer(ctx context.Context, id string, d terret.Decision) error {
	d.RequestID, d.Source = id, terret.ByChannel
	return s.engine.Decide(context.WithoutCancel(ctx), d)
}

// refusal is the decision of a program that could not decide.
func refusal(gate terret.Gate, why error) terret.Decision {
	return terret.Decision{Behavior: gate.Refusal(), Reason: fmt.Sprintf("the program could not decide: %v", why)}
}
