package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/sse"
)

func (s *Server) turnRoutes() {
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/turns", id: "prompt", tag: tagTurns, scope: access.Prompt, status: http.StatusAccepted,
		summary: "Start a turn",
		long:    "Returns the turn as soon as it is in the log. With Accept: text/event-stream the response is the turn's own events, ending with the turn; leaving that stream does not stop the turn. If a turn is already running, `when` says what to do: reject (409, the default), queue or steer. The same Idempotency-Key never starts a second turn.",
		fails:   inSession(fromAgent...),
		reword:  done, views: []string{"hive"},
		answers: func(r huma.Registry) map[string]*huma.Response {
			return map[string]*huma.Response{
				"202": written("The turn", r.Schema(typeOf[terret.Turn](), true, "Turn"), "application/json"),
				"200": written("The turn's events", &huma.Schema{Type: huma.TypeString}, sse.ContentType),
			}
		},
	}, s.prompt)
	handle(s, route{
		method: "GET", path: "/v1/sessions/{id}/turns", id: "list-turns", tag: tagTurns, scope: access.View,
		summary: "List the turns of a session, oldest first",
		long:    "Turns that have begun, with their usage and how they ended. Waiting prompts are in the queue.",
		fails:   inSession(),
	}, s.listTurns)
	handle(s, route{
		method: "GET", path: "/v1/sessions/{id}/messages", id: "list-messages", tag: tagTurns, scope: access.View,
		summary: "List the messages of a session, oldest first",
		long:    "The conversation: prompts and whole messages of the agent, each once. If the log cannot be read to the end of the page, the connection is broken off.",
		fails:   inSession(),
		reword:  hiveMessages, views: []string{"hive"}, takes: []string{"limit", "cursor"},
		answers: func(r huma.Registry) map[string]*huma.Response {
			return map[string]*huma.Response{"200": written("OK", r.Schema(typeOf[terret.Page[terret.Message]](), true, "PageMessage"), "application/json")}
		},
	}, s.listMessages)
}

type newTurn struct {
	Prompt    string             `json:"prompt,omitempty" doc:"What the agent should do. Either this or blocks."`
	Blocks    []terret.Block     `json:"blocks,omitempty" doc:"The same as text, images and documents."`
	MessageID string             `json:"message_id,omitempty"`
	ParentID  string             `json:"parent_id,omitempty" doc:"The message that this one follows, by its id or its UUID in the neovate view. It must be the session's last."`
	Root      bool               `json:"root,omitempty" doc:"It follows no message, and begins a thread. The agent still remembers the session. Default: it follows the last one."`
	When      engine.When        `json:"when,omitempty" enum:"reject,queue,steer"`
	Options   terret.TurnOptions `json:"options,omitzero"`
}

// maxTag is how many bytes of its own a program may keep with a turn.
const maxTag = 64 << 10

// prompt is what the agent is told.
func (n newTurn) prompt() terret.Prompt {
	p := terret.Prompt{Blocks: n.Blocks, MessageID: n.MessageID, ParentID: n.ParentID, Root: n.Root, Options: n.Options}
	if n.Prompt != "" {
		p.Blocks = []terret.Block{terret.Text(n.Prompt)}
	}
	return p
}

func (s *Server) checkTurn(ctx context.Context, n newTurn) error {
	switch {
	case n.Prompt != "" && len(n.Blocks) > 0:
		return terret.Invalid("blocks", "use either prompt or blocks")
	case strings.TrimSpace(n.Prompt) == "" && !slices.ContainsFunc(n.Blocks, saysSomething):
		return terret.Invalid("prompt", "it is empty; say what the agent should do")
	}
	for field, v := range map[string]string{
		"message_id": n.MessageID, "parent_id": n.ParentID, "options.permission_mode": n.Options.PermissionMode,
		"options.model": n.Options.Model, "options.effort": n.Options.Effort,
	} {
		if err := checkName(field, v); err != nil {
			return err
		}
	}
	for field, list := range map[string][]string{
		"options.tools": n.Options.Tools, "options.disallowed_tools": n.Options.DisallowedTools, "options.auto_approve_tools": n.Options.AutoApproveTools,
		"options.tools_override": n.Options.ToolsOverride, "options.disallowed_tools_override": n.Options.DisallowedToolsOverride,
		"options.auto_approve_tools_override": n.Options.AutoApproveToolsOverride,
	} {
		if err := checkNames(field, list); err != nil {
			return err
		}
	}
	if len(n.Options.Tag) > maxTag {
		return tooLarge("options.tag", "it must not be longer than %d bytes", maxTag)
	}
	if n.Options.MaxTurns < 0 {
		return terret.Invalid("options.max_turns", "%d must not be negative", n.Options.MaxTurns)
	}
	widens := len(n.Options.AutoApproveTools)+len(n.Options.AutoApproveToolsOverride) > 0 ||
		n.Options.ToolsOverride != nil || n.Options.DisallowedToolsOverride != nil
	if widens || !s.carefulMode(n.Options.PermissionMode) {
		if err := need(ctx, access.Decide); err != nil {
			return err
		}
	}
	return s.checkBlocks(n.prompt().Blocks)
}

// saysSomething reports whether a block is more than blanks.
func saysSomething(b terret.Block) bool {
	return b.Type != terret.BlockText || strings.TrimSpace(b.Text) != ""
}

// checkBlocks accepts what a person can send: text, images and documents.
func (s *Server) checkBlocks(blocks []terret.Block) error {
	text := 0
	for _, b := range blocks {
		text += len(b.Text)
		switch b.Type {
		case terret.BlockText:
			continue
		case terret.BlockImage, terret.BlockDocument:
		case terret.BlockThinking, terret.BlockToolUse, terret.BlockToolResult:
			return terret.Invalid("blocks", "a prompt may contain text, images and documents, not %s", b.Type)
		default:
			return terret.Invalid("blocks", "there is no block of type %q", b.Type)
		}
		switch {
		case len(b.Bytes) > s.limits.Attachment:
			return tooLarge("blocks", "an attachment has %d bytes; at most %d are allowed", len(b.Bytes), s.limits.Attachment)
		case (len(b.Bytes) == 0) == (b.URL == ""):
			return terret.Invalid("blocks", "an attachment must have either bytes or a url")
		case b.MediaType == "" && len(b.Bytes) > 0:
			return terret.Invalid("blocks", "an attachment needs its media_type")
		}
		if b.URL != "" {
			if u, err := url.Parse(b.URL); err != nil || u.Scheme != "https" || u.Host == "" {
				return terret.Invalid("blocks", "the url of an attachment must begin with https://")
			}
		}
		if err := checkName("blocks", b.Name); err != nil {
			return err
		}
	}
	if text > s.limits.Prompt {
		return tooLarge("prompt", "it has %d bytes of text; at most %d are allowed", text, s.limits.Prompt)
	}
	return nil
}

type promptInput struct {
	SessionPath
	Key    string `header:"Idempotency-Key" maxLength:"255" doc:"Requests with the same key start one turn."`
	Accept string `header:"Accept" hidden:"true"`
	Body   newTurn
}

// turnAnswer is a turn, or the stream of its events.
type turnAnswer struct{ Body func(huma.Context) }

func (s *Server) prompt(ctx context.Context, in *promptInput) (*turnAnswer, error) {
	session, err := s.liveSession(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := s.stopping(); err != nil {
		return nil, err
	}
	if err := s.checkTurn(ctx, in.Body); err != nil {
		return nil, err
	}
	if err := s.mayWork(ctx, session); err != nil {
		return nil, err
	}
	release := func() {}
	if wants(in.Accept, sse.ContentType) {
		if release, err = s.slot(ctx); err != nil {
			return nil, err
		}
	}
	turn, replayed, err := s.startTurn(ctx, session, in)
	if err != nil || !wants(in.Accept, sse.ContentType) {
		release()
	}
	switch {
	case err != nil:
		return nil, err
	case wants(in.Accept, sse.ContentType) && replayed:
		return s.turnStream(ctx, session.ID, turn.ID, 0, release), nil
	case wants(in.Accept, sse.ContentType):
		return s.turnStream(ctx, session.ID, turn.ID, session.LastSeq, release), nil
	}
	return &turnAnswer{Body: func(c huma.Context) {
		_, w := humago.Unwrap(c)
		writeJSON(w, http.StatusAccepted, turn)
	}}, nil
}

// startTurn starts, queues or steers a turn, or finds the one that the same request
// started before.
func (s *Server) startTurn(ctx context.Context, session terret.Session, in *promptInput) (turn terret.Turn, replayed bool, err error) {
	r := engine.PromptRequest{Session: session.ID, Prompt: in.Body.prompt(), When: in.Body.When, By: caller(ctx)}
	prompt := r.Prompt.Blocks // for those who repeat the request
	v, err := s.keys.do(ctx, in.Key, []any{r.By, "prompt", session.ID}, in.Body, func() (any, error) {
		if in.Key != "" {
			r.Turn = turnOfKey(r.By, session.ID, "prompt", in.Key)
		}
		t, found, err := s.engine.PromptOnce(ctx, r)
		if replayed = found; found && terret.TextOf(t.Prompt) != terret.TextOf(r.Prompt.Blocks) {
			return nil, otherRequest()
		}
		prompt, t.Prompt = t.Prompt, nil // it may be large, and t is remembered
		return t, err
	}, &replayed)
	turn, _ = v.(terret.Turn)
	turn.Prompt = prompt
	return turn, replayed, err
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the caller is gone
}

// wants reports whether an Accept header names the media type.
func wants(accept, mediaType string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, _, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), mediaType) {
			return true
		}
	}
	return false
}

// turnOfKey is the id of the turn that a key starts. It is derived from the key, so it
// is the same after a restart. It depends on what the turn is for: a key that was used
// to prompt does not compact.
func turnOfKey(by, session, what, key string) string {
	return terret.DerivedID(terret.PrefixTurn, by, session, what, key)
}

// turnIn returns the turn with that id in a list, or nil.
func turnIn(list []terret.Turn, id string) *terret.Turn {
	for i := range list {
		if list[i].ID == id {
			return &list[i]
		}
	}
	return nil
}

// mayWork refuses turns in folders that this server may not work in, such as those of
// sessions that another program made, and more concurrent turns than allowed.
func (s *Server) mayWork(ctx context.Context, session terret.Session) error {
	if err := s.mayBeIn(session); err != nil {
		return err
	}
	if session.Turn != "" {
		return nil
	}
	return s.atWork.add(s.limits.Working, func() (int, error) { return s.store.CountSessions(ctx, workingStates...) })
}

// workCount keeps an upper bound on the number of working sessions: as many as there were
// when it last counted, and one for each prompt since. It counts again before it refuses,
// and after a second, because other processes run turns too.
type workCount struct {
	mu    sync.Mutex
	n     int
	at    time.Time // of the count
	added int       // prompts in all
}

// add lets a prompt in if fewer than limit sessions are working.
func (c *workCount) add(limit int, count func() (int, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for c.n >= limit || now.Sub(c.at) >= time.Second {
		now = time.Now()
		before := c.added
		c.mu.Unlock()
		n, err := count()
		c.mu.Lock()
		if err != nil {
			return err
		}
		if n >= limit {
			return tooMany("%d sessions are working, the maximum; wait until one is done", n)
		}
		if !now.Before(c.at) { // otherwise another request has counted later
			c.n, c.at = n+c.added-before, now // the last ones may not have been counted
		}
	}
	c.n++
	c.added++
	return nil
}

// mayBeIn refuses sessions in folders outside of the roots. Another node has its own.
func (s *Server) mayBeIn(session terret.Session) error {
	if s.engine.Elsewhere(session) != "" {
		return nil
	}
	_, err := s.inRoots("cwd", session.Cwd)
	return err
}

var workingStates = []terret.SessionState{
	terret.SessionStarting, terret.SessionBusy, terret.SessionWaiting, terret.SessionCompacting, terret.SessionRetrying, terret.SessionInterrupting,
}

func (s *Server) listTurns(ctx context.Context, in *SessionPath) (*body[terret.Page[terret.Turn]], error) {
	if _, err := s.session(ctx, in.ID); err != nil {
		return nil, err
	}
	return page(s.store.Turns(ctx, in.ID))
}
