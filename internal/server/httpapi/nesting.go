package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/config"
)

// nesting knows the sessions that agents have started while this server runs, so that
// they cannot start others without bound.
type nesting struct {
	limits config.Nesting

	mu     sync.Mutex
	depth  map[string]int // by session
	making int            // sessions that are being made
}

func newNesting(limits config.Nesting) *nesting {
	limits.Depth = cmp.Or(limits.Depth, 2)
	limits.Sessions = cmp.Or(limits.Sessions, 10)
	limits.MaxCostUSD = cmp.Or(limits.MaxCostUSD, 5)
	return &nesting{limits: limits, depth: map[string]int{}}
}

// nest bounds a session that an agent starts. The function notes which session it became;
// it is empty if there is none.
func (s *Server) nest(ctx context.Context, n *newSession) (made func(id string), err error) {
	line, inside := access.From(ctx).Agent()
	if !inside {
		return func(string) {}, nil
	}
	limits := s.nesting.limits
	depth := 1
	s.nesting.mu.Lock()
	known := make([]string, 0, len(s.nesting.depth))
	for id := range s.nesting.depth {
		known = append(known, id)
	}
	s.nesting.mu.Unlock()
	for _, id := range known {
		switch pid, gone := s.agentOf(ctx, id); {
		case gone:
			s.nesting.mu.Lock()
			delete(s.nesting.depth, id)
			s.nesting.mu.Unlock()
		case slices.Contains(line, pid):
			s.nesting.mu.Lock()
			depth = max(depth, s.nesting.depth[id]+1)
			s.nesting.mu.Unlock()
		}
	}
	if depth > limits.Depth {
		return nil, terret.Errorf(terret.CodeForbidden, "sessions that agents start may stand %d deep, and this one would be the next; do the work yourself, or ask a person to raise nesting.depth in the configuration", limits.Depth)
	}
	most := terret.Cost(limits.MaxCostUSD) * terret.USD
	if n.MaxCostUSD <= 0 || n.MaxCostUSD > most {
		n.MaxCostUSD = most
	}
	s.nesting.mu.Lock()
	defer s.nesting.mu.Unlock()
	if len(s.nesting.depth)+s.nesting.making >= limits.Sessions {
		return nil, terret.Errorf(terret.CodeForbidden, "agents have started %d sessions, as many as there may be; go on in one of them, or ask a person to delete some, or to raise nesting.sessions in the configuration", len(s.nesting.depth))
	}
	s.nesting.making++
	return func(id string) {
		s.nesting.mu.Lock()
		defer s.nesting.mu.Unlock()
		s.nesting.making--
		if id != "" {
			s.nesting.depth[id] = depth
		}
	}, nil
}

// mayAgent refuses what an agent may not do with a token that lets it prompt. It may start
// sessions, within limits, and work with those: in a session of a person it could
// have done what that person allowed there, and not here.
func (s *Server) mayAgent(r *http.Request, id access.Identity) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || !id.Scope.Includes(access.Prompt) {
		return nil
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case s.doorOf(r.URL.Path) != nil: // its calls come here again
		return nil
	case strings.HasPrefix(r.URL.Path, "/v1/team/messages"), r.URL.Path == "/v1/sessions":
		return nil
	}
	if _, inside := id.Agent(); !inside {
		return nil
	}
	if len(parts) > 2 && parts[0] == "v1" && parts[1] == "sessions" && !slices.Contains(parts, "fork") && !slices.Contains(parts, "handoff") {
		s.nesting.mu.Lock()
		defer s.nesting.mu.Unlock()
		if s.nesting.depth[parts[2]] > 0 {
			return nil
		}
	}
	return access.ErrInside("an agent may work only with sessions that agents have started")
}

// agentOf is the process of a session's agent, or 0, or whether the session is gone.
func (s *Server) agentOf(ctx context.Context, id string) (pid int, gone bool) {
	if _, err := s.store.Session(ctx, id); err != nil {
		e := terret.AsError(err)
		return 0, e.Code == terret.CodeSessionNotFound || e.Code == terret.CodeNotFound
	}
	for entry, err := range s.engine.Events(ctx, engine.EventQuery{Session: id}) {
		if err != nil {
			return pid, false
		}
		if entry.Kind != terret.KindProcessSpawn {
			continue
		}
		if ev, err := entry.Decode(); err == nil {
			pid = ev.Data.(terret.ProcessSpawn).PID
		}
	}
	return pid, false
}
