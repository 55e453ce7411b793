package client

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/terret-dev/terret"
)

// Requests returns a page of requests that are in that state; with an empty state, of all
// requests. A page of decided ones may hold fewer than the limit although more follow.
func (c *Client) Requests(ctx context.Context, f terret.RequestFilter) (terret.Page[terret.Request], error) {
	state := "all"
	if f.State == terret.RequestOpen {
		state = "open"
	}
	q := values("session", f.Session, "state", state, "limit", positive(f.Limit), "cursor", f.Cursor)
	p, err := do[terret.Page[terret.Request]](ctx, c, call{method: "GET", path: at("decisions"), query: q})
	p.Items = slices.DeleteFunc(p.Items, func(r terret.Request) bool { return f.State != "" && r.State != f.State })
	return p, err
}

// Request returns a request.
func (c *Client) Request(ctx context.Context, id string) (terret.Request, error) {
	return do[terret.Request](ctx, c, call{method: "GET", path: at("decisions", id)})
}

// Decide answers an open request. The server sets the decision's Gate, Source and By.
// The key may be empty; with a key it is safe to send the answer again.
func (c *Client) Decide(ctx context.Context, d terret.Decision, key string) (terret.Request, error) {
	body := struct {
		Behavior     terret.Behavior          `json:"behavior"`
		Scope        terret.Scope             `json:"scope,omitempty"`
		Reason       string                   `json:"reason,omitempty"`
		Rule         string                   `json:"rule,omitempty"`
		InputHash    string                   `json:"input_hash,omitempty"`
		UpdatedInput terret.JSON              `json:"updated_input,omitempty"`
		Answers      map[string]terret.Choice `json:"answers,omitempty"`
		NextMode     string                   `json:"next_mode,omitempty"`
		Interrupt    bool                     `json:"interrupt,omitempty"`
	}{d.Behavior, d.Scope, d.Reason, d.Rule, d.InputHash, d.UpdatedInput, d.Answers, d.NextMode, d.Interrupt}
	return do[terret.Request](ctx, c, call{method: "POST", path: at("decisions", d.RequestID), body: body, key: key})
}

// Agents lists the agents that the server knows.
func (c *Client) Agents(ctx context.Context) ([]terret.Probe, error) {
	return items[terret.Probe](ctx, c, call{method: "GET", path: at("agents")})
}

// Models lists the models of an agent.
func (c *Client) Models(ctx context.Context, agent string) ([]terret.Model, error) {
	return items[terret.Model](ctx, c, call{method: "GET", path: at("agents", agent, "models")})
}

// NewAgent is an agent to add: a program that speaks the Agent Client Protocol.
type NewAgent struct {
	Name  string   `json:"name"`
	Argv  []string `json:"argv"`            // the program and its arguments
	Env   []string `json:"env,omitempty"`   // variables it may see although their names look secret
	Force bool     `json:"force,omitempty"` // add it even if there is no such program yet
}

// AddAgent adds an agent, and returns what is known about it.
func (c *Client) AddAgent(ctx context.Context, n NewAgent) (terret.Probe, error) {
	return do[terret.Probe](ctx, c, call{method: "POST", path: at("agents"), body: n})
}

// RemoveAgent removes an agent that was added.
func (c *Client) RemoveAgent(ctx context.Context, name string) error {
	_, err := do[struct{}](ctx, c, call{method: "DELETE", path: at("agents", name)})
	return err
}

// Rules lists the permanent rules and, with a session's id, also those of that session.
func (c *Client) Rules(ctx context.Context, session string) ([]terret.Rule, error) {
	return items[terret.Rule](ctx, c, call{method: "GET", path: at("rules"), query: values("session", session)})
}

// PutRules replaces the permanent rules. Rules with an id keep it.
func (c *Client) PutRules(ctx context.Context, rules []terret.Rule) ([]terret.Rule, error) {
	type rule struct {
		ID      string        `json:"id,omitempty"`
		Effect  terret.Effect `json:"effect"`
		Pattern string        `json:"pattern"`
	}
	list := []rule{}
	for _, r := range rules {
		list = append(list, rule{r.ID, r.Effect, r.Pattern})
	}
	return items[terret.Rule](ctx, c, call{method: "PUT", path: at("rules"), body: map[string]any{"items": list}})
}

// Personas lists the personas of a folder.
func (c *Client) Personas(ctx context.Context, cwd string) ([]terret.Persona, error) {
	return items[terret.Persona](ctx, c, call{method: "GET", path: at("personas"), query: values("cwd", cwd)})
}

// Usage sums up usage by day, agent, model or cwd. A zero time means no bound.
func (c *Client) Usage(ctx context.Context, group string, since, until time.Time) ([]terret.UsageRow, error) {
	q := values("group", group, "since", day(since), "until", day(until))
	return items[terret.UsageRow](ctx, c, call{method: "GET", path: at("usage"), query: q})
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

// SignInLink signs in one device, once and for ten minutes.
type SignInLink struct {
	URL       string      `json:"url"`
	ExpiresAt terret.Time `json:"expires_at"`
	QR        []string    `json:"qr"` // rows of 0 and 1, where 1 is dark
}

// SignInLink makes a link that signs in a device which reaches the server at origin. The
// device may do everything.
func (c *Client) SignInLink(ctx context.Context, origin string) (SignInLink, error) {
	return do[SignInLink](ctx, c, call{method: http.MethodPost, path: at("signin", "links"), body: map[string]string{"origin": origin}})
}
