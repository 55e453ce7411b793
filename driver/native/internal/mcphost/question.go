package mcphost

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/elicit"
)

const maxTold = 2000 // characters of a notice of progress

// elicit puts the question of a server to a person: a form, or an address that he is to open.
func (s *Servers) elicit(ctx context.Context, server string, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if p.URL != "" {
		if u, err := url.Parse(p.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return nil, fmt.Errorf("%q is not an address that a person could open", p.URL)
		}
	}
	schema, err := json.Marshal(p.RequestedSchema)
	if err != nil {
		return nil, fmt.Errorf("the question must be a form: %w", err)
	}
	form, err := elicit.Parse(schema, elicit.Options{From: server})
	if err != nil {
		return nil, err
	}
	d, err := s.o.Ask(ctx, terret.QuestionRequest{Questions: form.Questions(p.Message), URL: p.URL})
	if err != nil {
		return &mcp.ElicitResult{Action: elicit.Declined}, nil // nobody answered
	}
	r, err := form.Result(d)
	if err != nil {
		return nil, err
	}
	return &mcp.ElicitResult{Action: r.Action, Content: r.Content}, nil
}
