package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/internal/server/marks"
)

const (
	moveTime = 10 * time.Minute // for a node to move a session, which is cloned
	lookTime = 200 * time.Millisecond
)

// moveSession asks the node that has a session's folder to move it.
func (a *app) moveSession(ctx context.Context, s terret.Session, m client.Move) (client.HandedOver, error) {
	var made client.HandedOver
	err := a.askNode(ctx, s.Node, moveTime, http.MethodPost, "/v1/sessions/"+s.ID+"/handoff", m, &made)
	if errors.Is(err, terret.ErrNotFound) {
		err = terret.Errorf(terret.CodeConflict, "session %s belongs to node %s, which has its folder and does not run as a server; start `terret serve` or `terret worker` there, and try again", s.ID, s.Node)
	}
	return made, err
}

// runMove is `terret handoff --node`.
func runMove(ctx context.Context, a *app, o handoffOptions) error {
	if _, err := a.fleetStore(ctx); err != nil {
		return err
	}
	s, err := a.resolve(ctx, o.Session)
	if err != nil {
		return err
	}
	if s.Node == "" {
		return terret.Errorf(terret.CodeConflict, "session %s belongs to no node, so it cannot move", s.ID)
	}
	made, err := a.moveSession(ctx, s, client.Move{Node: o.node, Agent: o.Agent, Model: o.Model, Prompt: o.Prompt, Idle: o.idle})
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(made)
	}
	a.tellMoved(s, made)
	if made.First.ID != "" {
		a.note("it continues there; follow it with `%s`", a.commandLine("events", "--follow", made.ID))
	}
	return nil
}

func (a *app) tellMoved(s terret.Session, made client.HandedOver) {
	fmt.Fprintf(a.out, "moved %s to node %s as %s\n", s.ID, made.Node, made.ID)
	for _, note := range made.Notes {
		a.note("%s", oneLine(note))
	}
}

type drainOptions struct {
	wait      time.Duration
	move      bool
	to, since string
}

// drain is what a node is told when it has to leave.
type drain struct {
	Wait int  `json:"wait"`
	Hold bool `json:"hold,omitempty"`
}

// runDrain lets a node finish and stop; before that, its sessions move if they can.
func runDrain(ctx context.Context, a *app, node string, o drainOptions) error {
	fleet, err := a.fleetStore(ctx)
	if err != nil {
		return err
	}
	var since config.Duration
	if err := since.UnmarshalText([]byte(o.since)); err != nil || since <= 0 {
		return terret.Invalid("since", "%q is not a length of time; write it like 7d or 12h", o.since)
	}
	tell := func(wait time.Duration, hold bool) error {
		return a.askNode(ctx, node, answerPatience, http.MethodPost, "/v1/fleet/drain", drain{max(1, int(wait.Seconds())), hold}, nil)
	}
	if access.Inside(a.environ) {
		return access.ErrInside("only a person can have a node stop")
	}
	if o.move {
		if err := takers(ctx, fleet, node, o.to); err != nil {
			return err
		}
		hold := func() error { return tell(min(o.wait+time.Hour, 24*time.Hour), true) }
		if err := hold(); err != nil {
			return err
		}
		a.note("node %s takes nothing new", node)
		m := mover{app: a, fleet: fleet, node: node, to: o.to, recent: time.Now().Add(-time.Duration(since)), hold: hold, busy: map[string]string{}}
		if err := m.run(ctx, o.wait); err != nil {
			a.note("node %s still takes nothing new, and stops by itself in a while; run this again to continue", node)
			return err
		}
	}
	if err := tell(o.wait, false); err != nil {
		return err
	}
	a.note("node %s takes nothing new, and stops when its turns have ended, at most in %s", node, o.wait)
	return nil
}

// takers refuses to move sessions if no other node takes any.
func takers(ctx context.Context, fleet terret.Fleet, node, to string) error {
	nodes, err := fleet.Nodes(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(nodes, func(n terret.Node) bool {
		return n.Name != node && !n.Draining && (n.Max == 0 || n.Sessions < n.Max) && (to == "any" || n.Name == to)
	}) {
		return terret.Errorf(terret.CodeConflict, "no other node takes sessions, so nothing was moved, and node %s goes on; start another node, or drain this one without --move", node)
	}
	return nil
}

// mover moves the sessions of a node to others.
type mover struct {
	app          *app
	fleet        terret.Fleet
	node, to     string
	recent       time.Time
	hold         func() error      // lets the node wait for us longer
	busy         map[string]string // why sessions wait
	moved, stays int
}

// run moves what can move: at once where nothing happens, and the rest when its turns have
// ended, or not at all if that takes longer than wait.
func (m *mover) run(ctx context.Context, wait time.Duration) error {
	left, err := m.sessions(ctx)
	if err != nil {
		return err
	}
	patient, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	told := false
	for len(left) > 0 {
		if left, err = m.round(ctx, left); err != nil {
			return err
		}
		if len(left) == 0 {
			break
		}
		if !told {
			m.app.note("waiting for running turns: %d", len(left))
			told = true
		}
		select {
		case <-time.After(lookTime):
			continue
		case <-patient.Done():
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, id := range left {
			m.stay(id, m.busy[id])
		}
		break
	}
	m.app.note("moved: %d; left on node %s: %d", m.moved, m.node, m.stays)
	return nil
}

// sessions lists the node's sessions in which something happened lately, or that have queued
// prompts, and whose work is not over: nobody has put them away, and no other continues them.
func (m *mover) sessions(ctx context.Context) ([]string, error) {
	noted, err := marks.Read(ctx, m.fleet, "")
	if err != nil {
		return nil, err
	}
	store := m.app.harness.Store
	var out []string
	for f := (terret.SessionFilter{Limit: 1000}); ; {
		page, err := store.ListSessions(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, s := range page.Items {
			if s.Node != m.node || s.Agent == engine.NoAgent || s.HandedTo != "" || slices.Contains(noted.Archived, s.ID) {
				continue
			}
			wanted := s.Turn != "" || s.UpdatedAt.After(m.recent)
			if !wanted {
				if wanted, err = m.queued(ctx, s.ID); err != nil {
					return nil, err
				}
			}
			if wanted {
				out = append(out, s.ID)
			}
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return out, nil
		}
	}
}

// queued reports whether a session has queued prompts.
func (m *mover) queued(ctx context.Context, id string) (bool, error) {
	items, err := m.app.harness.Store.Pending(ctx, id)
	return slices.ContainsFunc(items, func(i terret.InboxItem) bool { return i.Kind == terret.InboxPrompt }), err
}

// round tries each session once, and returns those that are at work.
func (m *mover) round(ctx context.Context, ids []string) (busy []string, err error) {
	for _, id := range ids {
		s, err := m.app.harness.Store.Session(ctx, id)
		switch {
		case errors.Is(err, terret.ErrSessionNotFound) || err == nil && s.HandedTo != "":
			continue
		case err != nil:
			return nil, err
		case s.Turn != "":
			busy, m.busy[id] = append(busy, id), "a turn still runs"
			continue
		}
		if err := m.hold(); err != nil {
			return nil, err
		}
		made, err := m.app.moveSession(ctx, s, client.Move{Node: m.to, Idle: true})
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && terret.AsError(err).Code == terret.CodeSessionBusy:
			busy, m.busy[id] = append(busy, id), terret.AsError(err).Message
		case err != nil:
			m.stay(id, terret.AsError(err).Message)
		default:
			m.moved++
			m.app.tellMoved(s, made)
		}
	}
	return busy, nil
}

// stay says why a session does not move.
func (m *mover) stay(id, why string) {
	m.stays++
	why, _, _ = strings.Cut(strings.TrimPrefix(why, "session "+id+" "), ", so it cannot move;")
	fmt.Fprintf(m.app.out, "not moved %s: %s\n", id, oneLine(why))
}
