package client

import (
	"context"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
)

// NewSession describes a session to create. Cwd or Repo is required.
type NewSession struct {
	Agent            string        `json:"agent,omitempty"`
	Preset           string        `json:"preset,omitempty"` // its id
	Model            string        `json:"model,omitempty"`
	Cwd              string        `json:"cwd,omitempty"`
	Repo             string        `json:"repo,omitempty"`   // a git repository to clone and work in
	Labels           []string      `json:"labels,omitempty"` // of the node that clones it
	Persona          string        `json:"persona,omitempty"`
	Mode             terret.Mode   `json:"mode,omitempty"`
	Policy           terret.Policy `json:"policy,omitempty"`
	PermissionMode   string        `json:"permission_mode,omitempty"`
	Title            string        `json:"title,omitempty"`
	Tools            []string      `json:"tools,omitzero"`
	DisallowedTools  []string      `json:"disallowed_tools,omitzero"`
	AutoApproveTools []string      `json:"auto_approve_tools,omitzero"`
	Allow            []string      `json:"allow,omitempty"`
	Deny             []string      `json:"deny,omitempty"`
	Ask              []string      `json:"ask,omitempty"`
	SettingSources   []string      `json:"setting_sources,omitzero"`
	AddDirs          []string      `json:"add_dirs,omitempty"`
	Agents           terret.JSON   `json:"agents,omitempty"`
	MCP              terret.JSON   `json:"mcp,omitempty"`
	Effort           string        `json:"effort,omitempty"`
	FallbackModel    string        `json:"fallback_model,omitempty"`
	OutputSchema     terret.JSON   `json:"output_schema,omitempty"`
	MaxTurns         int           `json:"max_turns,omitempty"`
	MaxCostUSD       terret.Cost   `json:"max_cost_usd,omitempty"`
	SystemAppend     string        `json:"system_append,omitempty"`
	BasePrompt       bool          `json:"base_prompt,omitempty"`
	Gates            []terret.Gate `json:"gates,omitempty"`
	// Timeouts bounds, in seconds, how long requests wait at a gate.
	Timeouts map[terret.Gate]int `json:"timeouts,omitempty"`
	OneShot  bool                `json:"one_shot,omitempty"`
	NativeID string              `json:"native_id,omitempty"`
	Worktree bool                `json:"worktree,omitempty"`
	Branch   string              `json:"branch,omitempty"` // with Worktree: what to name its branch after
	KeepRaw  bool                `json:"keep_raw,omitempty"`
	Sandbox  terret.Sandbox      `json:"sandbox,omitempty"`
	OnStale  terret.OnStale      `json:"on_stale,omitempty"`
	Record   bool                `json:"record,omitempty"` // keep the model's traffic, for terret replay
	// Unenforced creates the session even if its agent cannot be held to the session's
	// restrictions.
	Unenforced bool `json:"unenforced,omitempty"`
}

// CreatedSession is a new session, with notes for the person: what to know before the
// first prompt.
type CreatedSession struct {
	terret.Session
	Notes []string `json:"notes"`
}

// CreateSession makes a session.
func (c *Client) CreateSession(ctx context.Context, n NewSession) (CreatedSession, error) {
	return do[CreatedSession](ctx, c, call{method: "POST", path: at("sessions"), body: n})
}

// Session returns a session.
func (c *Client) Session(ctx context.Context, id string) (terret.Session, error) {
	return do[terret.Session](ctx, c, call{method: "GET", path: at("sessions", id)})
}

// Sessions returns a page of sessions. It ignores IDPrefix and NativeID of the filter.
func (c *Client) Sessions(ctx context.Context, f terret.SessionFilter) (terret.Page[terret.Session], error) {
	states := make([]string, len(f.States))
	for i, s := range f.States {
		states[i] = string(s)
	}
	q := values("cwd", f.Cwd, "agent", f.Agent, "state", strings.Join(states, ","), "q", f.Query, "sort", f.Sort, "limit", positive(f.Limit), "cursor", f.Cursor)
	return do[terret.Page[terret.Session]](ctx, c, call{method: "GET", path: at("sessions"), query: q})
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// AllSessions yields sessions page by page.
func (c *Client) AllSessions(ctx context.Context, f terret.SessionFilter) iter.Seq2[terret.Session, error] {
	return pages(func(cursor string) (terret.Page[terret.Session], error) {
		f.Cursor = cursor
		return c.Sessions(ctx, f)
	})
}

// Search returns a page of messages that hold all the words, the newest first.
func (c *Client) Search(ctx context.Context, q terret.SearchQuery) (terret.Page[terret.Found], error) {
	v := values("q", q.Words, "session", q.Session, "limit", positive(q.Limit), "cursor", q.Cursor)
	return do[terret.Page[terret.Found]](ctx, c, call{method: "GET", path: at("search"), query: v})
}

// pages yields the items of all pages. The error comes last and once.
func pages[T any](next func(cursor string) (terret.Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			p, err := next(cursor)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, v := range p.Items {
				if !yield(v, nil) {
					return
				}
			}
			if cursor = p.Next; cursor == "" {
				return
			}
		}
	}
}

// UpdateSession changes the title, model, policy or permission mode of a session.
func (c *Client) UpdateSession(ctx context.Context, id string, u terret.SessionUpdated) (terret.Session, error) {
	return do[terret.Session](ctx, c, call{method: "PATCH", path: at("sessions", id), body: u})
}

// Deleted says what remains of a deleted session.
type Deleted struct {
	// Worktree is the session's worktree, if it was kept; Kept says why.
	Worktree string `json:"worktree,omitempty"`
	Kept     string `json:"kept,omitempty"`
}

// DeleteSession removes a session. A session with a running turn is removed only by
// force, which kills the turn.
func (c *Client) DeleteSession(ctx context.Context, id string, force bool) (Deleted, error) {
	q := values()
	if force {
		q.Set("force", "true")
	}
	return do[Deleted](ctx, c, call{method: "DELETE", path: at("sessions", id), query: q})
}

// Interrupt stops the running turn of a session.
func (c *Client) Interrupt(ctx context.Context, id string) error {
	return c.done(ctx, call{method: "POST", path: at("sessions", id, "interrupt")})
}

// Kill ends the running turn of a session and its agent by force.
func (c *Client) Kill(ctx context.Context, id string) error {
	return c.done(ctx, call{method: "POST", path: at("sessions", id, "kill")})
}

// CloseSession ends the agent of a session. The session can be prompted again.
func (c *Client) CloseSession(ctx context.Context, id string) error {
	return c.done(ctx, call{method: "POST", path: at("sessions", id, "close")})
}

// Rewound is what undo or redo did.
type Rewound struct {
	Turn  string   `json:"turn"`
	Files []string `json:"files"`
	Kept  []string `json:"kept,omitempty"` // not restored
	// Lost is what may have changed since the turn began and undo does not take back;
	// what the turn's commands did outside of the folder stays too.
	Lost []struct {
		Path   string `json:"path"`
		Reason string `json:"reason"`
	} `json:"lost,omitempty"`
	Commands int `json:"commands,omitempty"`
	// Conversation says that the agent's conversation moved too; Note what did not.
	Conversation bool   `json:"conversation"`
	Note         string `json:"note,omitempty"`
	Copy         string `json:"copy,omitempty"` // of what was overwritten by force
}

// Undo reverts what the last turn changed. Files that were changed since are a
// conflict, unless forced.
func (c *Client) Undo(ctx context.Context, id string, force bool) (Rewound, error) {
	return do[Rewound](ctx, c, call{method: "POST", path: at("sessions", id, "undo"), body: map[string]bool{"force": force}})
}

// Copy is what a forced undo or redo overwrote.
type Copy struct {
	ID    string      `json:"id"`
	Time  terret.Time `json:"time"`
	For   string      `json:"for"`
	Files []struct {
		Path  string `json:"path"`
		Bytes int64  `json:"bytes"`
	} `json:"files"`
}

// Copies lists what forced undos overwrote in the session's folder, the newest first.
func (c *Client) Copies(ctx context.Context, id string) ([]Copy, error) {
	page, err := do[terret.Page[Copy]](ctx, c, call{method: "GET", path: at("sessions", id, "copies")})
	return page.Items, err
}

// Restored is what RestoreCopy did.
type Restored struct {
	Files []string `json:"files"`
	Copy  string   `json:"copy,omitempty"` // of what was overwritten by force
}

// RestoreCopy puts the files of a copy back. Files that were changed since are a
// conflict, unless forced.
func (c *Client) RestoreCopy(ctx context.Context, id, copied string, force bool) (Restored, error) {
	return do[Restored](ctx, c, call{method: "POST", path: at("sessions", id, "copies", copied, "restore"), body: map[string]bool{"force": force}})
}

// Redo restores what undo reverted.
func (c *Client) Redo(ctx context.Context, id string, force bool) (Rewound, error) {
	return do[Rewound](ctx, c, call{method: "POST", path: at("sessions", id, "redo"), body: map[string]bool{"force": force}})
}

// Fork makes a session that begins as a copy of another, up to and including a message,
// or all of it.
func (c *Client) Fork(ctx context.Context, id, messageID string) (terret.Session, error) {
	body := map[string]string{}
	if messageID != "" {
		body["message_id"] = messageID
	}
	return do[terret.Session](ctx, c, call{method: "POST", path: at("sessions", id, "fork"), body: body})
}

// Messages yields the conversation, oldest first.
func (c *Client) Messages(ctx context.Context, id string) iter.Seq2[terret.Message, error] {
	return pages(func(cursor string) (terret.Page[terret.Message], error) {
		return do[terret.Page[terret.Message]](ctx, c, call{method: "GET", path: at("sessions", id, "messages"), query: values("cursor", cursor)})
	})
}

// Export writes a session to w as NDJSON.
func (c *Client) Export(ctx context.Context, id string, w io.Writer) error {
	res, err := c.send(ctx, call{method: "GET", path: at("sessions", id, "export")})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(w, res.Body); err != nil {
		return terret.Errorf(terret.CodeConnectionFailed, "export session %s: %w", id, err)
	}
	return nil
}

// Import makes a session from an export, in the folder cwd or, if that is empty, in its
// original folder.
func (c *Client) Import(ctx context.Context, r io.Reader, cwd string) (terret.Session, error) {
	return do[terret.Session](ctx, c, call{method: "POST", path: at("sessions", "import"), reader: r, query: values("cwd", cwd)})
}

// HandedOver is a session that continues another one, and its first turn.
type HandedOver struct {
	terret.Session
	First terret.Turn `json:"first,omitzero"` // zero if none has begun
	Notes []string    `json:"notes,omitempty"`
}

// Handoff hands a session over to another agent, which continues the work in a session
// of its own. An empty model means the agent's default, an empty prompt to continue.
func (c *Client) Handoff(ctx context.Context, id, agent, model, prompt string) (HandedOver, error) {
	body := struct {
		Agent  string `json:"agent"`
		Model  string `json:"model,omitempty"`
		Prompt string `json:"prompt,omitempty"`
	}{agent, model, prompt}
	return do[HandedOver](ctx, c, call{method: "POST", path: at("sessions", id, "handoff"), body: body})
}

// Move says where a session continues.
type Move struct {
	// Node is the node's name, or "any": the one with the fewest sessions that has the
	// labels of the session's own.
	Node string `json:"node"`
	// Agent and Model are those of the new session; empty means the same.
	Agent string `json:"agent,omitempty"`
	Model string `json:"model,omitempty"`
	// Prompt is what to do next; empty means to continue. Idle begins no turn.
	Prompt string `json:"prompt,omitempty"`
	Idle   bool   `json:"idle,omitempty"`
}

// Move has a session on another node of the fleet go on with the work of one that was begun
// from a git repository. Needs a token that may decide.
func (c *Client) Move(ctx context.Context, id string, m Move) (HandedOver, error) {
	return do[HandedOver](ctx, c, call{method: "POST", path: at("sessions", id, "handoff"), body: m})
}
