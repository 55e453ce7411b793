package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

// Ask has a node do what a request asks for, as if that had come to the node itself. The
// body is JSON, or nothing if in is nil. The response is decoded into out, unless that is
// nil or the response is empty. The error is what the node said, or not_found if the node
// does not run.
func Ask(ctx context.Context, fleet terret.Fleet, node string, by access.Identity, method, url string, in, out any) error {
	q := question{Method: method, URL: url, By: by}
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		q.Type, q.Body = "application/json", text
	}
	a, err := askNode(ctx, fleet, node, q)
	if err == nil {
		err = a.problem(node)
	}
	if err != nil || out == nil || len(a.Body) == 0 {
		return err
	}
	return json.Unmarshal(a.Body, out)
}

func askNode(ctx context.Context, fleet terret.Fleet, node string, q question) (answer, error) {
	var a answer
	text, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	said, err := fleet.Call(ctx, node, text)
	if err == nil {
		err = json.Unmarshal(said, &a)
	}
	return a, err
}

// problem is the error that a node answered with, or nil.
func (a answer) problem(node string) error {
	if a.Status >= http.StatusOK && a.Status < http.StatusMultipleChoices {
		return nil
	}
	var p Problem
	if err := json.Unmarshal(a.Body, &p); err != nil || p.Kind == "" {
		return terret.Errorf(terret.CodeInternal, "node %s answered with status %d; it may run an older version", node, a.Status)
	}
	return &terret.Error{Code: p.Kind, Message: p.Detail, Field: p.Field}
}
