package uhp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/internal/door/within"
)

// running is a task that has begun.
type running struct {
	session  terret.Session
	turn     string
	previous string // turn
	after    int64  // an event before the turn
	asked    tag
}

func (d *Door) createResponse(c *call) error {
	raw, err := readAll(c)
	if err != nil {
		return err
	}
	var t task
	if err := decode(raw, &t); err != nil {
		return err
	}
	if err := t.check(); err != nil {
		return err
	}
	begun, err := d.once(c, raw, func(message string) (running, error) { return d.begin(c, t, message) })
	if err != nil {
		return err
	}
	base := baseOf(c.r)
	switch {
	case t.Background != nil && *t.Background && !t.Stream:
		f := newFold(begun.session, begun.turn, begun.previous, base, nil)
		return c.answer(accepted(f, begun.asked))
	case t.Stream:
		s := newSender(c.w, -1)
		defer s.close()
		f := newFold(begun.session, begun.turn, begun.previous, base, s.send)
		return d.follow(c, f, begun.after)
	}
	f := newFold(begun.session, begun.turn, begun.previous, base, nil)
	if err := d.follow(c, f, begun.after); err != nil {
		return err
	}
	return c.answer(f.response())
}

// accepted is the response of a task of which nothing has been read yet.
func accepted(f *fold, asked tag) *response {
	text, err := json.Marshal(asked)
	if err != nil {
		panic(err) // it was read as JSON
	}
	_ = f.start(terret.Now(), terret.TurnStart{Options: &terret.TurnOptions{Tag: string(text)}}) // nobody is told
	return f.response()
}

func readAll(c *call) (json.RawMessage, error) {
	var raw json.RawMessage
	err := c.read(&raw)
	return raw, err
}

// baseOf is the address of the door, as the caller reached it.
func baseOf(r *http.Request) string {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return scheme + r.Host + Path
}

// begin begins a task, whose prompt has that id if it is not empty.
func (d *Door) begin(c *call, t task, message string) (running, error) {
	blocks, err := d.blocks(c.r.Header.Get("Authorization"), t.Input)
	if err != nil {
		return running{}, err
	}
	harness, _ := t.Metadata["harness_id"].(string)
	if _, given := t.Metadata["harness_id"]; given && harness == "" {
		return running{}, invalid("metadata.harness_id", "It must be the id of a harness.")
	}
	var h *configured
	if harness != "" {
		if h, err = d.harness(c, harness); err != nil {
			return running{}, err
		}
	}
	var b running
	fresh := t.Previous == nil || *t.Previous == ""
	if fresh {
		b, err = d.fresh(c, t, h)
	} else {
		b, err = d.further(c, *t.Previous, h)
	}
	if err != nil {
		return running{}, err
	}
	undo := func() {
		if fresh { // a session in which nothing was said is nobody's
			_, _ = c.DeleteSession(context.WithoutCancel(c.ctx), b.session.ID, true)
		}
	}
	if err := d.checkModel(c, b.session.Agent, t.Model); err != nil {
		undo()
		return running{}, err
	}
	if !fresh {
		if h, err = d.harness(c, harnessOf(b.session)); err != nil {
			h = &configured{} // it was deleted; what it was is in the session
		}
	}
	b.asked = t.tag(h)
	text, err := json.Marshal(b.asked)
	if err != nil {
		return running{}, invalid("metadata", "It cannot be kept.")
	}
	n := client.NewTurn{Blocks: blocks, When: client.WhenReject, MessageID: message, Options: terret.TurnOptions{Tag: string(text), Model: t.Model}}
	if t.Instructions != nil {
		n.Options.SystemAppend = *t.Instructions
	}
	if t.MaxStep != nil {
		n.Options.MaxTurns = *t.MaxStep
	} else if h != nil {
		n.Options.MaxTurns = h.steps()
	}
	if h != nil && !fresh {
		n.Options.DisallowedTools = h.DisabledTools // what was forbidden since the session began
	}
	turn, err := c.Prompt(c.ctx, b.session.ID, n)
	if err != nil {
		undo()
		return running{}, promptFault(err)
	}
	b.turn = turn.ID
	d.bound(c, b)
	return b, nil
}

func promptFault(err error) error {
	e := terret.AsError(err)
	if e.Code == terret.CodeInvalidRequest && strings.HasPrefix(e.Field, "options.tag") {
		return invalid("metadata", "It is too large.")
	}
	if e.Code == terret.CodeInvalidRequest && (strings.Contains(e.Message, "at most") || strings.Contains(e.Message, "longer than")) {
		f := refuse(http.StatusRequestEntityTooLarge, "file_too_large", "input", e.Message)
		f.Detail = map[string]any{"max_bytes": maxFile}
		return f
	}
	return err
}

// tag is what the log keeps of the request.
func (t task) tag(h *configured) tag {
	out := tag{Model: t.Model, Seconds: usualSeconds, Behind: t.Background != nil && *t.Background}
	for k, v := range t.Metadata {
		switch k {
		case "session_id", "harness_id", "requested_model", "model_fallback", "model_fallback_reason": // ours
		default:
			if out.Metadata == nil {
				out.Metadata = map[string]any{}
			}
			out.Metadata[k] = v
		}
	}
	switch {
	case t.Seconds != nil:
		out.Seconds = *t.Seconds
	case h != nil && h.TimeoutSeconds != nil:
		out.Seconds = *h.TimeoutSeconds
	}
	if t.MaxTokens != nil {
		out.Tokens = *t.MaxTokens
	}
	return out
}

// fresh makes a session for a task that continues none.
func (d *Door) fresh(c *call, t task, h *configured) (running, error) {
	n := client.NewSession{}
	if h != nil {
		n = h.session
	}
	if dir, _ := t.Metadata["terret_cwd"].(string); dir != "" {
		n.Cwd = dir
	}
	if n.Cwd == "" {
		roots, err := c.Roots(c.ctx)
		if err != nil {
			return running{}, err
		}
		if len(roots) == 0 {
			return running{}, refuse(http.StatusServiceUnavailable, "harness_unavailable", "", "The server has no folder to work in.")
		}
		n.Cwd = roots[0].Path
	}
	if t.Model != "" {
		n.Model = t.Model
	}
	made, err := c.CreateSession(c.ctx, n)
	if err != nil {
		if e := terret.AsError(err); e.Code == terret.CodeInvalidRequest && (e.Field == "cwd" || e.Field == "add_dirs") {
			return running{}, invalid("metadata.terret_cwd", e.Message)
		}
		return running{}, err
	}
	return running{session: made.Session, after: 0}, nil
}

// further finds the session of a response that a task continues.
func (d *Door) further(c *call, previous string, h *configured) (running, error) {
	missing := noResponse("previous_response_id", previous)
	s, turns, err := c.turn(previous, missing)
	if err != nil {
		return running{}, err
	}
	if h != nil && h.ID != harnessOf(s) {
		return running{}, refuse(http.StatusConflict, "harness_mismatch", "metadata.harness_id", "The session was begun with another harness; leave harness_id out, or begin a new session.")
	}
	return running{session: s, after: s.LastSeq, previous: turns[len(turns)-1].ID}, nil
}

// turn finds the session of a response, and its turns.
func (c *call) turn(response string, missing *fault) (terret.Session, []terret.Turn, error) {
	session, turn := parseResponse(response)
	s, err := c.known(session, missing)
	if err != nil {
		return s, nil, err
	}
	turns, err := c.Turns(c.ctx, s.ID)
	if err != nil {
		return s, nil, err
	}
	if turnAt(turns, turn) < 0 {
		return s, nil, missing
	}
	return s, turns, nil
}

func turnAt(turns []terret.Turn, id string) int {
	return slices.IndexFunc(turns, func(t terret.Turn) bool { return t.ID == id })
}

func before(turns []terret.Turn, at int) string {
	if at <= 0 {
		return ""
	}
	return turns[at-1].ID
}

// follow folds the events of a task until it has ended, or the caller is gone.
func (d *Door) follow(c *call, f *fold, after int64) error {
	err := c.fold(f, client.EventQuery{Session: f.session.ID, After: after, Kinds: kinds, Follow: true})
	if err == nil || f.ended || c.ctx.Err() != nil {
		return err
	}
	if f.emit == nil {
		return err
	}
	// The stream has begun, so it says itself that the task can no longer be followed.
	f.out.Status, f.out.Error = failed, &fault{Type: typeServer, Code: "terret_internal", Message: "The task can no longer be followed; read the response again."}
	if e := terret.AsError(err); e.Code == terret.CodeSessionNotFound {
		f.out.Status, f.out.Error = cancelled, nil
	}
	return f.tell(event{Type: "response.failed", Response: f.response()})
}

// fold feeds events until the turn has ended, the history ends or emit fails.
func (c *call) fold(f *fold, q client.EventQuery) error {
	for entry, err := range c.Events(c.ctx, q) {
		if err != nil {
			return err
		}
		ev, err := entry.Decode()
		if err != nil {
			continue // of a kind that this version does not know
		}
		if err := f.take(ev); err != nil {
			return err
		}
		if f.ended {
			return nil
		}
	}
	return nil
}

// bound stops a task at its limits. The clock is gone with the server; then the task is, too.
func (d *Door) bound(c *call, b running) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), time.Duration(b.asked.Seconds)*time.Second)
	stop := context.AfterFunc(d.life, cancel)
	r := c.r.Clone(context.WithoutCancel(c.r.Context()))
	r.Body = http.NoBody
	d.running.Go(func() {
		defer cancel()
		defer stop()
		w, err := within.Client(d.server, r)
		if err != nil {
			return
		}
		q := client.EventQuery{Session: b.session.ID, After: b.after, Kinds: []terret.Kind{terret.KindTurnComplete, terret.KindTurnError}, NoDeltas: true, Follow: true}
		if b.asked.Tokens > 0 {
			q.Kinds = append(q.Kinds, terret.KindUsageUpdate)
		}
		spent := false
		for entry, err := range w.Events(ctx, q) {
			if err != nil {
				break
			}
			ev, err := entry.Decode()
			if err != nil || ev.Turn != b.turn {
				continue
			}
			u, is := ev.Data.(terret.UsageUpdate)
			if !is {
				return // it has ended
			}
			if spent = u.Output-b.session.Usage.Output >= b.asked.Tokens; spent {
				break
			}
		}
		if !spent {
			<-ctx.Done() // also if the events cannot be followed
		}
		if d.life.Err() == nil {
			_ = interrupt(context.WithoutCancel(ctx), w, b.session.ID, b.turn) // if that is refused, nobody may stop it
		}
	})
}

// interrupt stops a turn, unless another one runs by now.
func interrupt(ctx context.Context, c *client.Client, session, turn string) error {
	s, err := c.Session(ctx, session)
	if err != nil || s.Turn != turn {
		return err
	}
	if err = c.Interrupt(ctx, session); errors.Is(err, terret.ErrConflict) {
		return nil // it ended meanwhile
	}
	return err
}

func (d *Door) getResponse(c *call) error {
	s, turns, err := c.turn(c.id(), noResponse("", c.id()))
	if err != nil {
		return err
	}
	_, turn := parseResponse(c.id())
	previous := before(turns, turnAt(turns, turn))
	if c.r.URL.Query().Get("stream") == "true" {
		after := -1
		if text := c.r.URL.Query().Get("starting_after"); text != "" {
			if after, err = strconv.Atoi(text); err != nil {
				return invalid("starting_after", "It must be the number of an event.")
			}
		}
		out := newSender(c.w, after)
		defer out.close()
		return d.follow(c, newFold(s, turn, previous, baseOf(c.r), out.send), 0)
	}
	f, err := c.folded(s, turn, previous)
	if err != nil {
		return err
	}
	return c.answer(f.response())
}

// folded is a task as the log has it now.
func (c *call) folded(s terret.Session, turn, previous string) (*fold, error) {
	f := newFold(s, turn, previous, baseOf(c.r), nil)
	if err := c.fold(f, client.EventQuery{Session: s.ID, Kinds: kinds}); err != nil {
		return nil, err
	}
	if !f.ended && s.OpenRequests > 0 && s.Turn == turn {
		f.out.Metadata["terret_waiting_for_person"] = s.OpenRequests
	}
	return f, nil
}

func (d *Door) inputItems(c *call) error {
	_, turns, err := c.turn(c.id(), noResponse("", c.id()))
	if err != nil {
		return err
	}
	_, turn := parseResponse(c.id())
	t := turns[turnAt(turns, turn)]
	content := []map[string]any{}
	for _, b := range t.Prompt {
		switch b.Type { //nolint:exhaustive // prompts have no others
		case terret.BlockText:
			content = append(content, map[string]any{"type": "input_text", "text": b.Text})
		case terret.BlockImage:
			content = append(content, map[string]any{"type": "input_image", "detail": "auto", "image_url": inPlace(b)})
		case terret.BlockDocument:
			content = append(content, map[string]any{"type": "input_file", "filename": b.Name, "file_data": inPlace(b)})
		}
	}
	id := "msg_" + bare(terret.PrefixTurn, t.ID)
	return c.answer(map[string]any{
		"object": "list", "has_more": false, "first_id": id, "last_id": id,
		"data": []any{map[string]any{"id": id, "type": "message", "role": "user", "status": "completed", "content": content}},
	})
}

func (d *Door) cancelResponse(c *call) error {
	s, _, err := c.turn(c.id(), noResponse("", c.id()))
	if err != nil {
		return err
	}
	_, turn := parseResponse(c.id())
	if err := c.stop(s.ID, turn); err != nil {
		return err
	}
	return d.getResponse(c)
}

// patience is how long a cancel waits to tell how the task ended.
const patience = 800 * time.Millisecond

// stop interrupts a turn, and waits a little until it has ended.
func (c *call) stop(session, turn string) error {
	s, err := c.Session(c.ctx, session)
	if err != nil || s.Turn != turn {
		return err
	}
	if err := interrupt(c.ctx, c.Client, session, turn); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	for entry, err := range c.Events(ctx, client.EventQuery{Session: session, After: s.LastSeq, Kinds: []terret.Kind{terret.KindTurnComplete, terret.KindTurnError}, Follow: true}) {
		if err != nil {
			break
		}
		if ev, err := entry.Decode(); err == nil && ev.Turn == turn {
			break
		}
	}
	return nil
}

// deleteResponse deletes a response that is all of its session. Of one among others, nothing
// could be deleted: the log of a session is one.
func (d *Door) deleteResponse(c *call) error {
	s, turns, err := c.turn(c.id(), noResponse("", c.id()))
	switch {
	case err != nil:
		return err
	case s.Turn != "":
		return refuse(http.StatusConflict, "session_busy", "", "A task is running in this session, and deleting does not stop it; cancel it first.")
	case len(turns) > 1:
		return refuse(http.StatusConflict, "terret_part_of_session", "", "The response is part of a longer session, whose history is one; delete the session instead.")
	}
	if _, err := c.DeleteSession(c.ctx, s.ID, false); err != nil {
		return err
	}
	return c.answer(map[string]any{"id": c.id(), "object": "response", "deleted": true})
}
