package acp

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// session is one that the editor has open.
type session struct {
	d       *door
	id, cwd string
	agent   string
	past    int64           // the last event when the editor opened it
	ctx     context.Context // until the editor closes it
	stop    context.CancelFunc

	mu       sync.Mutex
	policy   terret.Policy
	model    string
	models   []terret.Model
	commands []terret.Command

	// Prompts of this editor. A turn may end before the call that began it has returned.
	own     map[string]bool       // ids of their messages
	command string                // the prompt of a command, which has no such id
	sending map[string]bool       // requests whose call has not returned; true if they are cancelled
	waiting map[string]chan ended // by turn
	early   map[string]ended      // turns that ended while a call had not returned
	running string                // the turn that runs now

	told  teller
	asked map[string]context.CancelFunc // requests that the editor was asked
}

// ended says how a turn ended.
type ended struct {
	reason string // stop reason of the protocol
	err    error
}

func newSession(d *door, record terret.Session) *session {
	s := &session{
		d: d, id: record.ID, cwd: record.Cwd, agent: record.Agent, past: record.LastSeq, policy: record.Policy, model: record.Model, running: record.Turn,
		own: map[string]bool{}, sending: map[string]bool{}, waiting: map[string]chan ended{}, early: map[string]ended{}, asked: map[string]context.CancelFunc{},
	}
	s.ctx, s.stop = context.WithCancel(d.ctx)
	s.told = teller{s: s, texts: map[string]*said{}, tools: map[string]*shown{}}
	return s
}

// sendLimit is how long a stop waits for prompts that are being sent.
const sendLimit = 3 * time.Second

// patience is how long a server may be gone before prompts that wait for it fail.
const patience = 3

func (s *session) follow(after int64) {
	for failed := 0; s.ctx.Err() == nil; failed++ {
		c, err := s.d.client()
		if err == nil {
			for entry, e := range c.Events(s.ctx, client.EventQuery{Session: s.id, After: after, Follow: true}) {
				if err = e; err != nil {
					break
				}
				if ev, bad := entry.Decode(); bad == nil {
					s.heard(ev)
				}
				after, failed = entry.Seq, 0
			}
			s.d.lost(c)
		}
		if code := terret.AsError(err); err != nil && (code.Code != terret.CodeConnectionFailed || failed >= patience) {
			s.failed(err)
			return
		}
		select {
		case <-time.After(time.Second):
		case <-s.ctx.Done():
		}
	}
	s.failed(s.ctx.Err())
}

// failed ends the prompts that wait, since nobody will hear how they end.
func (s *session) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for turn, done := range s.waiting {
		done <- ended{err: err}
		delete(s.waiting, turn)
	}
}

// replay tells everything that has happened, and returns the last event that it has told.
// A turn that runs is told by following it, with the pieces of what is being written.
func (s *session) replay(ctx context.Context, c *client.Client) (after int64, err error) {
	var history []terret.Event
	begun := -1
	for entry, err := range c.Events(ctx, client.EventQuery{Session: s.id, NoDeltas: true}) {
		if err != nil {
			return 0, err
		}
		after = entry.Seq
		ev, err := entry.Decode()
		if err != nil {
			continue
		}
		switch ev.Data.(type) {
		case terret.TurnStart:
			begun = len(history)
		case terret.TurnComplete, terret.TurnError:
			begun = -1
		}
		history = append(history, ev)
	}
	if begun >= 0 {
		after, history = history[begun].Seq-1, history[:begun]
	}
	for _, ev := range history {
		s.heard(ev)
	}
	return after, nil
}

// askAgain asks the editor what waits already.
func (s *session) askAgain(ctx context.Context, c *client.Client) error {
	page, err := c.Requests(ctx, terret.RequestFilter{Session: s.id, State: terret.RequestOpen})
	if err != nil {
		return err
	}
	for _, r := range page.Items {
		if data, ok := requestData(r); ok {
			s.ask(r.RequestID, data)
		}
	}
	return nil
}

// heard takes in an event. What waited when the session was opened is asked by askAgain.
func (s *session) heard(ev terret.Event) {
	switch d := ev.Data.(type) {
	case terret.TurnStart:
		s.mu.Lock()
		s.running = ev.Turn
		s.mu.Unlock()
	case terret.TurnComplete:
		s.told.event(ev)
		s.end(ev.Turn, ended{reason: stopReason(d.StopReason)})
		return
	case terret.TurnError:
		s.told.event(ev)
		s.end(ev.Turn, endOf(d.Error))
		return
	case terret.QueueChange:
		if d.Change == terret.QueueDropped {
			s.end(d.Turn, ended{reason: cancelled})
		}
	case terret.SessionCommands:
		s.mu.Lock()
		s.commands = d.Commands
		s.mu.Unlock()
	case terret.SessionUpdated:
		s.updated(d)
	}
	if decision, ok := terret.DecisionOf(ev.Data); ok {
		s.withdraw(decision.RequestID)
	}
	s.told.event(ev)
	if ev.Seq > s.past && ev.Expects != nil && !ev.Expects.Decided {
		s.ask(ev.Expects.RequestID, ev.Data)
	}
}

func (s *session) end(turn string, e ended) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == turn {
		s.running = ""
	}
	if done := s.waiting[turn]; done != nil {
		done <- e
		delete(s.waiting, turn)
	} else if len(s.sending) > 0 {
		s.early[turn] = e
	}
}

// Stop reasons of the protocol.
const (
	endTurn   = "end_turn"
	cancelled = "cancelled"
)

func stopReason(native string) string {
	switch native {
	case "max_tokens", "refusal":
		return native
	}
	return endTurn
}

func endOf(e terret.Error) ended {
	if e.Code == terret.CodeInterrupted || e.Code == terret.CodeKilled {
		return ended{reason: cancelled}
	}
	if e.Code == terret.CodeMaxTurns {
		return ended{reason: "max_turn_requests"}
	}
	return ended{err: &e}
}

// prompt runs a turn, and answers when it has ended. While another turn runs, also one
// that somebody else began, it waits in the queue.
func (s *session) prompt(ctx context.Context, request string, content []block) (any, error) {
	s.arrived(request)
	turn, err := s.send(content)
	done, stop := s.sent(request, turn.ID, err)
	if err != nil {
		return nil, err
	}
	if stop {
		s.cancelTurn(turn.ID)
	}
	select {
	case e := <-done:
		if e.err != nil {
			return nil, e.err
		}
		return object{"stopReason": e.reason}, nil
	case <-ctx.Done(): // the editor withdraws the request itself
		s.cancelTurn(turn.ID)
		return nil, context.Cause(ctx)
	}
}

// arrived notes the request of a prompt. It does so before anything that comes after it
// is heard; only the prompt of a session that was not open then is noted later.
func (s *session) arrived(request string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.sending[request]; !ok {
		s.sending[request] = false
	}
}

// send begins a turn or puts it into the queue.
func (s *session) send(content []block) (terret.Turn, error) {
	blocks, err := s.promptBlocks(content)
	if err != nil {
		return terret.Turn{}, err
	}
	c, err := s.d.client()
	if err != nil {
		return terret.Turn{}, err
	}
	id := terret.NewID("msg_")
	s.mu.Lock()
	s.own[id] = true
	name, args, isCommand := s.commandOf(blocks)
	if isCommand {
		s.command = strings.TrimSpace(blocks[0].Text)
	}
	s.mu.Unlock()
	if isCommand {
		return c.RunCommand(s.ctx, s.id, name, args)
	}
	return c.Prompt(s.ctx, s.id, client.NewTurn{Blocks: blocks, MessageID: id, When: client.WhenQueue, Key: id})
}

// sent notes that a call has returned, and what will say how its turn ends. It reports
// whether the editor has cancelled the prompt in the meantime.
func (s *session) sent(request, turn string, err error) (done chan ended, stop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stop = s.sending[request]
	delete(s.sending, request)
	done = make(chan ended, 1)
	if e, ok := s.early[turn]; ok {
		done <- e
		stop = false
	} else if err == nil {
		s.waiting[turn] = done
	}
	if len(s.sending) == 0 {
		clear(s.early)
	}
	return done, stop
}

// commandOf reports whether a prompt is one of the agent's own commands.
func (s *session) commandOf(blocks []terret.Block) (name, args string, ok bool) {
	if len(blocks) != 1 || !strings.HasPrefix(blocks[0].Text, "/") {
		return "", "", false
	}
	name, args, _ = strings.Cut(strings.TrimPrefix(blocks[0].Text, "/"), " ")
	name = strings.TrimSpace(name)
	ok = slices.ContainsFunc(s.commands, func(c terret.Command) bool { return c.Name == name })
	return name, strings.TrimSpace(args), ok
}

// cancelPrompts stops what this editor has begun: its turn if that runs, and those that
// wait in the queue. A turn of somebody else goes on.
func (s *session) cancelPrompts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for request := range s.sending {
		s.sending[request] = true
	}
	for turn := range s.waiting {
		if turn != s.running {
			s.d.wait.Go(func() { s.cancelTurn(turn) })
		}
	}
	if turn := s.running; s.waiting[turn] != nil {
		s.d.wait.Go(func() { s.cancelTurn(turn) })
	}
}

// cancelTurn stops a turn or takes it out of the queue. How it ends is told by its events.
// A turn that is on its way out of the queue is neither in it nor running yet: that takes
// another try.
func (s *session) cancelTurn(turn string) {
	for s.awaits(turn) {
		c, err := s.d.client()
		if err != nil {
			return
		}
		if c.DropQueued(s.ctx, s.id, turn) == nil {
			s.end(turn, ended{reason: cancelled})
			return
		}
		s.othersSent()
		record, err := c.Session(s.ctx, s.id)
		if err == nil && record.Turn == turn {
			if err = c.Interrupt(s.ctx, s.id); err == nil {
				return
			}
		}
		if err != nil && terret.AsError(err).Code != terret.CodeConflict { // it has just ended
			if !errors.Is(err, context.Canceled) {
				s.d.cfg.Log.Warn("the turn could not be stopped", "session", s.id, "error", err)
			}
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.ctx.Done():
		}
	}
}

// othersSent waits until what the editor has cancelled on its way to the server is there: with
// the turn before it already stopped, it would begin, and could end before it is stopped. A
// large prompt does not hold up the stop for long.
func (s *session) othersSent() {
	late := time.After(sendLimit)
	for {
		s.mu.Lock()
		sending := slices.Contains(slices.Collect(maps.Values(s.sending)), true)
		s.mu.Unlock()
		if !sending {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-late:
			return
		case <-s.ctx.Done():
			return
		}
	}
}

// awaits reports whether a prompt waits for the end of the turn.
func (s *session) awaits(turn string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting[turn] != nil && s.ctx.Err() == nil
}

// settled waits until no prompt of this editor waits, but not for ever.
func (s *session) settled(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		s.mu.Lock()
		n := len(s.waiting) + len(s.sending)
		s.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

// isOwn reports whether the editor's own person said it.
func (s *session) isOwn(message string, blocks []terret.Block) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.command != "" && strings.TrimSpace(terret.TextOf(blocks)) == s.command {
		s.command = ""
		return true
	}
	return s.own[message]
}
