package engine

import (
	"context"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy"
)

// Decide answers an open request on behalf of a person or a program, whichever process
// owns its session. Of several answers exactly one succeeds; the others fail with
// already_decided. It returns when the answer can no longer be lost.
func (e *Engine) Decide(ctx context.Context, d terret.Decision) (err error) {
	r, err := e.store.Request(ctx, d.RequestID)
	if err != nil {
		return err
	}
	if d, err = e.checkDecision(ctx, r, d); err != nil {
		return err
	}
	rules, err := rulesFor(r, d)
	if err != nil {
		return err
	}
	if len(rules) > 0 {
		d.Rule = strings.Join(patternsOf(rules), ", ")
	}
	// Our own watcher must not let the agent continue before the rules are stored.
	e.setDeciding(d.RequestID, 1)
	defer func() {
		e.setDeciding(d.RequestID, -1)
		if err != nil { // the answer may be stored all the same, and the watcher left it to us
			e.watch.lookAgain()
		}
	}()
	if err := e.store.Answer(ctx, d); err != nil {
		return err
	}
	for _, rule := range rules {
		if err := e.store.PutRule(context.WithoutCancel(ctx), rule); err != nil {
			e.log.Error("could not store the rule made by a decision", "rule", rule.Pattern, "error", err)
		}
	}
	if l := e.mine(r.Session); l != nil {
		l.decided(d.RequestID, d)
		if t := l.current(); d.Interrupt && t != nil && t.id == r.Turn {
			e.stopLocal(ctx, l, t, terret.InboxInterrupt, d.By)
		}
		return nil
	}
	if d.Interrupt {
		return e.send(ctx, r.Session, terret.InboxInterrupt, d.By, wish{Turn: r.Turn})
	}
	return nil
}

func (e *Engine) setDeciding(request string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.deciding[request] += n; e.deciding[request] == 0 {
		delete(e.deciding, request)
	}
}

func (e *Engine) isDeciding(request string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.deciding[request] > 0
}

// checkDecision completes a decision and validates it.
func (e *Engine) checkDecision(ctx context.Context, r terret.Request, d terret.Decision) (terret.Decision, error) {
	d.Gate = r.Gate
	if d.Source == "" {
		d.Source = terret.ByUser
	}
	if d.Scope == "" {
		d.Scope = terret.ScopeOnce
	}
	if d.Scope == terret.ScopeOnce {
		d.Rule = "" // a decision for once makes no rule
	}
	if err := d.Validate(); err != nil {
		return d, err
	}
	var err error
	if d.Answers, err = answersTo(r, d.Answers); err != nil {
		return d, err
	}
	p, isTool, err := toolUse(r)
	if err != nil || !isTool {
		return d, err
	}
	if d.InputHash != "" && d.InputHash != p.InputHash {
		return d, terret.Errorf(terret.CodeConflict, "the input of request %s is not the one you decided on; look at it again", r.RequestID)
	}
	d.InputHash = p.InputHash
	if len(d.UpdatedInput) == 0 {
		return d, nil
	}
	s, err := e.store.Session(ctx, r.Session)
	if err != nil {
		return d, err
	}
	in, err := e.settingsOf(ctx, s, r)
	if err != nil {
		return d, err
	}
	rules, err := e.rules(ctx, s.ID, in)
	if err != nil {
		return d, err
	}
	p.Input = d.UpdatedInput
	subject, _ := e.subject(s, p)
	if v, denied := policy.Denied(subject, rules); denied {
		return d, terret.Invalid("updated_input", "the edited input is denied: %s", v.Reason)
	}
	return d, nil
}

// answersTo returns the answers by the ids of the questions; they may also be given by a
// question's text or header. It rejects answers to questions that were not asked: the real
// question would silently stay unanswered.
func answersTo(r terret.Request, answers map[string]terret.Choice) (map[string]terret.Choice, error) {
	var q terret.QuestionRequest
	if len(answers) == 0 || r.Gate != terret.GateQuestion || unmarshal(r.Data, &q) != nil || len(q.Questions) == 0 || len(q.Schema) > 0 {
		return answers, nil
	}
	var ids []string
	out, known := map[string]terret.Choice{}, map[string]bool{}
	for _, one := range q.Questions {
		ids = append(ids, one.ID)
		for _, key := range []string{one.Header, one.Text, one.ID} { // the id counts most
			if choice, ok := answers[key]; ok && key != "" {
				out[one.ID], known[key] = choice, true
			}
		}
	}
	for id := range answers {
		if !known[id] {
			return nil, terret.Invalid("answers", "there is no question %.64q in this request; use %s", id, strings.Join(ids, ", "))
		}
	}
	return out, nil
}

// toolUse returns the tool use that a request is about, if it is about one.
func toolUse(r terret.Request) (p terret.PermissionRequest, is bool, err error) {
	var pre terret.ToolPre
	switch r.Gate {
	case terret.GatePermission:
		err = unmarshal(r.Data, &p)
	case terret.GatePreTool:
		err = unmarshal(r.Data, &pre)
		p = terret.PermissionRequest{ToolID: pre.ToolID, Tool: pre.Name, Class: pre.Class, Input: pre.Input, InputHash: terret.InputHash(pre.Input)}
	default:
		return p, false, nil
	}
	if err != nil {
		return p, false, terret.Errorf(terret.CodeInternal, "request %s cannot be read: %w", r.RequestID, err)
	}
	return p, true, nil
}

// settingsOf returns the settings in force for the turn of a request.
func (e *Engine) settingsOf(ctx context.Context, s terret.Session, r terret.Request) (inForce, error) {
	if l := e.mine(r.Session); l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.turn != nil && l.turn.id == r.Turn {
			return l.turn.in, nil
		}
	}
	return e.settingsFor(ctx, s, terret.TurnOptions{})
}

// rulesFor returns the rules that a lasting decision makes: the one it names, or all
// suggested ones, because only together they allow the same thing again.
func rulesFor(r terret.Request, d terret.Decision) ([]terret.Rule, error) {
	if d.Scope == terret.ScopeOnce {
		return nil, nil
	}
	if r.Gate != terret.GatePermission {
		return nil, terret.Invalid("scope", "only a permission can be decided for longer than once; leave the scope out, or add a rule")
	}
	var p terret.PermissionRequest
	if err := unmarshal(r.Data, &p); err != nil {
		return nil, terret.Errorf(terret.CodeInternal, "request %s cannot be read: %w", r.RequestID, err)
	}
	patterns := p.Suggestions
	if d.Rule != "" {
		patterns = []string{d.Rule}
	}
	deny := d.Behavior == terret.BehaviorDeny
	switch {
	case len(d.UpdatedInput) > 0 && d.Rule == "": // the suggestions are about what was edited away
		return nil, terret.Invalid("scope", "you changed the input, and the suggested rules are about the old one; allow it once, or name a rule")
	case len(patterns) == 0:
		return nil, terret.Invalid("scope", "there is no safe rule for this; allow it once, or write a rule yourself")
	case deny && len(patterns) > 1: // each would deny more than this
		return nil, terret.Invalid("rule", "say which of these to deny: %s", strings.Join(patterns, ", "))
	}
	var out []terret.Rule
	for _, pattern := range patterns {
		if _, err := policy.Parse(pattern); err != nil {
			return nil, terret.Invalid("rule", "%w", err)
		}
		rule := terret.Rule{
			ID: terret.NewID(terret.PrefixRule), Effect: terret.EffectAllow, Pattern: pattern, Scope: d.Scope, MadeBy: d.By, MadeAt: terret.Now(),
		}
		if deny {
			rule.Effect = terret.EffectDeny
		}
		if d.Scope == terret.ScopeSession {
			rule.Session = r.Session
		}
		out = append(out, rule)
	}
	return out, nil
}

func patternsOf(rules []terret.Rule) []string {
	out := make([]string, len(rules))
	for i, r := range rules {
		out[i] = r.Pattern
	}
	return out
}
