package assemble

import (
	"cmp"
	"context"
	"os"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/config"
)

// Node is the name of this machine in a fleet, or empty if the store is not a fleet's.
func (h *Harness) Node() string {
	if _, ok := h.Store.(terret.Fleet); !ok {
		return ""
	}
	return NodeName(h.options.Config)
}

// NodeName is the name that this machine has in a fleet.
func NodeName(c config.Config) string {
	host, _ := os.Hostname() // then it has no name of its own
	return cmp.Or(c.Node, host, "localhost")
}

// RefuseNode refuses a node that can do it itself.
func RefuseNode(ctx context.Context, fleet terret.Fleet, name string) error {
	if name == "" {
		return nil
	}
	if fleet == nil {
		return terret.Invalid("node", "the sessions are in a file on this machine, so there are no nodes")
	}
	nodes, err := fleet.Nodes(ctx)
	if err == nil && slices.ContainsFunc(nodes, func(n terret.Node) bool { return n.Name == name }) {
		err = terret.Errorf(terret.CodeConflict, "node %s runs; do this there, so that worktrees and clones go with their sessions", name)
	}
	return err
}
