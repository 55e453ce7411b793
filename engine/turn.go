package engine

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/desk"
	"github.com/terret-dev/terret/engine/internal/journal"
)

// When says what to do with a prompt while a turn runs.
type When string

// The choices. The empty value means WhenReject.
const (
	WhenReject When = "reject"
	WhenQueue  When = "queue"
	WhenSteer  When = "steer"
)

// PromptRequest is a prompt to a session.
type PromptRequest struct {
	Session string
	Prompt  terret.Prompt
	When    When
	By      string
	// Turn, if set, is the id for the turn. If there already is a turn with that id, it
	// is not started again.
	Turn string
	// Origin, if set, says where the prompt came from; otherwise it is user or queue.
	Origin terret.Origin

	command *command // to run instead
}

// Prompt starts a turn, or queues it, or adds to the running one. It returns when that
// is in the log; Events reports what follows. The context bounds the call, not the
// turn.
func (e *Engine) Prompt(ctx context.Context, r PromptRequest) (terret.Turn, error) {
	if err := checkPrompt(r); err != nil {
		return terret.Turn{}, err
	}
	if r.Prompt.MessageID == "" {
		r.Prompt.MessageID = terret.NewID(terret.PrefixMessage)
	}
	given := r.Turn != ""
	if !given {
		r.Turn = terret.NewID(terret.PrefixTurn)
	}
	// once runs begin unless there already is a turn with that id. It looks when the
	// session is ours, or known to be another's: then nobody else can begin one.
	var t terret.Turn
	found := false // another call began it
	once := func(begin func() (terret.Turn, error)) error {
		if given {
			old, err := e.FindTurn(ctx, r.Session, r.Turn)
			if found = old != nil; found || err != nil {
				t = deref(old)
				return err
			}
		}
		err := e.checkParent(ctx, &r)
		if err == nil {
			t, err = begin()
		}
		return err
	}
	err := e.on(ctx, r.Session, func(l *live) error {
		err := once(func() (terret.Turn, error) { return e.promptLive(ctx, l, r) })
		if err == nil && found && l.flush() != nil { // it may not be on disk: the next owner knows
			return errGone
		}
		return err
	})
	if isForeign(err) {
		err = once(func() (terret.Turn, error) { return e.promptForeign(ctx, r) })
	}
	return t, err
}

// FindTurn returns the turn with that id, whether it has begun or is queued, or nil if
// there is none.
func (e *Engine) FindTurn(ctx context.Context, session, id string) (*terret.Turn, error) {
	// The queue first: a turn leaves it in the same transaction in which it begins.
	queue, err := e.Queue(ctx, session)
	if err != nil {
		return nil, err
	}
	for _, t := range queue {
		if t.ID == id {
			return &t, nil
		}
	}
	t, err := e.store.Turn(ctx, session, id)
	if errors.Is(err, terret.ErrNotFound) {
		return nil, nil
	}
	return &t, err
}

func deref(t *terret.Turn) terret.Turn {
	if t == nil {
		return terret.Turn{}
	}
	return *t
}

func checkPrompt(r PromptRequest) error {
	if len(r.Prompt.Blocks) == 0 {
		return terret.Invalid("prompt", "it is empty; say what the agent should do")
	}
	if r.Turn != "" && !terret.ValidID(terret.PrefixTurn, r.Turn) {
		return terret.Invalid("turn", "%q is not a turn id; leave it out, or use %s and a UUID", r.Turn, terret.PrefixTurn)
	}
	for _, w := range []struct{ field, value string }{
		{"options.permission_mode", r.Prompt.Options.PermissionMode},
		{"options.model", r.Prompt.Options.Model},
		{"options.effort", r.Prompt.Options.Effort},
	} {
		if err := checkWord(w.field, w.value); err != nil {
			return err
		}
	}
	switch r.When {
	case "", WhenReject, WhenQueue, WhenSteer:
		return nil
	}
	return terret.Invalid("when", "%q is not a way to prompt a busy session; use reject, queue or steer", r.When)
}

// promptLive is Prompt for a session that is ours. It resolves the settings first, so
// that a turn that cannot run does not begin.
func (e *Engine) promptLive(ctx context.Context, l *live, r PromptRequest) (terret.Turn, error) {
	if err := e.knows(ctx, l, r.command); err != nil {
		return terret.Turn{}, err
	}
	in, err := e.settingsFor(ctx, l.snapshot(), r.Prompt.Options)
	if err != nil {
		return terret.Turn{}, err
	}
	account, err := e.account(ctx, l)
	if err != nil {
		return terret.Turn{}, err
	}
	behind := false // others are already waiting
	if r.When == WhenQueue {
		if behind, err = e.hasQueue(ctx, l); err != nil {
			return terret.Turn{}, err
		}
	}
	l.mu.Lock()
	if err := l.unusable(); err != nil {
		l.mu.Unlock()
		return terret.Turn{}, err
	}
	t, busy := l.turn, l.phase != idle
	switch {
	case l.begun[r.Turn]: // since we looked
		l.mu.Unlock()
		if l.flush() != nil {
			return terret.Turn{}, errGone
		}
		found, err := e.FindTurn(ctx, l.id, r.Turn)
		return deref(found), err
	case t != nil && r.When == WhenSteer:
		l.mu.Unlock()
		return e.steer(ctx, l, t, r)
	case (busy || behind) && r.When == WhenQueue:
		l.mu.Unlock()
		return e.enqueuePrompt(ctx, r)
	case busy:
		l.mu.Unlock()
		return terret.Turn{}, terret.Errorf(terret.CodeSessionBusy, "session %s is busy with another turn; queue the prompt, steer the turn, or wait", l.id)
	}
	r.Origin = cmp.Or(r.Origin, terret.OriginUser)
	t = l.begin(beginning{PromptRequest: after(account, r), in: in})
	l.mu.Unlock()
	if err := t.began.Wait(); err != nil {
		return terret.Turn{}, err
	}
	return l.record(t), nil
}

// hasQueue reports whether queued prompts will run by themselves: between two turns
// there may be some while nothing runs.
func (e *Engine) hasQueue(ctx context.Context, l *live) (bool, error) {
	items, err := e.store.Pending(ctx, l.id)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(items, func(i terret.InboxItem) bool {
		return i.Kind == terret.InboxPrompt && !l.leftover[i.ID] && !l.begun[i.ID]
	}), nil
}

// record returns the turn as callers see it.
func (l *live) record(t *turn) terret.Turn {
	return terret.Turn{
		ID: t.id, Session: l.id, State: terret.TurnRunning, Origin: t.origin, MessageID: t.prompt.MessageID, Prompt: t.prompt.Blocks, StartedAt: terret.TimeOf(t.started),
	}
}

// beginning is a prompt that becomes a turn.
type beginning struct {
	PromptRequest
	in    desk.InForce
	unfit error  // why the turn cannot run, if so: it ends at once
	taken string // from the inbox, if it was there
}

// begin begins a turn of the session: it writes the first event, and a goroutine runs the
// turn. l.mu must be held, and the session must be idle.
//
// The agent reads the prompt while the disk writes that event. What is taken from the inbox
// waits for the disk: after a power cut it would be there again.
func (l *live) begin(r beginning) *turn {
	l.queued = l.queued || len(l.leftover) > 0
	l.leftover = nil
	t := l.newTurn(r.Turn, r.Origin, r.Prompt, r.in)
	t.command = r.command
	t.prepared = make(chan struct{})
	l.turn = t
	start := terret.TurnStart{Prompt: r.Prompt.Blocks, MessageID: r.Prompt.MessageID, ParentID: r.Prompt.ParentID, Root: r.Prompt.Root, Origin: r.Origin}
	if !isZero(r.Prompt.Options) {
		start.Options = &r.Prompt.Options
	}
	out := l.put(nil, terret.Event{By: r.By, Data: start})
	if title := titleOf(r.Prompt.Blocks); l.session.Title == "" && title != "" && r.command == nil {
		out = l.put(out, terret.Event{Data: terret.SessionUpdated{Title: &title}})
	}
	w := &journal.Write{Events: l.to(starting, out), Early: r.taken == ""}
	if r.taken != "" {
		w.Taken = []string{r.taken}
	}
	t.began = l.journal.Append(w)
	if !l.e.goBackground(func() { l.e.runTurn(l, t, r.unfit) }) {
		close(t.prepared)
	}
	return t
}

// beginBackground starts a turn that the agent began by itself. l.mu must be held, and
// the session must be idle.
func (l *live) beginBackground(out []terret.Event, h *host) []terret.Event {
	l.turn = l.newTurn(terret.NewID(terret.PrefixTurn), terret.OriginBackground, terret.Prompt{}, h.in)
	l.turn.host = h
	out = l.put(out, terret.Event{Data: terret.TurnStart{Prompt: []terret.Block{}, Origin: terret.OriginBackground}})
	return l.to(running, out)
}

// runTurn prepares the folder and the agent, and hands over the prompt, once the log has
// the turn. If it is unfit it ends instead.
func (e *Engine) runTurn(l *live, t *turn, unfit error) {
	err := cmp.Or(t.began.WaitShown(), unfit)
	if err == nil {
		err = e.prepareTurn(l, t)
	}
	close(t.prepared)
	if err != nil {
		e.endTurn(l, t, terret.AsError(err))
	}
}

func (e *Engine) prepareTurn(l *live, t *turn) error {
	if limit, spent := t.in.MaxCostUSD, l.snapshot().CostUSD; limit > 0 && spent >= limit {
		return overBudget(spent, limit)
	}
	h, err := e.openAgent(t.ctx, l, t)
	if err != nil {
		return err
	}
	if !recordsLate(h.agent, t.prompt) {
		e.recordBefore(l, t)
	}
	if err := l.hand(t, h); err != nil {
		return err
	}
	if err := t.handTo(h.agent); err != nil {
		return err
	}
	l.mu.Lock()
	stopped := t.stop != nil
	l.mu.Unlock()
	if stopped { // the agent may not have had the turn yet when it was told
		e.interruptAgent(l, t)
	}
	return nil
}

// hand gives the turn to the agent, if it is still wanted.
func (l *live) hand(t *turn, h *host) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.why != nil:
		return l.why
	case t.stop != nil:
		return t.stop
	case l.turn != t || l.phase != starting:
		return terret.ErrInterrupted // it has already ended
	case h.leaving:
		return terret.Errorf(terret.CodeProcessFailed, "the agent ended before it took the prompt; prompt the session to try again")
	}
	t.host, h.in = h, t.in
	l.write(l.to(running, nil), nil)
	return nil
}

// openAgent returns the session's agent, opening it if there is none: for that turn, or
// outside of one if it is nil. Closing the session ends an opening outside a turn with
// errGone.
func (e *Engine) openAgent(ctx context.Context, l *live, of *turn) (*host, error) {
	l.opening.Lock()
	defer l.opening.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.mu.Lock()
	h, session, cursor, t, gone := l.host, l.session, l.cursor, l.turn, l.unusable()
	if of == nil {
		l.stopOpening = cancel
	}
	l.mu.Unlock()
	switch {
	case h != nil:
		return h, nil
	case ctx.Err() != nil: // the caller was stopped while others held the lock
		return nil, context.Cause(ctx)
	case of == nil && gone != nil:
		return nil, gone
	}
	h, err := e.openFor(ctx, l, session, cursor, t)
	if err != nil && errors.Is(context.Cause(ctx), errGone) { // drivers say it in words of their own
		err = errGone
	}
	return h, err
}

// openFor opens an agent with the settings of a turn, or of the session if it is nil.
func (e *Engine) openFor(ctx context.Context, l *live, session terret.Session, cursor []byte, t *turn) (*host, error) {
	d, err := e.driver(session.Agent)
	if err == nil {
		err = folderThere(session.Cwd)
	}
	if err != nil {
		return nil, err
	}
	var in desk.InForce
	if t != nil {
		in = t.in
	} else if in, err = e.settingsFor(ctx, session, terret.TurnOptions{}); err != nil {
		return nil, err
	}
	h := l.newHost(in)
	r := e.openRequest(session, in.Settings, l.log)
	r.Warm = e.pool.Claim(d, r)
	r.Cursor, r.Host = cursor, h
	r.History = func(ctx context.Context) iter.Seq2[terret.Entry, error] { return e.history(ctx, session) }
	agent, err := d.Open(ctx, r)
	if err == nil && agent == nil {
		err = terret.Errorf(terret.CodeInternal, "the driver of %s returned neither an agent nor an error", session.Agent)
	}
	if err != nil {
		h.end(errClosed)
		return nil, err
	}
	if err := l.attach(ctx, h, agent); err != nil { // the session no longer wants it
		e.endAgent(l, h)
		return nil, err
	}
	if why := e.desk.Unkept(session, in, terret.CapabilitiesOf(agent)); why != "" {
		l.warn(h, why)
	}
	return h, nil
}

// warn writes a warning about an agent that is the session's.
func (l *live) warn(h *host, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.host == h && l.phase != settling && l.why == nil {
		l.write(l.put(nil, terret.Event{Data: terret.DiagWarning{Text: text}}), nil)
	}
}

// attach makes an agent the session's, if the session still wants one.
func (l *live) attach(ctx context.Context, h *host, agent terret.Agent) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.agent = agent
	var err error
	switch {
	case l.why != nil:
		err = l.why
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case l.turn == nil && l.unusable() != nil:
		err = errGone
	}
	h.leaving = err != nil
	if err == nil {
		l.host = h
	}
	return err
}

func (e *Engine) steer(ctx context.Context, l *live, t *turn, r PromptRequest) (terret.Turn, error) {
	l.mu.Lock()
	h := l.host
	ready := h != nil && t.host == h
	l.mu.Unlock()
	if !ready {
		return terret.Turn{}, terret.Errorf(terret.CodeConflict, "the agent has not started the turn yet, or has just ended; send the prompt again, or queue it")
	}
	s, ok := h.agent.(terret.Steerer)
	if !ok {
		return terret.Turn{}, terret.Errorf(terret.CodeUnsupported, "this agent cannot be steered while it works; queue the prompt instead")
	}
	if err := terret.CapabilitiesOf(h.agent).Need(terret.CanSteer); err != nil {
		return terret.Turn{}, err
	}
	l.mu.Lock()
	if l.turn != t || l.phase == settling {
		l.mu.Unlock()
		return terret.Turn{}, terret.Errorf(terret.CodeConflict, "the turn has just ended; send the prompt again")
	}
	a := l.write(l.put(nil, terret.Event{By: r.By, Data: terret.UserPrompt{
		MessageID: r.Prompt.MessageID, ParentID: r.Prompt.ParentID, Root: r.Prompt.Root, Blocks: r.Prompt.Blocks,
	}}), nil)
	l.mu.Unlock()
	if err := a.Wait(); err != nil {
		return terret.Turn{}, err
	}
	if err := s.Steer(ctx, t.id, r.Prompt); err != nil {
		l.notHeard(t, r.Prompt.MessageID, err)
		return terret.Turn{}, err
	}
	out := l.record(t)
	out.Origin, out.MessageID, out.Prompt = terret.OriginSteer, r.Prompt.MessageID, r.Prompt.Blocks
	return out, nil
}

// notHeard logs that the agent did not take a message, although the log has it.
func (l *live) notHeard(t *turn, message string, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turn != t && l.unusable() != nil {
		return // the session is no longer ours
	}
	l.write(l.put(nil, terret.Event{Data: terret.Notification{
		Text: "the agent did not take the message " + message + ": " + why.Error(), Level: "warning", Type: "steer_refused",
	}}), nil)
}
