package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

func (s *Server) fleetRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/fleet", id: "get-fleet", tag: tagFleet, scope: access.View,
		summary: "Show the nodes of the fleet",
		long:    "Which nodes run, what they can take, and how many sessions each has, owns and works on. A session's owner is a node's worker. On a single machine there are no nodes.",
	}, s.getFleet)
	handle(s, route{
		method: "POST", path: "/v1/fleet/drain", id: "drain-node", tag: tagFleet, scope: access.Admin, status: http.StatusAccepted,
		summary: "Let a node finish and stop",
		long:    "The node (parameter `node`, or else this one) gets no new sessions and prompts; its running turns have `wait` seconds to end, and then it stops. Its sessions stay and can be read on every other node. With `hold` it does not stop at once, so that sessions can be handed over to other nodes; call this again without it.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported},
	}, s.drainNode)
}

// Fleet is the nodes that share a store.
type Fleet struct {
	Node  string        `json:"node,omitempty" doc:"The node that answers."`
	Nodes []terret.Node `json:"nodes"`
	// DatabaseMS is how long a question to the database takes here.
	DatabaseMS float64 `json:"database_ms" doc:"How long the database takes to answer this node, in milliseconds."`
}

func (s *Server) getFleet(ctx context.Context, _ *struct{}) (*body[Fleet], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	out := Fleet{Node: s.cfg.Node, Nodes: []terret.Node{}}
	if s.fleet == nil {
		return reply(out, nil)
	}
	began := time.Now()
	if _, err := s.store.LastPos(ctx); err != nil {
		return nil, err
	}
	out.DatabaseMS = float64(time.Since(began).Microseconds()) / 1000
	var err error
	out.Nodes, err = s.fleet.Nodes(ctx)
	return reply(out, err)
}

type drainRequest struct {
	Wait int  `json:"wait,omitempty" minimum:"0" maximum:"86400" doc:"Seconds that running turns have to end. Default: 3600."`
	Hold bool `json:"hold,omitempty" doc:"Take nothing new, but do not stop before this is called again without hold, or wait is over."`
}

func (s *Server) drainNode(ctx context.Context, in *struct{ Body *drainRequest }) (*body[Fleet], error) {
	if s.fleet == nil {
		return nil, terret.Errorf(terret.CodeUnsupported, "this server is not part of a fleet; stop it with Ctrl-C, which lets running turns finish")
	}
	about := s.cfg.About
	about.Name, about.Draining = s.cfg.Node, true
	if err := s.fleet.Join(ctx, about); err != nil {
		return nil, err
	}
	wait := time.Hour
	if in.Body != nil && in.Body.Wait > 0 {
		wait = time.Duration(in.Body.Wait) * time.Second
	}
	s.draining.Store(true)
	out, err := s.getFleet(ctx, nil) // first: a server that leaves ends what it does for others
	if err != nil {
		return nil, err
	}
	if in.Body != nil && in.Body.Hold {
		s.log.Info("taking nothing new", "wait", wait)
		s.hold(wait)
		return out, nil
	}
	s.log.Info("draining", "wait", wait)
	s.setHold(nil)
	s.goAway(wait)
	return out, nil
}

// forgotten is how long running turns have to end if the caller that held the node never came back.
const forgotten = time.Minute

// holding is a node that takes nothing new, and does not stop yet.
type holding struct {
	mu  sync.Mutex
	end context.CancelFunc // of the wait; nil if there is none
}

// hold has the server stop after a time, unless it is held again or told to stop before.
func (s *Server) hold(wait time.Duration) {
	ctx, cancel := context.WithCancel(s.life)
	s.setHold(cancel)
	s.background.Go(func() {
		defer cancel()
		pause(ctx, wait)
		s.held.mu.Lock()
		defer s.held.mu.Unlock()
		if ctx.Err() == nil {
			s.log.Warn("stopping, since nobody has said what to do", "after", wait)
			s.goAway(forgotten)
		}
	})
}

// setHold replaces what ends the wait of hold, which then no longer stops the server.
func (s *Server) setHold(end context.CancelFunc) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	if s.held.end != nil {
		s.held.end()
	}
	s.held.end = end
}

// goAway has the server stop, after that time at most.
func (s *Server) goAway(wait time.Duration) {
	select {
	case s.leave <- wait:
	default: // it is already leaving
	}
}

// leased is a store of which this process owns sessions for a time only.
type leased interface{ Lost() <-chan struct{} }

// inTouch refuses while this node may not act: the database does not answer, or the lease
// is lost and not taken again.
func (s *Server) inTouch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if _, err := s.store.LastPos(ctx); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("the database does not answer: %w", err)
		}
		return err
	}
	if l, ok := s.store.(leased); ok {
		select {
		case <-l.Lost():
			return terret.Errorf(terret.CodeConflict, "this node has lost its lease, and takes a new one in a moment")
		default:
		}
	}
	return nil
}

const readyTimeout = 3 * time.Second

// fleetMetrics writes what is to know about this node.
func (s *Server) fleetMetrics(ctx context.Context, e *exposition) error {
	if s.fleet == nil {
		return nil
	}
	began := time.Now()
	nodes, err := s.fleet.Nodes(ctx)
	if err != nil {
		return err
	}
	took := time.Since(began)
	e.one("terret_fleet_nodes", "gauge", "Living nodes of the fleet.", float64(len(nodes)))
	e.one("terret_database_seconds", "gauge", "How long the database took to list the nodes.", took.Seconds())
	i := slices.IndexFunc(nodes, func(n terret.Node) bool { return n.Worker == s.worker() })
	if i < 0 {
		e.one("terret_node_up", "gauge", "Whether this node has its lease.", 0)
		return nil
	}
	n := nodes[i]
	e.family("terret_node_info", "gauge", "What this node is.")
	fmt.Fprintf(e, "terret_node_info{node=%q,version=%q,worker=%q} 1\n", n.Name, n.Version, n.Worker)
	e.one("terret_node_up", "gauge", "Whether this node has its lease.", 1)
	e.one("terret_node_lease_seconds", "gauge", "Since this node renewed its lease; the clocks of both machines count.", time.Since(n.SeenAt.Time).Seconds())
	e.one("terret_node_sessions", "gauge", "Sessions whose folder this node has.", float64(n.Sessions))
	e.one("terret_node_owned", "gauge", "Sessions that this node owns.", float64(n.Owned))
	e.one("terret_node_working", "gauge", "Sessions of this node with a running turn.", float64(n.Working))
	return nil
}

func (s *Server) worker() string { return s.store.Worker() }
