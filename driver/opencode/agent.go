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
	"github.com/terret-dev/terret/driver/internal/seat"
)

// agent is OpenCode at work on a session. It stays at a server, and changes to another
// when a turn needs what is fixed at a server's start.
type agent struct {
	*seat.Seat[*stay]
	d *Driver

	mu      sync.Mutex
	native  string
	session choice
	turn    terret.Settings // of the turn
}

// choice is what may change between turns.
type choice struct{ model, mode string }

func newAgent(d *Driver, r terret.OpenRequest) *agent {
	return &agent{
		Seat: seat.New[*stay](r), d: d, native: string(r.Session.NativeID),
		session: choice{r.Session.Model, r.Session.PermissionMode}, turn: r.Settings,
	}
}

// ready returns a stay at a server that can take a turn with those settings.
// a.Switching must be held.
func (a *agent) ready(ctx context.Context, in terret.Settings) (*stay, error) {
	l, err := a.d.launchOf(a.Req, in)
	if err != nil {
		return nil, err
	}
	fits := func(s *stay) bool { return s.launch == l.key() }
	return a.Ready(ctx, fits, func(ctx context.Context) (*stay, error) {
		got, err := a.d.pool.acquire(ctx, l, a.Req.Owner, a.d.tempo.start, a.Req.Log)
		if err != nil {
			return nil, err
		}
		s, err := a.arrive(ctx, got, in)
		if err != nil {
			got.release()
			return nil, err
		}
		s.launch = l.key()
		a.Take(s)
		a.Work.Go(s.serve)
		return s, nil
	})
}

// turnEnded leaves the server where each turn is to have its own.
func (a *agent) turnEnded(s *stay) {
	if a.Req.Session.OneShot {
		s.end(seat.ErrClosed)
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
func (s *stay) body(p terret.Prompt, in terret.Settings) (promptBody, error) {
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
func (s *stay) setUp(ctx context.Context, role string, in terret.Settings) error {
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
	a.turn = in
	a.mu.Unlock()
	return a.Onward(ctx)
}

// run begins a turn and hands it to the server.
func (s *stay) run(ctx context.Context, turn, role string, in terret.Settings, hand func(context.Context) error) error {
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
func (s *stay) lasting(path string, body any) func(context.Context) error {
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
	a.Switching.Lock()
	defer a.Switching.Unlock()
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
	s, err := a.Occupied()
	if err != nil {
		return err
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
	s := a.Current()
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

// Alive implements seat.Occupant.
func (s *stay) Alive() bool { return s.life.Err() == nil && s.lease.Alive() }

// Leave implements seat.Occupant. It does not wait: Told says when that is done.
func (s *stay) Leave(context.Context) error {
	s.end(seat.ErrClosed)
	return nil
}

// Force implements seat.Occupant. A server that others use too is ended only if it does
// not stop by itself.
func (s *stay) Force() error {
	s.force()
	s.end(seat.ErrClosed)
	return nil
}

// Told implements seat.Occupant.
func (s *stay) Told() <-chan struct{} { return s.told }

// force makes the server stop the turn, and ends it if it does not.
func (s *stay) force() {
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
			s.a.Req.Log.Warn("the agent's server does not stop a turn and is ended, for other sessions too")
			_ = s.lease.Force()
			return
		}
	}
}

// Capabilities implements terret.Agent.
func (a *agent) Capabilities() terret.Capabilities { return capabilities() }
