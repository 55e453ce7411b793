package client

import (
	"context"

	"github.com/terret-dev/terret"
)

// NotifySettings says how people are told without a browser.
type NotifySettings struct {
	BaseURL  string          `json:"base_url,omitempty"` // where people reach the server
	Channels []NotifyChannel `json:"channels"`
}

// NotifyChannel is somewhere that messages go.
type NotifyChannel struct {
	ID       string       `json:"id,omitempty"` // given by the server, if it is empty
	Kind     string       `json:"kind"`         // ntfy, webhook
	URL      string       `json:"url"`
	Events   []string     `json:"events,omitempty"` // needs, done, failed, budget; none means all
	Quiet    *NotifyQuiet `json:"quiet,omitempty"`
	Secret   string       `json:"secret,omitempty"` // never shown: (kept) stands for it
	Disabled bool         `json:"disabled,omitempty"`
	Private  bool         `json:"private,omitempty"` // an inner address is meant
	Answers  bool         `json:"answers,omitempty"` // readers may allow and deny
}

// NotifyQuiet is a part of each day in which nothing is sent.
type NotifyQuiet struct {
	From string `json:"from"`
	To   string `json:"to"`
	Zone string `json:"zone,omitempty"`
}

// Notify is what is set, and what became of it.
type Notify struct {
	NotifySettings
	Waiting []NotifyDelivery `json:"waiting"`
	Lost    []NotifyDelivery `json:"lost"` // given up, the newest last
	Dropped int              `json:"dropped"`
}

// NotifyDelivery is something that one channel is told.
type NotifyDelivery struct {
	ID      string      `json:"id"`
	Channel string      `json:"channel"`
	Event   string      `json:"event"`
	Session string      `json:"session,omitempty"`
	Turn    string      `json:"turn,omitempty"`
	Request string      `json:"request,omitempty"`
	At      terret.Time `json:"at"`
	Failure string      `json:"failure,omitempty"` // why the turn failed
	Due     terret.Time `json:"due"`
	Tries   int         `json:"tries"`
	Error   string      `json:"error,omitempty"` // why the last try failed
}

// Notify shows the channels of notification, and what was not delivered.
func (c *Client) Notify(ctx context.Context) (Notify, error) {
	return do[Notify](ctx, c, call{method: "GET", path: at("notify")})
}

// SetNotify replaces the channels of notification.
func (c *Client) SetNotify(ctx context.Context, s NotifySettings) (Notify, error) {
	return do[Notify](ctx, c, call{method: "PUT", path: at("notify"), body: s})
}

// TestNotify sends a message to a channel as a test.
func (c *Client) TestNotify(ctx context.Context, id string) error {
	return c.done(ctx, call{method: "POST", path: at("notify", "test"), body: map[string]string{"id": id}})
}
