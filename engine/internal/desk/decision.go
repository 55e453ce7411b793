package desk

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy"
)

// Check completes a decision and validates it. It returns the rules that the decision
// makes. Of says what is in force in the turn of the request.
func (k *Desk) Check(ctx context.Context, r terret.Request, d terret.Decision, of Of) (terret.Decision, []terret.Rule, error) {
	d, err := k.check(ctx, r, d, of)
	if err != nil {
		return d, nil, err
	}
	rules, err := rulesFor(r, d)
	if len(rules) > 0 {
		d.Rule = strings.Join(patternsOf(rules), ", ")
	}
	return d, rules, err
}

// Of returns a session and what is in force in it.
type Of func(ctx context.Context) (terret.Session, InForce, error)

func (k *Desk) check(ctx context.Context, r terret.Request, d terret.Decision, of Of) (terret.Decision, error) {
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
	s, in, err := of(ctx)
	if err != nil {
		return d, err
	}
	rules, err := k.rules(ctx, s.ID, in)
	if err != nil {
		return d, err
	}
	p.Input = d.UpdatedInput
	subject, _ := k.subject(ctx, s, p)
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
	if len(answers) == 0 || r.Gate != terret.GateQuestion || json.Unmarshal(r.Data, &q) != nil || len(q.Questions) == 0 || len(q.Schema) > 0 {
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
		err = json.Unmarshal(r.Data, &p)
	case terret.GatePreTool:
		err = json.Unmarshal(r.Data, &pre)
		p = terret.PermissionRequest{ToolID: pre.ToolID, Tool: pre.Name, Class: pre.Class, Input: pre.Input, InputHash: terret.InputHash(pre.Input)}
	default:
		return p, false, nil
	}
	if err != nil {
		return p, false, terret.Errorf(terret.CodeInternal, "request %s cannot be read: %w", r.RequestID, err)
	}
	return p, true, nil
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
	if err := json.Unmarshal(r.Data, &p); err != nil {
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
