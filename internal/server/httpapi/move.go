package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/worktree"
)

// A session that was begun from a repository can continue on another node: the node that has
// its clone packs what the repository does not have, and asks the other one, through the
// store, to make the successor from that.

// anyNode lets the server choose a node.
const anyNode = "any"

// arrivalsPath is where nodes send what moves. Nobody else can use it.
const arrivalsPath = "/v1/fleet/arrivals"

// moveLimit bounds a move, which continues when its caller is gone: the other node would make
// the successor anyway, and the caller's next attempt another one.
const moveLimit = 10 * time.Minute

// unpackLimit bounds how long a node makes the clone. It gives up before the node that
// asked does, which would otherwise never know of the session.
const unpackLimit = moveLimit - 2*time.Minute

// arrival is a session that comes from another node.
type arrival struct {
	Session string        `json:"session"` // the old one
	Agent   string        `json:"agent,omitempty"`
	Model   string        `json:"model,omitempty"`
	Pack    worktree.Pack `json:"pack"`
}

// moveTo has a session on another node go on with the work of one of ours.
func (s *Server) moveTo(ctx context.Context, id string, n newHandoff) (*body[HandedOver], error) {
	if s.fleet == nil {
		return nil, terret.Errorf(terret.CodeUnsupported, "this server is not part of a fleet, so there is no node to move to")
	}
	if err := need(ctx, access.Decide); err != nil { // as for any session in a clone
		return nil, err
	}
	if n.Idle && n.Prompt != "" {
		return nil, terret.Invalid("idle", "use either prompt or idle")
	}
	old, err := s.store.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	if old.Agent == engine.NoAgent {
		return nil, terret.Invalid("session", "no agent works in session %s, so there is nothing to hand over", old.ID)
	}
	address, err := s.movable(old)
	if err != nil {
		return nil, err
	}
	node, err := s.otherNode(ctx, n.Node)
	if err != nil {
		return nil, err
	}
	var notes []string
	how := engine.Moving{Session: id, By: caller(ctx), Make: func(ctx context.Context, old terret.Session) (terret.Session, error) {
		made, err := s.sendTo(ctx, node, address, old, n)
		notes = made.Notes
		return made.Session, err
	}}
	if !n.Idle {
		how.First = &terret.Prompt{Blocks: []terret.Block{terret.Text(cmp.Or(n.Prompt, assemble.ContinueWork))}}
	}
	whole, cancel := s.wholly(ctx, terret.Errorf(terret.CodeConflict, "node %s has not taken session %s within %v; it may have made a session all the same, so look before you try again", node, id, moveLimit))
	defer cancel()
	made, first, err := s.engine.Move(whole, how)
	if err != nil && whole.Err() != nil {
		err = context.Cause(whole)
	}
	return reply(HandedOver{made, first, notes}, err)
}

// wholly is the context of a move: it does not end with the caller's, but when the move takes
// too long, and when this server begins to stop, which waits for the session.
func (s *Server) wholly(ctx context.Context, late error) (context.Context, context.CancelFunc) {
	limited, end := context.WithTimeoutCause(context.WithoutCancel(ctx), moveLimit, late)
	whole, cancel := context.WithCancelCause(limited)
	forget := context.AfterFunc(s.steps, func() {
		cancel(terret.Errorf(terret.CodeStartupRefused, "the server is stopping, so it did not wait for the other node, which may have made a session all the same; look before you try again"))
	})
	return whole, func() {
		forget()
		cancel(nil)
		end()
	}
}

// movable returns the address of the repository that a session was begun from.
func (s *Server) movable(old terret.Session) (string, error) {
	if s.maker.Home == "" || !worktree.IsClone(s.maker.Home, old.Cwd) {
		return "", terret.Errorf(terret.CodeConflict, "session %s works in a folder of node %s, so it cannot move; sessions begun from a git repository can", old.ID, s.cfg.Node)
	}
	address := worktree.ClonedFrom(s.maker.Home, old.Cwd)
	if address == "" {
		return "", terret.Errorf(terret.CodeConflict, "session %s was begun by an older terret, which did not note the address of its repository, so it cannot move; push its work, and begin another one from there", old.ID)
	}
	return address, nil
}

// otherNode chooses where a session goes. Nobody remembers which labels it needed, so any
// node must have all of ours.
func (s *Server) otherNode(ctx context.Context, want string) (string, error) {
	all, err := s.fleet.Nodes(ctx)
	if err != nil {
		return "", err
	}
	if want == s.cfg.Node {
		return "", terret.Invalid("node", "the session is on node %s already", want)
	}
	var labels []string
	others := slices.DeleteFunc(slices.Clone(all), func(n terret.Node) bool {
		return n.Name == s.cfg.Node || want != anyNode && n.Name != want
	})
	switch {
	case want == anyNode && len(others) == 0:
		return "", terret.Errorf(terret.CodeConflict, "there is no other node; start one with `terret worker`")
	case len(others) == 0:
		return "", terret.Invalid("node", "there is no node %q; `terret fleet` lists them", want)
	case want == anyNode:
		for _, n := range all {
			if n.Name == s.cfg.Node {
				labels = n.Labels
			}
		}
	}
	node, err := chooseNode(others, labels)
	switch {
	case err == nil:
		return node, nil
	case want != anyNode:
		return "", terret.Errorf(terret.CodeConflict, "node %s takes no more sessions; `terret fleet` shows its limit", want)
	case len(labels) > 0:
		return "", terret.Errorf(terret.CodeConflict, "no other node that takes sessions has the labels %v of node %s; name one", labels, s.cfg.Node)
	}
	return "", terret.Errorf(terret.CodeConflict, "no other node takes sessions; `terret fleet` shows their limits")
}

// sendTo packs a session's clone, and has a node make the successor.
func (s *Server) sendTo(ctx context.Context, node, address string, old terret.Session, n newHandoff) (MadeSession, error) {
	if err := s.alone(ctx, old); err != nil {
		return MadeSession{}, err
	}
	pack, err := worktree.PackClone(ctx, old.Cwd, address, worktree.PackLimits{})
	if _, ok := errors.AsType[*worktree.RefusedError](err); ok {
		return MadeSession{}, terret.Errorf(terret.CodeConflict, "session %s cannot move: %w", old.ID, err)
	}
	if err == nil {
		err = s.alone(ctx, old) // packing takes its time
	}
	if err != nil {
		return MadeSession{}, err
	}
	made, err := s.madeBy(ctx, node, arrivalsPath, arrival{Session: old.ID, Agent: n.Agent, Model: n.Model, Pack: pack})
	if errors.Is(err, terret.ErrNotFound) {
		err = terret.Errorf(terret.CodeConflict, "%s", terret.AsError(err).Message)
	}
	return made, err
}

// alone refuses a session in whose folder, or below it, another one is at work.
func (s *Server) alone(ctx context.Context, old terret.Session) error {
	id, err := s.maker.In(ctx, old.Cwd, func(other terret.Session) bool {
		return other.ID != old.ID && other.Node == old.Node && other.Turn != ""
	})
	if err == nil && id != "" {
		err = terret.Errorf(terret.CodeSessionBusy, "session %s works in the folder of session %s; stop it, or wait for it, before you move this one", id, old.ID)
	}
	return err
}

// arrivals makes the successor of a session of another node.
func (s *Server) arrivals(w http.ResponseWriter, r *http.Request) {
	if r.Context().Value(relayedKey{}) == nil {
		writeProblem(w, terret.Errorf(terret.CodeNotFound, "only nodes use this; hand a session over with its node"))
		return
	}
	var in arrival
	made, err := MadeSession{}, json.NewDecoder(r.Body).Decode(&in)
	if err == nil {
		made, err = s.arrive(r.Context(), in)
	}
	if err != nil {
		writeProblem(w, err)
		return
	}
	writeJSON(w, http.StatusCreated, made)
}

func (s *Server) arrive(ctx context.Context, in arrival) (MadeSession, error) {
	fail := func(err error) (MadeSession, error) { return MadeSession{}, err }
	if err := errors.Join(s.stopping(), everywhere(ctx), need(ctx, access.Decide)); err != nil {
		return fail(err)
	}
	old, err := s.store.Session(ctx, in.Session)
	if err != nil {
		return fail(err)
	}
	limited, cancel := context.WithTimeout(ctx, unpackLimit)
	defer cancel()
	dir, err := worktree.Unpack(limited, in.Pack, s.cfg.Roots[0], cloneID(), s.environ())
	switch {
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		return fail(terret.Errorf(terret.CodeConflict, "node %s cannot take session %s: cloning its repository took more than %v", s.cfg.Node, old.ID, unpackLimit))
	case ctx.Err() != nil:
		return fail(context.Cause(ctx))
	case err != nil:
		return fail(terret.Errorf(terret.CodeConflict, "node %s cannot take session %s: %w", s.cfg.Node, old.ID, err))
	}
	var made MadeSession
	err = s.inClone(dir, in.Pack.URL, func() error {
		cwd, err := s.inRoots("cwd", dir)
		if err == nil {
			err = s.sessions.add(ctx, s)
		}
		if err != nil {
			return err
		}
		made.Session, err = s.maker.Succeed(ctx, old, cwd, in.Agent, in.Model, assemble.CreateOptions{Tell: func(note string) { made.Notes = append(made.Notes, note) }})
		if err != nil {
			s.sessions.remove()
		}
		return err
	})
	return made, err
}
