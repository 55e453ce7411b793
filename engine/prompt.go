package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/handover"
)

// Prompt starts a turn, or queues it, or adds to the running one. It returns when that
// is in the log; Events reports what follows. The context bounds the call, not the
// turn.
func (e *Engine) Prompt(ctx context.Context, r PromptRequest) (terret.Turn, error) {
	t, _, err := e.PromptOnce(ctx, r)
	return t, err
}

// PromptOnce is Prompt, and reports whether it found the turn: there already was one with
// the id that the request names.
func (e *Engine) PromptOnce(ctx context.Context, r PromptRequest) (t terret.Turn, found bool, err error) {
	if err := checkPrompt(r); err != nil {
		return t, false, err
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
	once := func(begin func() (terret.Turn, error)) error {
		if given {
			old, err := e.FindTurn(ctx, r.Session, r.Turn)
			if found = old != nil; found || err != nil {
				t = deref(old)
				return err
			}
		}
		var err error
		if r.When != WhenSteer { // whoever steers a turn follows what is being said
			err = e.checkParent(ctx, r.Session, &r.Prompt)
		}
		if err == nil {
			t, err = begin()
		}
		return err
	}
	err = e.on(ctx, r.Session, func(l *live) error {
		err := once(func() (terret.Turn, error) { return e.promptLive(ctx, l, r) })
		if err == nil && found && l.flush() != nil { // it may not be on disk: the next owner knows
			return errGone
		}
		return err
	})
	if isForeign(err) {
		err = once(func() (terret.Turn, error) { return e.promptForeign(ctx, r) })
	}
	return t, found, err
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

// takesPrompts is an error if people run the session themselves.
func (e *Engine) takesPrompts(s terret.Session) error {
	if !e.about(s.Agent).Watched {
		return nil
	}
	return terret.Errorf(terret.CodeUnsupported, "session %s runs in a terminal of its own; type there, or continue it here as a session of its agent", s.ID)
}

func deref(t *terret.Turn) terret.Turn {
	if t == nil {
		return terret.Turn{}
	}
	return *t
}

// promptLive is Prompt for a session that is ours. It resolves the settings first, so
// that a turn that cannot run does not begin.
func (e *Engine) promptLive(ctx context.Context, l *live, r PromptRequest) (terret.Turn, error) {
	if err := e.takesPrompts(l.sessionCopy()); err != nil {
		return terret.Turn{}, err
	}
	if err := e.canRun(ctx, l, r.command); err != nil {
		return terret.Turn{}, err
	}
	in, err := e.settingsFor(ctx, l.sessionCopy(), r.Prompt.Options)
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
	return l.report(t), nil
}

// promptForeign sends a prompt to the process that owns the session.
func (e *Engine) promptForeign(ctx context.Context, r PromptRequest) (terret.Turn, error) {
	s, err := e.store.Session(ctx, r.Session)
	if err != nil {
		return terret.Turn{}, err
	}
	if err := e.takesPrompts(s); err != nil {
		return terret.Turn{}, err
	}
	if s.Turn != "" && r.When != WhenQueue {
		return terret.Turn{}, terret.Errorf(terret.CodeSessionBusy, "session %s is busy with a turn in another process; queue the prompt, or wait", s.ID)
	}
	if err := e.peers.TakesPrompts(ctx, s); err != nil {
		return terret.Turn{}, err
	}
	if s.Turn == "" { // it goes by the queue, but need not wait there
		r.Origin = cmp.Or(r.Origin, terret.OriginUser)
	}
	t, err := e.enqueuePrompt(ctx, r)
	if err == nil {
		err = e.peers.Rouse(ctx, s, true)
	}
	return t, err
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
	out := l.report(t)
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

// threadKinds are the kinds of events that add to a conversation, and those that say
// that no more will come by itself.
var threadKinds = []terret.Kind{
	terret.KindTurnStart, terret.KindUserPrompt, terret.KindMessageComplete, terret.KindTurnComplete, terret.KindTurnError,
}

// checkParent refuses a prompt that follows any other message than the session's last:
// agents cannot go back to an earlier one. The parent may be given as a UUID; it is replaced by the message's own id.
func (e *Engine) checkParent(ctx context.Context, session string, p *terret.Prompt) error {
	parent := p.ParentID
	switch {
	case parent == "":
		return nil
	case p.Root:
		return terret.Invalid("parent_id", "a message that begins a thread follows no other")
	}
	queue, err := e.Queue(ctx, session)
	if err != nil {
		return err
	}
	last, working, err := e.lastMessage(ctx, session)
	switch {
	case err != nil:
		return err
	case working || slices.ContainsFunc(queue, func(t terret.Turn) bool { return !t.Held }):
		return notThere("message %s will not be the last one when this prompt's turn comes; wait for the result, or name no parent", parent)
	case last == "":
		return notThere("there is no message %s: nothing was said in this session yet", parent)
	case parent != last && parent != terret.MessageUUID(session, last):
		return notThere("message %s is not the last one of the session, which is %s, and its agent cannot go back to it; fork the session there to continue from it", parent, terret.MessageUUID(session, last))
	}
	p.ParentID = last
	return nil
}

func notThere(format string, args ...any) error {
	err := terret.Errorf(terret.CodeConflict, format, args...)
	err.Field = "parent_id"
	return err
}

// lastMessage is the id of the last message of the session, and whether a turn that may
// add to it is running.
func (e *Engine) lastMessage(ctx context.Context, session string) (id string, working bool, err error) {
	q := terret.ReadQuery{Session: session, Kinds: threadKinds, Backward: true, Limit: 16}
	for first := true; ; {
		entries, err := e.store.Read(ctx, q)
		if err != nil || len(entries) == 0 {
			return "", false, err
		}
		for _, entry := range entries {
			ev, err := entry.Decode()
			if err != nil {
				return "", false, err
			}
			if ev.Actor != "" && ev.Actor != terret.ActorRoot {
				continue
			}
			if first && !ev.Kind().EndsTurn() {
				return "", true, nil
			}
			first = false
			if id := messageID(ev); id != "" && (ev.Visibility == "" || ev.Visibility == terret.VisibleUI) {
				return id, false, nil
			}
		}
		q.Before = entries[len(entries)-1].Seq
	}
}

func messageID(ev terret.Event) string {
	switch d := ev.Data.(type) {
	case terret.TurnStart:
		return d.MessageID
	case terret.UserPrompt:
		return d.MessageID
	case terret.MessageComplete:
		return d.MessageID
	}
	return ""
}

// account is what the agent of a session that was moved to this node must be told before its
// prompt: what happened in the old one. It is empty if the agent knows it, or if there is
// nothing to tell.
func (e *Engine) account(ctx context.Context, l *live) (string, error) {
	l.mu.Lock()
	s, told := l.session, l.told
	l.mu.Unlock()
	if told || s.ForkedFrom == "" || s.Node == "" {
		return "", nil
	}
	if err := l.flush(); err != nil { // how the last turn ended must be in the store
		return "", err
	}
	text, err := e.accountFor(ctx, s)
	if err == nil && text == "" {
		l.mu.Lock()
		l.told = true
		l.mu.Unlock()
	}
	return text, err
}

func (e *Engine) accountFor(ctx context.Context, s terret.Session) (string, error) {
	from, err := e.store.Session(ctx, s.ForkedFrom)
	if errors.Is(err, terret.ErrSessionNotFound) || err == nil && (from.Node == "" || from.Node == s.Node) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	turns, err := e.store.Turns(ctx, s.ID)
	if err != nil || slices.ContainsFunc(turns, heardAccount) {
		return "", err
	}
	from, err = handover.Source(ctx, e.store, from) // it may have moved again before anybody prompted it
	if err != nil || from.ID == "" {
		return "", err
	}
	return handover.Moved(ctx, e.store, from, s)
}

// heardAccount reports whether the agent has heard the account in that turn for certain: one that
// failed or was stopped may not have reached it. To hear it twice does no harm.
func heardAccount(t terret.Turn) bool {
	return !t.Undone && t.State == terret.TurnCompleted && handover.Begins(t.Prompt)
}

// after is a prompt that begins with an account.
func after(account string, r PromptRequest) PromptRequest {
	if account != "" && r.command == nil {
		r.Prompt.Blocks = append([]terret.Block{terret.Text(account + "\n\n")}, r.Prompt.Blocks...)
	}
	return r
}
