package drivertest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/terret-dev/terret"
)

// spy is a driver that remembers the agents it opened.
type spy struct {
	terret.Driver

	mu     sync.Mutex
	agents []terret.Agent

	warmed atomic.Int32 // agents that were started before they were needed
}

// warmSpy is a spy on a driver that can start agents beforehand.
type warmSpy struct {
	*spy
	driver terret.Prewarmer
}

// WarmKey implements terret.Prewarmer.
func (s warmSpy) WarmKey(r terret.OpenRequest) string { return s.driver.WarmKey(r) }

// Prewarm implements terret.Prewarmer.
func (s warmSpy) Prewarm(ctx context.Context, r terret.OpenRequest) (terret.Warm, error) {
	w, err := s.driver.Prewarm(ctx, r)
	if err == nil {
		s.warmed.Add(1)
	}
	return w, err
}

// watch puts a spy around a driver, which can all that the driver can.
func watch(d terret.Driver) (terret.Driver, *spy) {
	s := &spy{Driver: d}
	if p, ok := d.(terret.Prewarmer); ok {
		return warmSpy{s, p}, s
	}
	return s, s
}

// Describe implements terret.Describer.
func (s *spy) Describe() terret.Description { return terret.DescriptionOf(s.Driver) }

// Open implements terret.Driver.
func (s *spy) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	a, err := s.Driver.Open(ctx, r)
	if err == nil {
		s.mu.Lock()
		s.agents = append(s.agents, a)
		s.mu.Unlock()
	}
	return a, err
}

// Shutdown implements terret.Shutdowner.
func (s *spy) Shutdown(ctx context.Context) error {
	if d, ok := s.Driver.(terret.Shutdowner); ok {
		return d.Shutdown(ctx)
	}
	return nil
}

// last is the agent that was opened last, or nil.
func (s *spy) last() terret.Agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.agents) == 0 {
		return nil
	}
	return s.agents[len(s.agents)-1]
}
