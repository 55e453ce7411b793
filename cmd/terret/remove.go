package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/assemble"
)

type removeOptions struct {
	force bool
	gone  string // a node
}

func newSessionsRm(a *app) *cobra.Command {
	var o removeOptions
	cmd := &cobra.Command{
		Use: "rm SESSION", Short: "Delete a session and its log", Args: exactArgs("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(a, args[0], func(ctx context.Context, e *engine.Engine, s terret.Session) error {
				done, err := a.remove(ctx, e, s, o)
				if done.Worktree != "" {
					a.note("its worktree %s was kept: %s", printable(done.Worktree), oneLine(done.Kept))
				}
				return err
			})(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "delete it even if a turn is running, which is killed, or if its worktree holds files that git ignores, which are deleted")
	cmd.Flags().StringVar(&o.gone, "node", "", "in a fleet: the session belongs to this node, which is gone for good; what is in its folders there stays")
	return cmd
}

// remove deletes a session, or has the node do it that has the session's folder.
func (a *app) remove(ctx context.Context, e *engine.Engine, s terret.Session, o removeOptions) (done assemble.Deleted, err error) {
	if o.gone != "" {
		return a.sessions(false).DeleteGone(ctx, s.ID, o.gone, o.force)
	}
	node := e.Elsewhere(s)
	if node == "" {
		return a.sessions(false).Delete(ctx, s.ID, o.force)
	}
	err = a.askNode(ctx, node, answerPatience, http.MethodDelete, fmt.Sprintf("/v1/sessions/%s?force=%t", s.ID, o.force), nil, &done)
	if errors.Is(err, terret.ErrNotFound) {
		err = terret.Errorf(terret.CodeConflict, "node %s does not run, and has the folder of session %s; start terret there and try again, or, if it is gone for good, use --node %[1]s", node, s.ID)
	}
	return done, err
}
