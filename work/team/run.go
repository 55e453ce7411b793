package team

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/files"
)

// Run runs the team's agents, in a fleet those of this node, until the context ends: they handle their mail, and are
// started again when they fail. If another process does that, Run waits for its end. When
// it returns, no agent handles anything; turns that have begun go on in the engine.
func (r *Registry) Run(ctx context.Context) error {
	lock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	if lock != nil {
		defer lock.Close()
	}
	var work sync.WaitGroup
	defer work.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		all, news := r.Bus.ledger.list()
		r.start(ctx, &work, all)
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
	}
}

// lock takes the lock, or waits for it.
func (r *Registry) lock(ctx context.Context) (*os.File, error) {
	for r.options.Lock != "" {
		f, err := files.TryOpenLocked(r.options.Lock)
		if f != nil || err != nil {
			return f, err
		}
		again := time.NewTimer(lookEvery)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return nil, context.Cause(ctx)
		}
	}
	return nil, nil
}

// start starts a worker for each agent that has none, and ends those of agents that are
// no longer in the team.
func (r *Registry) start(ctx context.Context, work *sync.WaitGroup, all []Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	members := map[string]Member{}
	for _, m := range all {
		members[m.Name] = m
	}
	for name, w := range r.agents {
		if m, ok := members[name]; !ok || !m.JoinedAt.Equal(w.member.JoinedAt.Time) {
			w.cancel()
			delete(r.agents, name)
		}
	}
	for _, m := range all {
		if m.Type == Person || r.agents[m.Name] != nil || r.elsewhere(m) {
			continue
		}
		w := &worker{registry: r, bus: r.Bus, member: m, done: make(chan struct{})}
		var life context.Context
		life, w.cancel = context.WithCancel(ctx)
		r.agents[m.Name] = w
		work.Go(func() {
			defer close(w.done)
			w.run(ctx, life)
			r.forget(w)
		})
	}
}

// elsewhere reports whether another node of the fleet runs the member.
func (r *Registry) elsewhere(m Member) bool {
	return r.options.Host.Engine.Elsewhere(terret.Session{Node: m.Config.Node}) != ""
}

func (r *Registry) forget(w *worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.agents[w.member.Name] == w {
		delete(r.agents, w.member.Name)
	}
}

// worker has one agent handle its mail, one message at a time.
type worker struct {
	registry *Registry
	bus      *Bus
	member   Member
	agent    Agent // nil until there is mail, and after a failure
	cancel   context.CancelFunc
	done     chan struct{}
}

// stop ends the worker and waits for it.
func (w *worker) stop(ctx context.Context) {
	w.cancel()
	select {
	case <-w.done:
	case <-ctx.Done():
	}
}

// errStopped says that the worker's life is over.
var errStopped = errors.New("stopped")

// run handles mail until the worker's life ends. If the team goes on without the agent,
// its agent is shut down.
func (w *worker) run(team, life context.Context) {
	for life.Err() == nil {
		m, news := w.bus.ledger.next(w.member.Name)
		if m != nil {
			err := w.handle(life, m)
			if errors.Is(err, errStopped) {
				break
			}
			if err != nil && !w.pause(life, err) {
				break
			}
			continue
		}
		select {
		case <-news:
		case <-life.Done():
		}
	}
	if w.agent != nil && team.Err() == nil {
		if err := w.agent.Shutdown(team); err != nil {
			w.registry.log.Warn("could not shut an agent down", "name", w.member.Name, "error", err)
		}
	}
}

// pause waits a moment because the team's log cannot be written, and reports whether to
// go on.
func (w *worker) pause(ctx context.Context, why error) bool {
	w.registry.log.Error("cannot handle a message", "name", w.member.Name, "error", why)
	again := time.NewTimer(DefaultBackoff)
	defer again.Stop()
	select {
	case <-again.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *worker) receipt(m *mail, s Status, detail string, cost terret.Cost) terret.Data {
	return terret.BusReceipt{MessageID: m.ID, By: w.member.Name, Status: string(s), Detail: detail, CostUSD: cost}
}

func (w *worker) state(s terret.AgentState, detail string) terret.Data {
	return terret.AgentStateChange{Name: w.member.Name, State: s, Detail: detail}
}

// handle has the agent handle a message, once. An error is about the team's log, or says
// that the worker's life is over.
func (w *worker) handle(ctx context.Context, m *mail) error {
	before := w.bus.ledger.mark(m.ID, w.member.Name)
	data := []terret.Data{w.state(terret.AgentProcessing, "")}
	if before.status == "" {
		data = append(data, w.receipt(m, Delivered, "", 0))
	}
	if err := w.note(ctx, data...); err != nil {
		return err
	}
	said, err := w.listen(ctx, m, before)
	switch {
	case ctx.Err() != nil || engine.IsClosed(err):
		return errStopped
	case err != nil:
		return w.failed(ctx, m, before, said, err)
	}
	return w.answer(ctx, m, said)
}

// note writes to the team's log. A write that has begun is not given up.
func (w *worker) note(ctx context.Context, data ...terret.Data) error {
	if ctx.Err() != nil {
		return errStopped
	}
	err := w.bus.note(ctx, w.member.Name, data...)
	if ctx.Err() != nil || engine.IsClosed(err) {
		return errStopped
	}
	return err
}

// listen gives the message to the agent and returns the last thing it says.
func (w *worker) listen(ctx context.Context, m *mail, before mark) (last Message, err error) {
	if w.agent == nil {
		if w.agent, err = w.registry.create(ctx, w.member.Config); err != nil {
			w.agent = nil
			return last, err
		}
	}
	given := m.Message
	given.Metadata = map[string]any{metaAttempt: before.failures, metaPrompt: letter(given, w.bus.ledger.isAgent(given.Sender), before.failures)}
	read := before.status == Read
	for said, e := range w.agent.HandleMessage(ctx, given) {
		if e != nil {
			err = e
			continue
		}
		last = said
		if !read {
			read = true
			if e := w.note(ctx, w.receipt(m, Read, "", 0)); e != nil {
				w.registry.log.Warn("could not note that a message was read", "error", e)
			}
		}
	}
	return last, err
}

// failed notes that the agent failed, and waits before it is tried again, or gives up.
func (w *worker) failed(ctx context.Context, m *mail, before mark, said Message, why error) error {
	failures := before.failures + 1
	resumed := before.status == Delivered || before.status == Read
	pause, again := w.member.Config.Restart.again(failures)
	if _, auth := errors.AsType[*ProviderAuthError](why); auth {
		again = false // it would not help
	}
	own := terret.AsError(why)
	if own.HTTPStatus >= 400 && own.HTTPStatus < 500 && !own.Retryable {
		again = false // the model's provider would refuse the same request again
	}
	if code := own.Code; !resumed && (code == terret.CodeInterrupted || code == terret.CodeKilled) {
		again = false // a person stopped it
	}
	cost := costOf(said)
	if !again {
		return w.giveUp(ctx, m, failures, cost, why)
	}
	detail := fmt.Sprintf("attempt %d failed, next in %s: %v", failures, pause, why)
	if err := w.note(ctx, w.receipt(m, Failed, why.Error(), cost), w.state(terret.AgentRestarting, detail)); err != nil {
		return err
	}
	if w.agent != nil {
		if err := w.agent.Shutdown(ctx); err != nil {
			w.registry.log.Warn("could not shut a failed agent down", "name", w.member.Name, "error", err)
		}
		w.agent = nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errStopped
	}
}

// giveUp notes that the agent will not answer, and tells the sender.
func (w *worker) giveUp(ctx context.Context, m *mail, failures int, cost terret.Cost, why error) error {
	detail := fmt.Sprintf("gave up after attempt %d: %v", failures, why)
	data := []terret.Data{w.receipt(m, Stopped, detail, cost), w.state(terret.AgentFailed, detail)}
	reply := Message{
		ID: derivedID("stopped", m.ID, w.member.Name), Sender: w.member.Name, Recipients: []string{m.Sender}, Type: System,
		Content: fmt.Sprintf("%s could not answer: %v", w.member.Name, why),
	}
	return w.note(ctx, append(data, w.send(reply, m, m, w.spent(m, cost))...)...)
}

// spent is what is known about a message's conversation after a turn of that cost.
func (w *worker) spent(m *mail, cost terret.Cost) *talk {
	t := w.bus.ledger.talk(m.talk)
	t.cost += cost
	return &t
}

// answer sends what the agent said to those it is for, and notes that in the same step.
func (w *worker) answer(ctx context.Context, m *mail, said Message) error {
	cost := costOf(said)
	data := []terret.Data{w.receipt(m, Answered, "", cost), w.state(terret.AgentIdle, "")}
	meta := map[string]any{metaSession: said.text(metaSession), metaTurn: said.text(metaTurn)}
	t := w.spent(m, cost)
	for i, p := range addressed(said.Content, w.bus.ledger.addressable) {
		data = append(data, w.send(Message{
			ID: derivedID("answer", m.ID, w.member.Name, fmt.Sprint(i)), Sender: w.member.Name, Recipients: p.to, Content: p.text, Type: Chat, Metadata: meta,
		}, m, m, t)...)
	}
	if to := w.bus.ledger.asker(m, w.member.Name); len(data) == 2 && to != nil {
		reply := Message{
			ID: derivedID("answer", m.ID, w.member.Name), Sender: w.member.Name, Recipients: []string{to.Sender}, Content: said.Content, Type: Chat, Metadata: meta,
		}
		if reply.Content == "" {
			reply.Content, reply.Type = w.member.Name+" has nothing to say", System
		}
		data = append(data, w.send(reply, to, m, t)...)
	}
	return w.note(ctx, data...)
}

// send makes the events that send an agent's message in reply to one, because of another,
// and counts it in the conversation. If it must not be sent, the member who began the
// conversation is told why.
func (w *worker) send(m Message, to, because *mail, t *talk) []terret.Data {
	now := time.Now()
	if why := w.bus.limits.exceeded(*t, because.hops+1, now); why != "" {
		return w.refuse(because, "the conversation was stopped: "+why)
	}
	parent := *to
	parent.hops = because.hops
	data, err := w.bus.draft(m, &parent, []string{because.Sender, to.Sender})
	if err != nil {
		return w.refuse(because, "a message was not sent: "+err.Error())
	}
	t.add(now)
	return data
}

// refuse tells the member who began the conversation that a message was not sent.
func (w *worker) refuse(because *mail, why string) []terret.Data {
	first := w.bus.ledger.find(because.talk)
	if first == nil || w.bus.ledger.isAgent(first.Sender) {
		return nil
	}
	data, err := w.bus.draft(Message{
		ID: derivedID("refused", because.ID, w.member.Name, why), Sender: busName, Recipients: []string{first.Sender}, Content: why, Type: System,
	}, first, nil)
	if err != nil {
		w.registry.log.Warn("a conversation was stopped, and nobody could be told", "why", why, "error", err)
	}
	return data
}

// talk returns what is known about a conversation.
func (l *ledger) talk(id string) talk {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.talks[id]; t != nil {
		return talk{cost: t.cost, times: append([]time.Time(nil), t.times...)}
	}
	return talk{}
}

// addressable reports whether a line that begins with the name is addressed to a member.
func (l *ledger) addressable(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name == All || len(name) > 0 && name[:1] == topicMark {
		return true
	}
	m := l.members[name]
	return m != nil && m.State != terret.AgentTerminated || l.people[name]
}

// costOf is what a result says that its turn has cost.
func costOf(m Message) terret.Cost {
	var c terret.Cost
	if text := m.text(metaCost); text != "" {
		if err := c.UnmarshalJSON([]byte(text)); err != nil {
			return 0
		}
	}
	return c
}
