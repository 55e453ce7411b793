package team

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/view"
)

// Keys of a message's metadata.
const (
	metaAttempt = "attempt" // how often the message was tried before, as a number
	metaSession = "session" // of a result: where it was made
	metaTurn    = "turn"
	metaCost    = "cost_usd"
	metaPrompt  = "prompt" // what the agent gets instead of the content
)

// sessionAgent is an agent whose messages are turns of sessions: of one session in client
// mode, of one session for each message in query mode.
type sessionAgent struct {
	host     Host
	config   Config
	template terret.Session // with the id in client mode

	mu      sync.Mutex
	running map[string]string // turns to their sessions
	failed  bool              // the last message failed
	ended   bool
}

var _ Agent = (*sessionAgent)(nil)

// Name implements Agent.
func (a *sessionAgent) Name() string { return a.config.Name }

// Type implements Agent.
func (a *sessionAgent) Type() string { return a.config.Type }

// Session is the agent's session in client mode.
func (a *sessionAgent) Session() string { return a.template.ID }

// State implements Agent.
func (a *sessionAgent) State() terret.AgentState {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended:
		return terret.AgentTerminated
	case len(a.running) > 0:
		return terret.AgentProcessing
	case a.failed:
		return terret.AgentFailed
	}
	return terret.AgentIdle
}

// HandleMessage implements Agent.
func (a *sessionAgent) HandleMessage(ctx context.Context, m Message) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		if m.ID == "" {
			m.ID = terret.NewID("")
		}
		wanted := true
		err := a.handle(ctx, m, func(said Message) { wanted = wanted && yield(said, nil) })
		if err != nil && wanted {
			yield(Message{}, err)
		}
	}
}

// handle has a message answered and passes on what the agent says.
func (a *sessionAgent) handle(ctx context.Context, m Message, say func(Message)) error {
	turn := turnOf(a.config.Name, m.ID, attempt(m))
	s := a.template
	if s.ID == "" {
		s.ID = derivedID("session", a.config.Name, m.ID)
	}
	if err := a.begin(turn, s.ID); err != nil {
		return err
	}
	failed, err := a.answer(ctx, s, turn, m, say)
	if a.template.ID == "" && ctx.Err() == nil { // nobody prompts it again
		if closeErr := a.host.Engine.CloseSession(context.WithoutCancel(ctx), s.ID, ""); !errors.Is(closeErr, terret.ErrSessionNotFound) {
			err = errors.Join(err, closeErr)
		}
	}
	a.finish(turn, failed || err != nil)
	return err
}

// turnOf is the turn in which the agent of that name handles a message.
func turnOf(name, message string, attempt int) string {
	return terret.PrefixTurn + derivedID("turn", name, message, strconv.Itoa(attempt))
}

// attempt is how often the message was tried before.
func attempt(m Message) int {
	n, _ := m.Metadata[metaAttempt].(int)
	return n
}

func (a *sessionAgent) begin(turn, session string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return terret.Errorf(terret.CodeSessionClosed, "%s is shut down", a.config.Name)
	}
	a.running[turn] = session
	return nil
}

func (a *sessionAgent) finish(turn string, failed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.running, turn)
	a.failed = failed
}

// answer prompts the session, unless that was done before, and reads the turn to its end.
func (a *sessionAgent) answer(ctx context.Context, s terret.Session, turn string, m Message, say func(Message)) (failed bool, err error) {
	s, err = a.ensure(ctx, s)
	if err != nil {
		return true, providerError(a.config.Type, err)
	}
	after, err := a.prompt(ctx, s, turn, m)
	if err != nil {
		return true, providerError(a.config.Type, err)
	}
	return a.read(ctx, s, turn, after, say)
}

// ensure returns the session, and creates it if there is none with that id.
func (a *sessionAgent) ensure(ctx context.Context, s terret.Session) (terret.Session, error) {
	old, err := a.host.Store.Session(ctx, s.ID)
	if !errors.Is(err, terret.ErrSessionNotFound) {
		return old, err
	}
	if a.host.Create != nil {
		return a.host.Create(ctx, s)
	}
	return a.host.Engine.Create(ctx, s)
}

// prompt starts the turn, and returns the number of an event before it.
func (a *sessionAgent) prompt(ctx context.Context, s terret.Session, turn string, m Message) (after int64, err error) {
	e := a.host.Engine
	old, err := e.FindTurn(ctx, s.ID, turn)
	if err != nil {
		return 0, err
	}
	if old != nil && old.State != terret.TurnQueued {
		return 0, nil // it may be anywhere in the log
	}
	if old != nil { // its process is gone, and nobody would start it
		if err := e.DropQueued(ctx, s.ID, turn, ""); err != nil && !errors.Is(err, terret.ErrConflict) {
			return 0, err
		}
	}
	text := m.text(metaPrompt)
	if text == "" {
		text = m.Content
	}
	_, err = e.Prompt(ctx, engine.PromptRequest{
		Session: s.ID, Turn: turn, When: engine.WhenQueue, By: m.Sender, Origin: terret.OriginBus,
		Prompt: terret.Prompt{Blocks: []terret.Block{terret.Text(text)}},
	})
	return s.LastSeq, err
}

// read passes on what the agent says in a turn, until the turn ends.
func (a *sessionAgent) read(ctx context.Context, s terret.Session, turn string, after int64, say func(Message)) (failed bool, err error) {
	words, err := view.New("orchestration", view.Options{Session: s, Sender: a.config.Name})
	if err != nil {
		return true, err
	}
	for entry, err := range a.host.Engine.Events(ctx, engine.EventQuery{Session: s.ID, After: after, Follow: true}) {
		if err != nil {
			return true, err
		}
		ev, err := entry.Decode()
		if err != nil || ev.Turn != turn {
			continue
		}
		end, cost := ev.Kind().EndsTurn(), terret.Cost(0)
		switch d := ev.Data.(type) {
		case terret.TurnComplete:
			cost = d.CostUSD
		case terret.TurnError:
			cost = d.CostUSD
		}
		for _, w := range words.Event(ev) {
			var m Message
			if err := json.Unmarshal(w.Data, &m); err != nil {
				return true, err
			}
			if end {
				m.Metadata[metaSession], m.Metadata[metaTurn], m.Metadata[metaCost] = s.ID, turn, cost.String()
			}
			say(m)
		}
		if d, ok := ev.Data.(terret.TurnError); ok {
			return true, providerError(a.config.Type, &d.Error)
		}
		if end {
			return false, nil
		}
	}
	return true, context.Cause(ctx)
}

// Shutdown implements Agent.
func (a *sessionAgent) Shutdown(ctx context.Context) error {
	a.mu.Lock()
	a.ended = true
	sessions := map[string]bool{}
	for _, s := range a.running {
		sessions[s] = true
	}
	if a.template.ID != "" {
		sessions[a.template.ID] = true
	}
	a.mu.Unlock()
	var err error
	for id := range sessions {
		closeErr := a.host.Engine.CloseSession(ctx, id, "")
		if !errors.Is(closeErr, terret.ErrSessionNotFound) {
			err = errors.Join(err, closeErr)
		}
	}
	return err
}
