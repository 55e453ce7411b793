package client

import (
	"context"
	"iter"
	"strconv"

	"github.com/terret-dev/terret"
)

// Member is a member of the team.
type Member struct {
	Name      string            `json:"name"`
	Agent     string            `json:"agent"` // the kind of agent, or person
	State     terret.AgentState `json:"state"`
	Detail    string            `json:"detail,omitempty"`
	Session   string            `json:"session,omitempty"`
	Mail      int               `json:"mail"` // messages that it has not dealt with
	Mode      string            `json:"mode,omitempty"`
	Model     string            `json:"model,omitempty"`
	Cwd       string            `json:"cwd,omitempty"`
	Topics    []string          `json:"topics,omitempty"`
	ReportsTo string            `json:"reports_to,omitempty"`
	JoinedAt  terret.Time       `json:"joined_at"`

	Instructions   string   `json:"instructions,omitempty"`
	AllowedTools   []string `json:"allowed_tools,omitzero"` // nil means all
	PermissionMode string   `json:"permission_mode,omitempty"`
	SettingSources []string `json:"setting_sources,omitzero"` // nil means none
}

// NewMember is a member to add. Name and, for agents, Cwd are required.
type NewMember struct {
	Name           string         `json:"name"`
	Agent          string         `json:"agent,omitempty"` // empty means the configured one
	Model          string         `json:"model,omitempty"`
	Cwd            string         `json:"cwd,omitempty"`
	Instructions   string         `json:"instructions,omitempty"`
	AllowedTools   []string       `json:"allowed_tools,omitempty"`
	PermissionMode string         `json:"permission_mode,omitempty"`
	SettingSources []string       `json:"setting_sources,omitempty"`
	Credentials    map[string]any `json:"credentials,omitempty"` // mode: client or query
	Topics         []string       `json:"topics,omitempty"`
	ReportsTo      string         `json:"reports_to,omitempty"`
}

// TeamMessage is a message between members of the team. To send one, To and Text are
// required; the server sets the rest.
type TeamMessage struct {
	MessageID string            `json:"message_id,omitempty"`
	Seq       int64             `json:"seq,omitempty"`
	From      string            `json:"from,omitempty"`
	To        []string          `json:"to"`
	Type      string            `json:"type,omitempty"` // chat, system, command
	Text      string            `json:"text"`
	InReplyTo string            `json:"in_reply_to,omitempty"`
	Time      terret.Time       `json:"time,omitzero"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	// Receipts says, for each recipient, what has become of it: delivered, read, failed,
	// answered, stopped, or nothing yet.
	Receipts map[string]string `json:"receipts,omitempty"`
}

// Team lists the members of the team.
func (c *Client) Team(ctx context.Context) ([]Member, error) {
	return items[Member](ctx, c, call{method: "GET", path: at("team", "agents")})
}

// Member returns a member of the team.
func (c *Client) Member(ctx context.Context, name string) (Member, error) {
	return do[Member](ctx, c, call{method: "GET", path: at("team", "agents", name)})
}

// Spawn adds a member to the team.
func (c *Client) Spawn(ctx context.Context, n NewMember) (Member, error) {
	return do[Member](ctx, c, call{method: "POST", path: at("team", "agents"), body: n})
}

// Shutdown takes a member out of the team.
func (c *Client) Shutdown(ctx context.Context, name string) error {
	_, err := do[struct{}](ctx, c, call{method: "DELETE", path: at("team", "agents", name)})
	return err
}

// SendMessage sends a message to members of the team, and returns it as it was sent.
func (c *Client) SendMessage(ctx context.Context, m TeamMessage) (TeamMessage, error) {
	body := struct {
		To        []string          `json:"to"`
		Text      string            `json:"text"`
		Type      string            `json:"type,omitempty"`
		InReplyTo string            `json:"in_reply_to,omitempty"`
		Metadata  map[string]string `json:"metadata,omitempty"`
	}{m.To, m.Text, m.Type, m.InReplyTo, m.Metadata}
	return do[TeamMessage](ctx, c, call{method: "POST", path: at("team", "messages"), body: body})
}

// TeamMessages yields the messages of the team after a number, oldest first, with the
// error last. An empty member means all members.
func (c *Client) TeamMessages(ctx context.Context, member string, after int64) iter.Seq2[TeamMessage, error] {
	return func(yield func(TeamMessage, error) bool) {
		for {
			q := values("member", member, "after", strconv.FormatInt(after, 10))
			p, err := do[terret.Page[TeamMessage]](ctx, c, call{method: "GET", path: at("team", "messages"), query: q})
			if err != nil {
				yield(TeamMessage{}, err)
				return
			}
			for _, m := range p.Items {
				if !yield(m, nil) {
					return
				}
				after = m.Seq
			}
			if p.Next == "" {
				return
			}
		}
	}
}
