package client

import (
	"context"

	"github.com/terret-dev/terret"
)

// What to do with a prompt while a turn runs. The empty value means reject.
const (
	WhenReject = "reject"
	WhenQueue  = "queue"
	WhenSteer  = "steer"
)

// NewTurn is a prompt, as text or as blocks.
type NewTurn struct {
	Prompt    string             `json:"prompt,omitempty"`
	Blocks    []terret.Block     `json:"blocks,omitempty"`
	MessageID string             `json:"message_id,omitempty"`
	ParentID  string             `json:"parent_id,omitempty"`
	Root      bool               `json:"root,omitempty"`
	When      string             `json:"when,omitempty"`
	Options   terret.TurnOptions `json:"options,omitzero"`
	// Key makes it safe to send the prompt again: the same key never starts a second
	// turn.
	Key string `json:"-"`
}

// Prompt starts a turn, queues it or steers the running one. Events reports what
// follows.
func (c *Client) Prompt(ctx context.Context, session string, n NewTurn) (terret.Turn, error) {
	return do[terret.Turn](ctx, c, call{method: "POST", path: at("sessions", session, "turns"), body: n, key: n.Key})
}

// Turns lists the turns of a session, oldest first.
func (c *Client) Turns(ctx context.Context, session string) ([]terret.Turn, error) {
	return items[terret.Turn](ctx, c, call{method: "GET", path: at("sessions", session, "turns")})
}

// items requests a list that comes in one piece.
func items[T any](ctx context.Context, c *Client, r call) ([]T, error) {
	p, err := do[terret.Page[T]](ctx, c, r)
	return p.Items, err
}

// Queue lists the queued prompts, in order.
func (c *Client) Queue(ctx context.Context, session string) ([]terret.Turn, error) {
	return items[terret.Turn](ctx, c, call{method: "GET", path: at("sessions", session, "queue")})
}

// EditQueued changes a queued prompt. Before, if set, is the turn to move it before, or
// "end".
func (c *Client) EditQueued(ctx context.Context, session, turn string, n NewTurn, before string) (terret.Turn, error) {
	body := struct {
		Prompt  string             `json:"prompt,omitempty"`
		Blocks  []terret.Block     `json:"blocks,omitempty"`
		Options terret.TurnOptions `json:"options,omitzero"`
		Before  string             `json:"before,omitempty"`
	}{n.Prompt, n.Blocks, n.Options, before}
	return do[terret.Turn](ctx, c, call{method: "PATCH", path: at("sessions", session, "queue", turn), body: body})
}

// SendQueued sends a prompt on that is held since somebody stopped the turn before it, or
// all of them if turn is empty.
func (c *Client) SendQueued(ctx context.Context, session, turn string) error {
	body := struct {
		Turn string `json:"turn,omitempty"`
	}{turn}
	return c.done(ctx, call{method: "POST", path: at("sessions", session, "queue", "send"), body: body})
}

// DropQueued removes a queued prompt.
func (c *Client) DropQueued(ctx context.Context, session, turn string) error {
	return c.done(ctx, call{method: "DELETE", path: at("sessions", session, "queue", turn)})
}

// Commands lists what can be run with RunCommand.
func (c *Client) Commands(ctx context.Context, session string) ([]terret.Command, error) {
	return items[terret.Command](ctx, c, call{method: "GET", path: at("sessions", session, "commands")})
}

// RunCommand runs a command of the agent as a turn.
func (c *Client) RunCommand(ctx context.Context, session, name, args string) (terret.Turn, error) {
	return do[terret.Turn](ctx, c, call{method: "POST", path: at("sessions", session, "commands"), body: map[string]string{"name": name, "args": args}})
}

// Compact makes the agent compress its context, as a turn.
func (c *Client) Compact(ctx context.Context, session, instructions string) (terret.Turn, error) {
	body := map[string]string{}
	if instructions != "" {
		body["instructions"] = instructions
	}
	return do[terret.Turn](ctx, c, call{method: "POST", path: at("sessions", session, "compact"), body: body})
}

// Context reports what fills the context of a session's agent.
func (c *Client) Context(ctx context.Context, session string) (terret.ContextUsage, error) {
	return do[terret.ContextUsage](ctx, c, call{method: "GET", path: at("sessions", session, "context")})
}
