package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/sse"
)

// Terminal is a shell in a session's folder, on the server.
type Terminal struct {
	ID       string      `json:"id"`
	Session  string      `json:"session"`
	Shell    string      `json:"shell"`
	OpenedBy string      `json:"opened_by"`
	OpenedAt terret.Time `json:"opened_at"`
	Columns  int         `json:"columns"`
	Rows     int         `json:"rows"`
	Shared   bool        `json:"shared"`            // tokens that may only view may look at it
	Written  int64       `json:"written"`           // bytes it has shown so far
	Busy     bool        `json:"busy"`              // something else than the shell runs in the foreground
	Program  string      `json:"program,omitempty"` // its name, if it is known
	Ended    bool        `json:"ended"`             // the shell has ended
	ExitCode *int        `json:"exit_code,omitempty"`
	Signal   string      `json:"signal,omitempty"`
}

// TerminalChange says what to change of a terminal. Columns and rows go together.
type TerminalChange struct {
	Columns int   `json:"columns,omitempty"`
	Rows    int   `json:"rows,omitempty"`
	Shared  *bool `json:"shared,omitempty"`
}

// TerminalOutput is a piece of what a terminal shows, or a change of its state.
type TerminalOutput struct {
	Data   []byte
	Next   int64     // where to resume: how many bytes there were with these
	Missed bool      // these do not follow those before
	State  *Terminal // if it has changed
}

// OpenTerminal opens a terminal in a session's folder. It, like all that types into one,
// needs an admin token. Zero is a usual size.
func (c *Client) OpenTerminal(ctx context.Context, session string, columns, rows int) (Terminal, error) {
	return do[Terminal](ctx, c, call{method: http.MethodPost, path: at("sessions", session, "terminals"), body: TerminalChange{Columns: columns, Rows: rows}})
}

// Terminals lists the terminals of a session that the token may look at, the oldest first.
func (c *Client) Terminals(ctx context.Context, session string) ([]Terminal, error) {
	p, err := do[terret.Page[Terminal]](ctx, c, call{method: http.MethodGet, path: at("sessions", session, "terminals")})
	return p.Items, err
}

// TypeIntoTerminal types a text of at most 4096 characters into a terminal.
func (c *Client) TypeIntoTerminal(ctx context.Context, session, terminal, text string) error {
	return c.done(ctx, call{method: http.MethodPost, path: at("sessions", session, "terminals", terminal, "input"), body: map[string]string{"data": text}})
}

// ChangeTerminal changes the size of a terminal, or who may look at it.
func (c *Client) ChangeTerminal(ctx context.Context, session, terminal string, change TerminalChange) (Terminal, error) {
	return do[Terminal](ctx, c, call{method: http.MethodPatch, path: at("sessions", session, "terminals", terminal), body: change})
}

// CloseTerminal closes a terminal, and returns when all that it started has ended.
func (c *Client) CloseTerminal(ctx context.Context, session, terminal string) error {
	return c.done(ctx, call{method: http.MethodDelete, path: at("sessions", session, "terminals", terminal)})
}

// FollowTerminal yields what a terminal shows after so many bytes, over as many connections
// as it takes. It ends when the terminal's shell has ended; an error comes last and once.
func (c *Client) FollowTerminal(ctx context.Context, session, terminal string, after int64) iter.Seq2[TerminalOutput, error] {
	return func(yield func(TerminalOutput, error) bool) {
		missed := false
		s := stream{c: c, path: at("sessions", session, "terminals", terminal, "output"), follow: true, last: strconv.FormatInt(after, 10)}
		err := s.run(ctx, func(ev sse.Event) (bool, error) {
			o, err := outputOf(ev)
			switch {
			case err != nil:
				return false, err
			case o.Missed:
				missed = true
				return true, nil
			case o.State == nil && o.Data == nil:
				return true, nil
			}
			o.Missed, missed = missed && o.Data != nil, missed && o.Data == nil
			if !yield(o, nil) {
				return false, nil
			}
			return o.State == nil || !o.State.Ended, nil
		})
		if err != nil {
			yield(TerminalOutput{}, err)
		}
	}
}

func outputOf(ev sse.Event) (o TerminalOutput, err error) {
	switch ev.Name {
	case "missed":
		o.Missed = true
	case "terminal":
		err = json.Unmarshal(ev.Data, &o.State)
	case "output":
		if o.Next, err = strconv.ParseInt(ev.ID, 10, 64); err == nil {
			o.Data, err = base64.StdEncoding.AppendDecode(nil, ev.Data)
		}
	}
	if err != nil {
		err = terret.Errorf(terret.CodeConnectionFailed, "cannot read an event from the server: %.200s", ev.Data)
	}
	return o, err
}
