package engine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/worktree"
	"github.com/terret-dev/terret/policy"
)

// hookPatience is how long an agent's hook waits for a decision that somebody wants to
// make, unless another limit is set.
const hookPatience = 10 * time.Minute

// timeout is how long a request may wait: the agent's limit, or the session's, or the
// engine's. Without any of them permissions, questions and plans wait for ever, and
// hooks wait for [hookPatience].
func (e *Engine) timeout(in inForce, q terret.Ask) time.Duration {
	if q.Timeout > 0 {
		return q.Timeout
	}
	if seconds, ok := in.limits[q.Gate]; ok {
		return time.Duration(seconds) * time.Second
	}
	if d, ok := e.cfg.Timeouts[q.Gate]; ok {
		return d
	}
	if isHook(q.Gate) {
		return hookPatience
	}
	return 0
}

// isHook reports whether it is a hook gate: agents wait there only if somebody wants to
// decide.
func isHook(g terret.Gate) bool {
	switch g {
	case terret.GatePreTool, terret.GatePrompt, terret.GateStop, terret.GateSubagentStop, terret.GateCompact:
		return true
	case terret.GatePermission, terret.GateQuestion, terret.GatePlan, terret.GateTrust:
	}
	return false
}

// aboutTool reports whether the decision at the gate is about a tool use.
func aboutTool(g terret.Gate) bool { return g == terret.GatePermission || g == terret.GatePreTool }

// noOpinion reports whether a decision tells the agent nothing.
func noOpinion(d terret.Decision) bool {
	return d.Behavior == terret.BehaviorPassthrough || d.Behavior == terret.BehaviorAsk && d.Rule == ""
}

// fallback is the decision if nobody decides. Silence permits nothing, whatever the agent
// asks for.
func fallback(q terret.Ask) terret.Behavior {
	if q.Fallback != "" && q.Gate != terret.GatePermission {
		return q.Fallback
	}
	return q.Gate.Refusal()
}

// refusal is the safe decision at a gate.
func refusal(gate terret.Gate, source terret.DecisionSource, reason string) terret.Decision {
	return terret.Decision{Gate: gate, Behavior: gate.Refusal(), Source: source, Reason: reason}
}

// withRequestID sets the request id in data that has a field for it.
func withRequestID(data terret.Data, id string) terret.Data {
	switch d := data.(type) {
	case terret.PermissionRequest:
		d.RequestID, d.InputHash = id, terret.InputHash(d.Input)
		return d
	case terret.QuestionRequest:
		d.RequestID = id
		return d
	case terret.PlanRequest:
		d.RequestID = id
		return d
	case terret.StopRequest:
		d.RequestID = id
		return d
	}
	return data
}

// opine asks the deciders that are not people: rules, then the policy. A nil decision
// means: ask a person.
func (e *Engine) opine(ctx context.Context, s terret.Session, in inForce, q terret.Ask) (*terret.Decision, map[string]int64) {
	switch q.Gate {
	case terret.GatePermission, terret.GatePreTool:
		return e.judge(ctx, s, in, q)
	case terret.GatePlan:
		if s.Policy == terret.PolicyAutoApprove {
			return &terret.Decision{Behavior: terret.BehaviorApprove, Source: terret.ByPolicy, Reason: "policy auto-approve"}, nil
		}
	case terret.GatePrompt, terret.GateStop, terret.GateSubagentStop, terret.GateCompact:
		if !e.wants(s.ID, in, q.Gate) {
			return &terret.Decision{Behavior: q.Gate.Refusal(), Source: terret.ByPolicy}, nil
		}
	case terret.GateQuestion, terret.GateTrust:
	}
	return e.nobody(q), nil
}

// nobody refuses at once if nobody can be asked.
func (e *Engine) nobody(q terret.Ask) *terret.Decision {
	if !e.cfg.Unattended {
		return nil
	}
	d := refusal(q.Gate, terret.ByPolicy, "nobody to ask")
	return &d
}

func (e *Engine) judge(ctx context.Context, s terret.Session, in inForce, q terret.Ask) (*terret.Decision, map[string]int64) {
	rules, err := e.rules(ctx, s.ID, in)
	if err != nil {
		// A rule that cannot be read might be a deny rule.
		return &terret.Decision{Behavior: terret.BehaviorDeny, Source: terret.ByPolicy, Reason: "the rules cannot be read: " + err.Error()}, nil
	}
	subject, ok := e.subject(s, q.Event.Data)
	if !ok {
		return e.nobody(q), nil
	}
	if v, missing := policy.Missing(subject, in.Tools); missing {
		return &terret.Decision{Behavior: v.Behavior, Source: terret.ByPolicy, Reason: v.Reason}, nil
	}
	named, binding := s.Policy, q.Gate == terret.GatePermission || e.binds(s, in, subject)
	if !binding {
		named = terret.PolicyRules // the policy has its say where the agent asks
	}
	v := policy.Judge(subject, rules, named)
	d := terret.Decision{Behavior: v.Behavior, Source: terret.ByPolicy, Reason: v.Reason}
	var hits map[string]int64
	if v.Rule != nil {
		d.Source, d.Rule = terret.ByRule, v.Rule.Pattern
		if v.Rule.ID != "" {
			hits = map[string]int64{v.Rule.ID: 1}
		}
	}
	if q.Gate == terret.GatePreTool && v.Behavior == terret.BehaviorAllow && v.Rule == nil {
		d.Behavior = terret.BehaviorPassthrough // the agent's own rules may say otherwise
	}
	if v.Behavior != terret.BehaviorAsk {
		return &d, hits
	}
	if q.Gate == terret.GatePreTool && !e.wants(s.ID, in, q.Gate) {
		if v.Rule == nil && v.Policy != "" && !binding {
			d.Behavior, d.Reason = terret.BehaviorPassthrough, "no rule matches"
		}
		return &d, nil // the permission gate asks a person if need be
	}
	return e.nobody(q), nil
}

// binds reports whether the session's policy covers every tool use, not only those the
// agent asks about: agents let some pass by themselves. Tools that only serve the
// agent's own thinking are left to it, and so are edits while it plans: then it edits
// nothing but its plan.
func (e *Engine) binds(s terret.Session, in inForce, use policy.Subject) bool {
	own := e.ownPolicy(s, in)
	switch {
	case use.Class == terret.ClassThink, use.Class == terret.ClassEdit && own == terret.PolicyPlan:
		return false
	case s.Policy == terret.PolicyDenyUnlessAllowed:
		return true
	}
	return s.Policy == terret.PolicyAsk && !asksLess(own)
}

// ownPolicy is the policy that the agent's own permission mode amounts to; empty if
// that is not known.
func (e *Engine) ownPolicy(s terret.Session, in inForce) terret.Policy {
	return terret.DescriptionOf(e.lookup(s.Agent)).Modes[cmp.Or(in.PermissionMode, s.PermissionMode)]
}

// asksLess reports whether somebody who chose a mode of the agent that amounts to this
// policy wants to be asked less than by the policy ask.
func asksLess(own terret.Policy) bool {
	return own != "" && own != terret.PolicyAsk && own != terret.PolicyPlan
}

// unkept says which promise of the session's policy the agent cannot be held to; it is
// empty if there is none.
func (e *Engine) unkept(s terret.Session, in inForce, c terret.Capabilities) string {
	switch {
	case s.Policy != terret.PolicyAsk && s.Policy != terret.PolicyDenyUnlessAllowed:
	case c.Oversight == terret.OversightNone || c.Oversight == "":
		return fmt.Sprintf("the policy %s has no effect here: this agent asks about nothing, and does what its own rules allow", s.Policy)
	case c.Oversight != terret.OversightAll:
		return fmt.Sprintf("the policy %s covers only what this agent asks about; it does other things, such as reading, without asking", s.Policy)
	case s.Policy == terret.PolicyAsk && asksLess(e.ownPolicy(s, in)):
		return fmt.Sprintf("the policy ask covers only what the agent asks about in its permission mode %s", cmp.Or(in.PermissionMode, s.PermissionMode))
	}
	return ""
}

// suggest puts the rules that would allow a tool use into a request for it. The
// agent's own are kept only where we have none: what they cover is for the agent to
// say, and it may be less than they seem to.
func (e *Engine) suggest(s terret.Session, data terret.Data) terret.Data {
	p, ok := data.(terret.PermissionRequest)
	if !ok {
		return data
	}
	subject, _ := e.subject(s, p)
	if own := policy.Suggest(subject); len(own) > 0 {
		p.Suggestions = own
	}
	return p
}

// rules returns the rules in force: stored ones, and those from the options.
func (e *Engine) rules(ctx context.Context, session string, in inForce) ([]terret.Rule, error) {
	rules, err := e.store.ListRules(ctx, session)
	return append(rules, in.rules...), err
}

// subject is the tool use that a request asks about.
func (e *Engine) subject(s terret.Session, data terret.Data) (policy.Subject, bool) {
	home, _ := os.UserHomeDir() // without one, ~ is not expanded
	out := policy.Subject{Cwd: s.Cwd, Roots: append([]string{s.Cwd}, s.Options.AddDirs...), Home: home}
	if e.cfg.Home != "" {
		out.Protected = []string{e.cfg.Home}
		if top, _, ok := worktree.Find(e.cfg.Home, s.Cwd); ok && s.Options.Worktree {
			out.Except = []string{top}
		}
		out.Vars = map[string]string{"TERRET_HOME": e.cfg.Home}
	}
	switch d := data.(type) {
	case terret.PermissionRequest:
		out.Tool, out.Class, out.Input = d.Tool, d.Class, []byte(d.Input)
	case terret.ToolPre:
		out.Tool, out.Class, out.Input = d.Name, d.Class, []byte(d.Input)
	default:
		return out, false
	}
	return out, true
}
