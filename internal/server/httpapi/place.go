package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/presets"
	"github.com/terret-dev/terret/internal/worktree"
)

// createFrom makes a session in a clone of a repository, on the node with the fewest
// sessions that has the labels and takes another one.
func (s *Server) createFrom(ctx context.Context, n newSession) (*body[MadeSession], error) {
	if n.Cwd != "" {
		return nil, terret.Invalid("cwd", "use either cwd or repo")
	}
	if err := need(ctx, access.Decide); err != nil { // it uses what the worker's git may do
		return nil, err
	}
	if s.fleet != nil && ctx.Value(relayedKey{}) == nil {
		nodes, err := s.fleet.Nodes(ctx)
		if err != nil {
			return nil, err
		}
		node, err := chooseNode(nodes, n.Labels)
		if err != nil {
			return nil, err
		}
		if node != s.cfg.Node {
			return s.createOn(ctx, node, n)
		}
	}
	dir, err := worktree.Clone(ctx, n.Repo, s.cfg.Roots[0], cloneID(), s.environ())
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, terret.Invalid("repo", "%w", err)
	}
	var made *body[MadeSession]
	err = s.inClone(dir, n.Repo, func() (err error) {
		n.Cwd, n.Repo, n.Labels = dir, "", nil
		made, err = s.createHere(ctx, n, presets.Preset{})
		return err
	})
	return made, err
}

// environ is the environment of git when it clones.
func (s *Server) environ() []string {
	if s.cfg.Env == nil {
		return os.Environ()
	}
	return s.cfg.Env
}

// cloneID ends the name of a clone's folder.
func cloneID() string {
	id := terret.NewSessionID()
	return id[len(id)-8:]
}

// inClone has create make a session in a clone, and removes the clone if that fails.
func (s *Server) inClone(dir, address string, create func() error) error {
	err := worktree.NoteClone(s.maker.Home, dir, address)
	if err == nil {
		err = create()
	}
	if err != nil { // nobody knows of the clone
		if left := worktree.DropClone(s.maker.Home, dir); left != nil {
			s.log.Warn("cannot remove a clone that no session uses", "dir", dir, "error", left)
		}
	}
	return err
}

// chooseNode chooses the node for a session.
func chooseNode(nodes []terret.Node, labels []string) (string, error) {
	var fit []terret.Node
	for _, n := range nodes {
		has := !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(n.Labels, l) })
		if has && !n.Draining && (n.Max == 0 || n.Sessions < n.Max) {
			fit = append(fit, n)
		}
	}
	if len(fit) == 0 {
		return "", terret.Errorf(terret.CodeConflict, "none of %d nodes takes another session with these labels; `terret fleet` shows their labels and limits", len(nodes))
	}
	best := slices.MinFunc(fit, func(a, b terret.Node) int {
		return cmp.Or(cmp.Compare(a.Sessions, b.Sessions), cmp.Compare(a.Working, b.Working), cmp.Compare(a.Name, b.Name))
	})
	return best.Name, nil
}

// createOn has another node make the session.
func (s *Server) createOn(ctx context.Context, node string, n newSession) (*body[MadeSession], error) {
	return reply(s.madeBy(ctx, node, "/v1/sessions", n))
}

// madeBy asks another node to make a session.
func (s *Server) madeBy(ctx context.Context, node, path string, what any) (made MadeSession, err error) {
	err = Ask(ctx, s.fleet, node, limited(access.From(ctx)), http.MethodPost, path, what, &made)
	return made, err
}
