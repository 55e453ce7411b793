package client

import (
	"context"
	"net/http"
	"time"

	"github.com/terret-dev/terret"
)

// Fleet is the nodes that share a database.
type Fleet struct {
	Node       string        `json:"node,omitempty"` // the one that answers
	Nodes      []terret.Node `json:"nodes"`          // by name; none on a single machine
	DatabaseMS float64       `json:"database_ms"`    // how long the database takes to answer this node
}

// Fleet shows the nodes of the fleet.
func (c *Client) Fleet(ctx context.Context) (Fleet, error) {
	return do[Fleet](ctx, c, call{method: http.MethodGet, path: at("fleet")})
}

// DrainNode lets a node finish its turns, for which they have wait, and stop. An empty
// name means the node that answers, zero an hour. Needs an admin token.
func (c *Client) DrainNode(ctx context.Context, node string, wait time.Duration) (Fleet, error) {
	body := map[string]int{}
	if wait > 0 {
		body["wait"] = max(1, int(wait.Seconds()))
	}
	return do[Fleet](ctx, c, call{method: http.MethodPost, path: at("fleet", "drain"), query: values("node", node), body: body})
}
