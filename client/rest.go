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

// Discover lists the sessions that a person had with agents without Terret, on the server's
// machine: those of one agent, or of all.
func (c *Client) Discover(ctx context.Context, agent string) ([]terret.Discovered, error) {
	p, err := do[terret.Page[terret.Discovered]](ctx, c, call{method: "GET", path: at("discovered"), query: values("agent", agent)})
	return p.Items, err
}

// Adopt makes a session of one that was discovered.
func (c *Client) Adopt(ctx context.Context, agent, nativeID string) (terret.Session, error) {
	return do[terret.Session](ctx, c, call{method: "POST", path: at("discovered"), body: map[string]string{"agent": agent, "native_id": nativeID}})
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

// Identity is who a token is.
type Identity struct {
	Name    string `json:"name"`
	Scope   string `json:"scope"`             // view, prompt, decide, admin
	Session string `json:"session,omitempty"` // the only one that it is valid for
}

// Me reports whose token the client has.
func (c *Client) Me(ctx context.Context) (Identity, error) {
	return do[Identity](ctx, c, call{method: http.MethodGet, path: at("me")})
}

// NewToken describes a token to make. A token without a session is for all of them.
type NewToken struct {
	Name    string `json:"name"`
	Scope   string `json:"scope"`
	Session string `json:"session,omitempty"`
	Seconds int64  `json:"seconds,omitempty"` // how long it is valid; zero means until it is revoked
}

// Token is a token; Secret is set only when it was just made.
type Token struct {
	Name      string      `json:"name"`
	Scope     string      `json:"scope"`
	Session   string      `json:"session,omitempty"`
	CreatedAt terret.Time `json:"created_at"`
	ExpiresAt terret.Time `json:"expires_at,omitzero"`
	Secret    string      `json:"token,omitempty"`
}

// MakeToken makes a token.
func (c *Client) MakeToken(ctx context.Context, n NewToken) (Token, error) {
	return do[Token](ctx, c, call{method: http.MethodPost, path: at("tokens"), body: n})
}

// Tokens lists the tokens, without their secrets.
func (c *Client) Tokens(ctx context.Context) ([]Token, error) {
	return items[Token](ctx, c, call{method: http.MethodGet, path: at("tokens")})
}

// RevokeToken revokes a token.
func (c *Client) RevokeToken(ctx context.Context, name string) error {
	return c.done(ctx, call{method: http.MethodDelete, path: at("tokens"), query: values("name", name)})
}

// Root is a folder in which sessions may work.
type Root struct {
	Path string `json:"path"`
}

// Roots lists the folders in which sessions may work, subfolders included.
func (c *Client) Roots(ctx context.Context) ([]Root, error) {
	return items[Root](ctx, c, call{method: http.MethodGet, path: at("roots")})
}
