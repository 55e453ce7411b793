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

// hookPatience is how long a hook of an agent waits for a decision that somebody
// wants to make, if nobody says another limit.
const hookPatience = 10 * time.Minute

// timeout is how long a request may wait: as the agent says, or the session, or the
// engine's configuration. Without any of them permissions, questions and plans wait
// for ever, hooks for [hookPatience].
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

// isHook reports whether agents pass the gate by themselves: they wait there only if
// somebody wants to decide.
func isHook(g terret.Gate) bool {
	switch g {
	case terret.GatePreTool, terret.GatePrompt, terret.GateStop, terret.GateSubagentStop, terret.GateCompact:
		return true
	case terret.GatePermission, terret.GateQuestion, terret.GatePlan, terret.GateTrust:
	}
	return false
}

// noOpinion reports whether a decision tells the agent nothing.
func noOpinion(d terret.Decision) bool {
	return d.Behavior == terret.BehaviorPassthrough || d.Behavior == terret.BehaviorAsk && d.Rule == ""
}

// fallback is what is decided when nobody does.
func fallback(q terret.Ask) terret.Behavior {
	if q.Fallback != "" {
		return q.Fallback
	}
	return q.Gate.Refusal()
}

// refusal is the safe decision at a gate.
func refusal(gate terret.Gate, source terret.DecisionSource, reason string) terret.Decision {
	return terret.Decision{Gate: gate, Behavior: gate.Refusal(), Source: source, Reason: reason}
}

// withRequestID puts the id into data that has a place for it.
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

// opine asks the deciders that need no person: rules, then the policy. A nil
// decision means that a person is to be asked.
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

// nobody refuses at once where nobody can be asked.
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
		// A rule that cannot be read might deny.
		return &terret.Decision{Behavior: terret.BehaviorDeny, Source: terret.ByPolicy, Reason: "the rules cannot be read: " + err.Error()}, nil
	}
	subject, ok := e.subject(s, q.Event.Data)
	if !ok {
		return e.nobody(q), nil
	}
	if v, missing := policy.Missing(subject, in.Tools); missing {
		return &terret.Decision{Behavior: v.Behavior, Source: terret.ByPolicy, Reason: v.Reason}, nil
	}
	named, binding := s.Policy, q.Gate == terret.GatePermission || binds(s, in, subject)
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
			d.Behavior, d.Reason = terret.BehaviorPassthrough, "no rule is about it"
		}
		return &d, nil // where a person is needed, the permission gate asks them
	}
	return e.nobody(q), nil
}

// binds reports whether the session's policy is about every use of a tool, not only
// about those that the agent asks for: agents let some of them pass by themselves.
// Tools that only serve the agent's own thinking are left to it, and so are edits while
// it plans: then it edits nothing but its plan.
func binds(s terret.Session, in inForce, use policy.Subject) bool {
	mode := cmp.Or(in.PermissionMode, s.PermissionMode)
	switch {
	case use.Class == terret.ClassThink, use.Class == terret.ClassEdit && mode == "plan":
		return false
	case s.Policy == terret.PolicyDenyUnlessAllowed:
		return true
	}
	return s.Policy == terret.PolicyAsk && !asksLess(mode)
}

// asksLess reports whether a person who chose that mode of the agent wants to be asked
// less than by the policy ask.
func asksLess(mode string) bool {
	switch mode {
	case "acceptEdits", "auto", "dontAsk", "bypassPermissions":
		return true
	}
	return false
}

// unkept says which promise of the session's policy the agent cannot be held to; it is
// empty if there is none.
func unkept(s terret.Session, in inForce, c terret.Capabilities) string {
	mode := cmp.Or(in.PermissionMode, s.PermissionMode)
	switch {
	case s.Policy != terret.PolicyAsk && s.Policy != terret.PolicyDenyUnlessAllowed:
	case c.Oversight == terret.OversightNone || c.Oversight == "":
		return fmt.Sprintf("the policy %s does not hold here: this agent asks for nothing, and does what its own rules allow", s.Policy)
	case c.Oversight != terret.OversightAll:
		return fmt.Sprintf("the policy %s holds only for what this agent asks: what it allows itself, such as reading, nobody sees before", s.Policy)
	case s.Policy == terret.PolicyAsk && asksLess(mode):
		return fmt.Sprintf("the policy ask holds only for what the agent asks in its permission mode %s", mode)
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

// rules are those in force: stored ones, and those of the options.
func (e *Engine) rules(ctx context.Context, session string, in inForce) ([]terret.Rule, error) {
	rules, err := e.store.ListRules(ctx, session)
	return append(rules, in.rules...), err
}

// subject is the tool use that a request is about.
func (e *Engine) subject(s terret.Session, data terret.Data) (policy.Subject, bool) {
	home, _ := os.UserHomeDir() // without one, ~ stays what it is
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
