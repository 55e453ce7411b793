package opencode

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

// agent is OpenCode at work on a session. It has a seat at a server, which changes when
// a turn needs what is fixed at a server's start.
type agent struct {
	d    *Driver
	req  terret.OpenRequest
	work sync.WaitGroup // seats

	life context.Context // ends when the agent is closed
	end  context.CancelCauseFunc

	// switching is held while a seat is taken or left, or a turn is begun.
	switching sync.Mutex

	mu      sync.Mutex
	seat    *seat
	launch  launch // of the seat
	closed  bool
	native  string
	session choice
	turn    terret.Settings // of the turn
	undone  []string        // messages that the conversation went back to, the last one first
}

// choice is what may change between turns.
type choice struct{ model, mode string }

// cursor is what must be known to open the agent again.
type cursor struct {
	Undone []string `json:"undone,omitempty"`
}

func newAgent(d *Driver, r terret.OpenRequest) *agent {
	a := &agent{d: d, req: r, native: string(r.Session.NativeID), session: choice{r.Session.Model, r.Session.PermissionMode}, turn: r.Settings}
	a.life, a.end = context.WithCancelCause(context.Background())
	var c cursor
	decode(r.Cursor, &c)
	a.undone = c.Undone
	return a
}

// ready returns a seat at a server that can take a turn with those settings.
// a.switching must be held.
func (a *agent) ready(ctx context.Context, in terret.Settings) (*seat, error) {
	l, err := a.d.launchOf(a.req, in)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	s, closed := a.seat, a.closed
	same := s != nil && a.launch.key() == l.key() && s.life.Err() == nil
	a.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed
	case same:
		return s, nil
	case s != nil:
		s.end(errClosed)
		<-s.told
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.life, func() { cancel(errClosed) })()
	got, err := a.d.pool.acquire(ctx, l, a.req.Owner, a.d.tempo.start, a.req.Log)
	if err != nil {
		return nil, err
	}
	if s, err = a.sit(ctx, got, in); err != nil {
		got.release()
		return nil, err
	}
	a.mu.Lock()
	a.seat, a.launch = s, l
	a.mu.Unlock()
	a.work.Go(s.serve)
	return s, nil
}

// gone notes that a seat was left.
func (a *agent) gone(s *seat) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seat == s {
		a.seat = nil
	}
}

// turnEnded leaves the server where each turn is to have its own.
func (a *agent) turnEnded(s *seat) {
	if a.req.Session.OneShot {
		s.end(errClosed)
	}
}

// whole reports whether pieces of messages are to be left out.
func (a *agent) whole() bool { return a.settings().WholeMessages }

// settings are those of the turn.
func (a *agent) settings() terret.Settings {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turn
}

// current is the seat that there is, or nil.
func (a *agent) current() *seat {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seat
}

// promptBody is what the server is sent.
type promptBody struct {
	Model   *modelRef       `json:"model,omitempty"`
	Agent   string          `json:"agent,omitempty"`
	Variant string          `json:"variant,omitempty"`
	System  string          `json:"system,omitempty"`
	Tools   map[string]bool `json:"tools,omitempty"`
	Format  any             `json:"format,omitempty"`
	Parts   []inputPart     `json:"parts"`
}

type inputPart struct {
	Type     string            `json:"type"` // text, file
	Text     string            `json:"text,omitempty"`
	Mime     string            `json:"mime,omitempty"`
	Filename string            `json:"filename,omitempty"`
	URL      string            `json:"url,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// messageKey is where a prompt's parts hold our id of the message. The agent keeps it,
// in copies of the session too.
const messageKey = "terret_message"

func partsOf(p terret.Prompt) []inputPart {
	var out []inputPart
	for _, b := range p.Blocks {
		switch b.Type {
		case terret.BlockText:
			out = append(out, inputPart{Type: "text", Text: b.Text, Metadata: map[string]string{messageKey: p.MessageID}})
		case terret.BlockImage, terret.BlockDocument:
			url := b.URL
			if len(b.Bytes) > 0 {
				url = "data:" + b.MediaType + ";base64," + base64.StdEncoding.EncodeToString(b.Bytes)
			}
			out = append(out, inputPart{Type: "file", Mime: b.MediaType, Filename: b.Name, URL: url})
		case terret.BlockThinking, terret.BlockToolUse, terret.BlockToolResult: // nobody says that to an agent
		}
	}
	if !slices.ContainsFunc(out, func(p inputPart) bool { return p.Type == "text" }) {
		out = append(out, inputPart{Type: "text", Text: " ", Metadata: map[string]string{messageKey: p.MessageID}})
	}
	return out
}

// body is the prompt with all that is in force.
func (s *seat) body(p terret.Prompt, in terret.Settings) (promptBody, error) {
	s.a.mu.Lock()
	session := s.a.session
	s.a.mu.Unlock()
	model, err := s.about.choose(cmp.Or(in.Model, session.model))
	if err != nil {
		return promptBody{}, err
	}
	role, err := s.about.primary(cmp.Or(in.PermissionMode, session.mode))
	if err != nil {
		return promptBody{}, err
	}
	out := promptBody{Agent: role.Name, Variant: in.Effort, System: in.SystemAppend, Parts: partsOf(p)}
	if model != (modelRef{}) {
		out.Model = &model
	}
	if len(in.OutputSchema) > 0 {
		out.Format = map[string]any{"type": "json_schema", "schema": json.RawMessage(in.OutputSchema)}
	}
	gone := s.about.names.missing(s.about.tools, in)
	for _, tool := range gone {
		if tool == "edit" && !slices.Contains(gone, "write") {
			continue // it would take the others with it; rules deny it when it is used
		}
		if out.Tools == nil {
			out.Tools = map[string]bool{}
		}
		out.Tools[tool] = false
	}
	return out, nil
}

// setUp gives the session the rules of the turn. From here on there is no way forward to
// what was undone.
func (s *seat) setUp(ctx context.Context, role string, in terret.Settings) error {
	found, err := s.about.primary(role)
	if err != nil {
		return err
	}
	gone := s.about.gone(in)
	rules := sessionRules(found.Permission, gone, func(tool string) bool {
		return slices.Contains(s.about.tools, tool) && !slices.Contains(gone, tool)
	})
	s.mu.Lock()
	told := slices.Equal(rules, s.rules)
	s.mu.Unlock()
	if !told {
		if err := s.c.patch(ctx, "/session/"+s.native, map[string]any{"permission": rules}); err != nil {
			return s.diagnose(err)
		}
	}
	a := s.a
	s.mu.Lock()
	s.role, s.rules = found.Name, rules
	if len(s.about.names.missing(s.about.tools, in)) > 0 {
		s.rules = nil // the prompt adds some of its own
	}
	s.mu.Unlock()
	a.mu.Lock()
	forget := len(a.undone) > 0
	a.turn, a.undone = in, nil
	a.mu.Unlock()
	if forget {
		return a.req.Host.Emit(ctx, nil, encode(cursor{}))
	}
	return nil
}

// run begins a turn and hands it to the server.
func (s *seat) run(ctx context.Context, turn, role string, in terret.Settings, hand func(context.Context) error) error {
	if err := s.setUp(ctx, role, in); err != nil {
		return err
	}
	s.mu.Lock()
	aborted := s.aborted
	s.mu.Unlock()
	if aborted != nil {
		<-aborted
	}
	now := time.Now()
	s.mu.Lock()
	s.t.begin(turn, now)
	s.idleAt, s.spokeAt, s.abortAt, s.late, s.stopped = time.Time{}, now, time.Time{}, nil, false
	s.mu.Unlock()
	if err := hand(ctx); err != nil {
		s.mu.Lock()
		s.t.retract()
		s.mu.Unlock()
		return s.diagnose(err)
	}
	s.nudge()
	return nil
}

// lasting hands over what the server answers only at the end of the turn.
func (s *seat) lasting(path string, body any) func(context.Context) error {
	return func(context.Context) error {
		s.begin(func() {
			err := s.c.wait(s.life, http.MethodPost, path, body, nil)
			s.mu.Lock()
			s.late = err
			if s.t.turn != nil && s.idleAt.IsZero() {
				s.idleAt, s.looked = time.Now(), 0
			}
			s.mu.Unlock()
			s.nudge()
		})
		return nil
	}
}

// Prompt implements terret.Agent.
func (a *agent) Prompt(ctx context.Context, turn string, p terret.Prompt, in terret.Settings) error {
	if err := checkSettings(in); err != nil {
		return err
	}
	a.switching.Lock()
	defer a.switching.Unlock()
	s, err := a.ready(ctx, in)
	if err != nil {
		return err
	}
	body, err := s.body(p, in)
	if err != nil {
		return err
	}
	return s.run(ctx, turn, body.Agent, in, func(ctx context.Context) error {
		return s.c.post(ctx, "/session/"+s.native+"/prompt_async", body, nil)
	})
}

// Steer implements terret.Steerer. The agent takes the message up before it asks the
// model again.
func (a *agent) Steer(ctx context.Context, _ string, p terret.Prompt) error {
	s := a.current()
	if s == nil {
		return terret.Errorf(terret.CodeConflict, "the agent has no server at the moment; prompt the session to start one")
	}
	body, err := s.body(p, a.settings())
	if err != nil {
		return err
	}
	if err := s.c.post(ctx, "/session/"+s.native+"/prompt_async", body, nil); err != nil {
		return s.diagnose(err)
	}
	return nil
}

// Interrupt implements terret.Agent.
func (a *agent) Interrupt(_ context.Context, turn string) error {
	s := a.current()
	if s == nil {
		return nil // then no turn runs
	}
	s.mu.Lock()
	u := s.t.turn
	if u == nil || turn != "" && u.id != turn {
		s.mu.Unlock()
		return nil
	}
	u.interrupted = true
	s.mu.Unlock()
	s.abort()
	return nil
}

// Close implements terret.Agent.
func (a *agent) Close(context.Context) error { return a.shut(false) }

// Kill implements terret.Killer. A server that others use too is ended only if it does
// not stop by itself.
func (a *agent) Kill(context.Context) error { return a.shut(true) }

func (a *agent) shut(force bool) error {
	a.mu.Lock()
	a.closed = true
	s := a.seat
	a.mu.Unlock()
	a.end(errClosed) // of what is being started
	if s != nil && force {
		s.force()
	}
	if s != nil {
		s.end(errClosed)
	}
	a.switching.Lock() // a seat that was being taken has been taken, or given up
	a.mu.Lock()
	late := a.seat
	a.mu.Unlock()
	if late != nil {
		late.end(errClosed)
	}
	a.switching.Unlock()
	a.work.Wait()
	return nil
}

// force makes the server stop the turn, and ends it if it does not.
func (s *seat) force() {
	if !s.lease.shared() {
		return // it ends with us
	}
	ctx, cancel := context.WithTimeout(context.Background(), abortTime)
	defer cancel()
	_ = s.c.post(ctx, "/session/"+s.native+"/abort", nil, nil)
	tick := time.NewTicker(s.a.d.tempo.settle / 3)
	defer tick.Stop()
	for {
		if busy, err := s.c.busy(ctx, s.native); err == nil && !busy {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.a.req.Log.Warn("the agent's server does not stop a turn and is ended, for other sessions too")
			_, _ = s.lease.proc.Kill()
			return
		}
	}
}

// Capabilities implements terret.Agent.
func (a *agent) Capabilities() terret.Capabilities { return capabilities() }
