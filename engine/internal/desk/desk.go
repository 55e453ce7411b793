// Package desk decides what can be decided without a person: what is in force for a turn,
// what rules and the policy say about a request, and which decisions are valid. It keeps
// no state but who wants to decide.
package desk

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/worktree"
	"github.com/terret-dev/terret/policy"
)

// Config is what a desk works with.
type Config struct {
	Home       string   // Terret's own folder, which agents may not touch
	UserHome   string   // the user's; empty means that ~ is not expanded
	Guarded    []string // see policy.Subject
	Unattended bool     // nobody can be asked
	Timeouts   map[terret.Gate]time.Duration
	Rules      func(ctx context.Context, session string) ([]terret.Rule, error) // the stored ones
	About      func(agent string) terret.Description
}

// Desk is safe for concurrent use.
type Desk struct {
	cfg    Config
	wanted wanted
}

// New makes a desk.
func New(cfg Config) *Desk { return &Desk{cfg: cfg} }

// hookPatience is how long an agent's hook waits for a decision that somebody wants to
// make, unless another limit is set.
const hookPatience = 10 * time.Minute

// Timeout is how long a request may wait: the agent's limit, or the session's, or the
// engine's. Without any of them permissions, questions and plans wait for ever, and
// hooks wait for [hookPatience].
func (d *Desk) Timeout(in InForce, q terret.Ask) time.Duration {
	if q.Timeout > 0 {
		return q.Timeout
	}
	if seconds, ok := in.limits[q.Gate]; ok {
		return time.Duration(seconds) * time.Second
	}
	if limit, ok := d.cfg.Timeouts[q.Gate]; ok {
		return limit
	}
	if IsHook(q.Gate) {
		return hookPatience
	}
	return 0
}

// IsHook reports whether it is a hook gate: agents wait there only if somebody wants to
// decide.
func IsHook(g terret.Gate) bool {
	switch g {
	case terret.GatePreTool, terret.GatePrompt, terret.GateStop, terret.GateSubagentStop, terret.GateCompact:
		return true
	case terret.GatePermission, terret.GateQuestion, terret.GatePlan, terret.GateTrust:
	}
	return false
}

// AboutTool reports whether the decision at the gate is about a tool use.
func AboutTool(g terret.Gate) bool { return g == terret.GatePermission || g == terret.GatePreTool }

// NoOpinion reports whether a decision tells the agent nothing.
func NoOpinion(d terret.Decision) bool {
	return d.Behavior == terret.BehaviorPassthrough || d.Behavior == terret.BehaviorAsk && d.Rule == ""
}

// Fallback is the decision if nobody decides. Silence permits nothing, whatever the agent
// asks for.
func Fallback(q terret.Ask) terret.Behavior {
	if q.Fallback != "" && q.Gate != terret.GatePermission {
		return q.Fallback
	}
	return q.Gate.Refusal()
}

// Refusal is the safe decision at a gate.
func Refusal(gate terret.Gate, source terret.DecisionSource, reason string) terret.Decision {
	return terret.Decision{Gate: gate, Behavior: gate.Refusal(), Source: source, Reason: reason}
}

// WithRequestID sets the request id in data that has a field for it.
func WithRequestID(data terret.Data, id string) terret.Data {
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

// Opine asks the deciders that are not people: rules, then the policy. A nil decision
// means: ask a person.
func (d *Desk) Opine(ctx context.Context, s terret.Session, in InForce, q terret.Ask) (*terret.Decision, map[string]int64) {
	switch q.Gate {
	case terret.GatePermission, terret.GatePreTool:
		return d.judge(ctx, s, in, q)
	case terret.GatePlan:
		if s.Policy == terret.PolicyAutoApprove {
			return &terret.Decision{Behavior: terret.BehaviorApprove, Source: terret.ByPolicy, Reason: "policy auto-approve"}, nil
		}
	case terret.GatePrompt, terret.GateStop, terret.GateSubagentStop, terret.GateCompact:
		if !d.Wants(s.ID, in, q.Gate) {
			return &terret.Decision{Behavior: q.Gate.Refusal(), Source: terret.ByPolicy}, nil
		}
	case terret.GateQuestion, terret.GateTrust:
	}
	return d.nobody(q), nil
}

// nobody refuses at once if nobody can be asked.
func (d *Desk) nobody(q terret.Ask) *terret.Decision {
	if !d.cfg.Unattended {
		return nil
	}
	refused := Refusal(q.Gate, terret.ByPolicy, "nobody to ask")
	return &refused
}

func (d *Desk) judge(ctx context.Context, s terret.Session, in InForce, q terret.Ask) (*terret.Decision, map[string]int64) {
	subject, ok := d.subject(ctx, s, q.Event.Data)
	if !ok {
		return d.nobody(q), nil
	}
	rules, barred := d.weigh(ctx, s, in, subject)
	if barred != nil {
		return &terret.Decision{Behavior: barred.Behavior, Source: terret.ByPolicy, Reason: barred.Reason}, nil
	}
	named, binding := s.Policy, q.Gate == terret.GatePermission || d.binds(s, in, subject)
	if !binding {
		named = terret.PolicyRules // the policy has its say where the agent asks
	}
	v := policy.Judge(subject, rules, named)
	made := terret.Decision{Behavior: v.Behavior, Source: terret.ByPolicy, Reason: v.Reason}
	var hits map[string]int64
	if v.Rule != nil {
		made.Source, made.Rule = terret.ByRule, v.Rule.Pattern
		if v.Rule.ID != "" {
			hits = map[string]int64{v.Rule.ID: 1}
		}
	}
	if q.Gate == terret.GatePreTool && v.Behavior == terret.BehaviorAllow && v.Rule == nil {
		made.Behavior = terret.BehaviorPassthrough // the agent's own rules may say otherwise
	}
	if v.Behavior != terret.BehaviorAsk {
		return &made, hits
	}
	if q.Gate == terret.GatePreTool && !d.Wants(s.ID, in, q.Gate) {
		if v.Rule == nil && v.Policy != "" && !binding {
			made.Behavior, made.Reason = terret.BehaviorPassthrough, "no rule matches"
		}
		return &made, nil // the permission gate asks a person if need be
	}
	return d.nobody(q), nil
}

// weigh returns the rules in force for a tool use, or why it is out of the question.
func (d *Desk) weigh(ctx context.Context, s terret.Session, in InForce, subject policy.Subject) ([]terret.Rule, *policy.Verdict) {
	rules, err := d.rules(ctx, s.ID, in)
	if err != nil { // one that cannot be read might be a deny rule
		return nil, &policy.Verdict{Behavior: terret.BehaviorDeny, Reason: "the rules cannot be read: " + err.Error()}
	}
	if v, missing := policy.Missing(subject, in.Tools); missing {
		return nil, &v
	}
	return rules, nil
}

// Explain says what is decided about a tool use when the agent asks, and why.
func (d *Desk) Explain(ctx context.Context, s terret.Session, in InForce, use terret.PermissionRequest) (policy.Verdict, []string) {
	subject, _ := d.subject(ctx, s, use)
	rules, barred := d.weigh(ctx, s, in, subject)
	if barred != nil {
		return *barred, []string{barred.Reason}
	}
	v, reasons := policy.Explain(subject, rules, s.Policy)
	if v.Behavior == terret.BehaviorAsk && d.cfg.Unattended {
		v.Behavior, reasons = terret.BehaviorDeny, append(reasons, "There is nobody to ask.")
	}
	return v, reasons
}

// Would returns what rules by themselves decide about a tool use.
func (d *Desk) Would(ctx context.Context, s terret.Session, use terret.PermissionRequest, rules []terret.Rule) policy.Verdict {
	subject, _ := d.subject(ctx, s, use)
	return policy.Judge(subject, rules, terret.PolicyRules)
}

// binds reports whether the session's policy covers every tool use, not only those the
// agent asks about: agents let some pass by themselves. Tools that only serve the
// agent's own thinking are left to it, and so are edits while it plans: then it edits
// nothing but its plan.
func (d *Desk) binds(s terret.Session, in InForce, use policy.Subject) bool {
	own := d.ownPolicy(s, in)
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
func (d *Desk) ownPolicy(s terret.Session, in InForce) terret.Policy {
	return d.cfg.About(s.Agent).Modes[cmp.Or(in.PermissionMode, s.PermissionMode)]
}

// asksLess reports whether somebody who chose a mode of the agent that amounts to this
// policy wants to be asked less than by the policy ask.
func asksLess(own terret.Policy) bool {
	return own != "" && own != terret.PolicyAsk && own != terret.PolicyPlan
}

// Unkept says which promise of the session's policy the agent cannot be held to; it is
// empty if there is none.
func (d *Desk) Unkept(s terret.Session, in InForce, c terret.Capabilities) string {
	switch {
	case s.Policy != terret.PolicyAsk && s.Policy != terret.PolicyDenyUnlessAllowed:
	case c.Oversight == terret.OversightNone || c.Oversight == "":
		return fmt.Sprintf("the policy %s has no effect here: this agent asks about nothing, and does what its own rules allow", s.Policy)
	case c.Oversight != terret.OversightAll:
		return fmt.Sprintf("the policy %s covers only what this agent asks about; it does other things, such as reading, without asking", s.Policy)
	case s.Policy == terret.PolicyAsk && asksLess(d.ownPolicy(s, in)):
		return fmt.Sprintf("the policy ask covers only what the agent asks about in its permission mode %s", cmp.Or(in.PermissionMode, s.PermissionMode))
	}
	return ""
}

// Suggest puts the rules that would allow a tool use into a request for it. The
// agent's own are kept only where we have none: what they cover is for the agent to
// say, and it may be less than they seem to.
func (d *Desk) Suggest(ctx context.Context, s terret.Session, data terret.Data) terret.Data {
	p, ok := data.(terret.PermissionRequest)
	if !ok {
		return data
	}
	subject, _ := d.subject(ctx, s, p)
	if own := policy.Suggest(subject); len(own) > 0 {
		p.Suggestions = own
	}
	return p
}

// rules returns the rules in force: stored ones, and those from the options.
func (d *Desk) rules(ctx context.Context, session string, in InForce) ([]terret.Rule, error) {
	rules, err := d.cfg.Rules(ctx, session)
	return append(rules, in.rules...), err
}

// judgeTime is how long rules may take to decide. Ordinary ones need less than a
// millisecond.
const judgeTime = 5 * time.Second

// subject is the tool use that a request asks about. Judging it ends with the context.
func (d *Desk) subject(ctx context.Context, s terret.Session, data terret.Data) (policy.Subject, bool) {
	out := policy.Subject{Cwd: s.Cwd, Roots: append([]string{s.Cwd}, s.Options.AddDirs...), Home: d.cfg.UserHome, Guarded: d.cfg.Guarded}
	began := time.Now()
	out.Stop = func() bool { return ctx.Err() != nil || time.Since(began) > judgeTime }
	if d.cfg.Home != "" {
		out.Protected = []string{d.cfg.Home}
		if top, _, ok := worktree.Find(d.cfg.Home, s.Cwd); ok && s.Options.Worktree {
			out.Except = []string{top}
		}
		out.Vars = map[string]string{"TERRET_HOME": d.cfg.Home}
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
