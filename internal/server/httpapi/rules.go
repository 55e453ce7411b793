package httpapi

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/policy"
)

func (s *Server) ruleRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/rules", id: "list-rules", tag: tagRules, scope: access.View,
		summary: "List the permanent rules, and those of a session",
		long:    "Without a session, only the permanent ones. A token for one session sees only that session's own rules.",
		fails:   inSession(),
	}, s.listRules)
	handle(s, route{
		method: "PUT", path: "/v1/rules", id: "put-rules", tag: tagRules, scope: access.Admin,
		summary: "Replace the permanent rules",
		long:    "Rules listed with an id are kept or changed, rules without an id are added, and rules that are not listed are removed.",
		fails:   stored(),
	}, s.putRules)
	handle(s, route{
		method: "POST", path: "/v1/rules/dry-run", id: "dry-run-rule", tag: tagRules, scope: access.View,
		summary: "Show which past requests a rule would have decided",
		long:    "Nothing is changed.",
		fails:   stored(),
	}, s.dryRun)
	handle(s, route{
		method: "POST", path: "/v1/rules/explain", id: "explain-rules", tag: tagRules, scope: access.View,
		summary: "Say what would be decided about a tool use, and why",
		long:    "It is judged as requests are: in a session, or in one that would be created in the folder with these rules and this policy. Nothing is changed.",
		fails:   inSession(),
	}, s.explain)
}

// toExplain is a tool use, and where it happens.
type toExplain struct {
	Session string        `json:"session,omitempty" doc:"Explain it in this session."`
	Cwd     string        `json:"cwd,omitempty" doc:"The folder of a session that does not exist. Default: the first folder that sessions may be in."`
	Policy  terret.Policy `json:"policy,omitempty" doc:"Of a session that does not exist."`
	Allow   []string      `json:"allow,omitempty" maxItems:"100" doc:"Further rules of it."`
	Deny    []string      `json:"deny,omitempty" maxItems:"100"`
	Ask     []string      `json:"ask,omitempty" maxItems:"100"`
	Command string        `json:"command,omitempty" doc:"A shell command, instead of tool and input."`
	Tool    string        `json:"tool,omitempty"`
	// Class is what the agent said of its tool, which counts for those not known by name.
	Class terret.ToolClass `json:"class,omitempty" doc:"What the agent said of its tool."`
	Input terret.JSON      `json:"input,omitempty"`
}

func (s *Server) explain(ctx context.Context, in *struct{ Body toExplain }) (*body[engine.Explanation], error) {
	b := in.Body
	use := terret.PermissionRequest{Tool: b.Tool, Class: cmp.Or(b.Class, policy.ClassOf(b.Tool)), Input: b.Input}
	switch {
	case (b.Tool == "") == (b.Command == ""):
		return nil, terret.Invalid("command", "give a command, or a tool with its input")
	case b.Command != "":
		use = policy.CommandUse(b.Command)
	}
	if b.Session != "" {
		if b.Cwd != "" || b.Policy != "" || len(b.Allow)+len(b.Deny)+len(b.Ask) > 0 {
			return nil, terret.Invalid("session", "it has its own folder, policy and rules; leave out cwd, policy, allow, deny and ask")
		}
		session, err := s.session(ctx, b.Session)
		if err != nil {
			return nil, err
		}
		return reply(s.engine.Explain(ctx, session, use))
	}
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	for field, list := range map[string][]string{"allow": b.Allow, "deny": b.Deny, "ask": b.Ask} {
		for _, pattern := range list {
			if err := (newRule{Pattern: pattern}).check(field); err != nil {
				return nil, err
			}
		}
	}
	if roots := s.roots.List(); b.Cwd == "" && len(roots) > 0 {
		b.Cwd = roots[0].Path
	}
	cwd, err := s.inRoots("cwd", b.Cwd)
	if err != nil {
		return nil, err
	}
	named := terret.PolicyNamed(string(b.Policy))
	if err := named.Validate(); named != "" && err != nil {
		return nil, err
	}
	session := terret.Session{Cwd: cwd, Policy: named, Options: terret.SessionOptions{Allow: b.Allow, Deny: b.Deny, Ask: b.Ask}}
	return reply(s.maker.Explain(ctx, session, use))
}

// listRules lists rules. A token for one session sees only that session's own.
func (s *Server) listRules(ctx context.Context, in *struct {
	Session string `query:"session"`
},
) (*body[terret.Page[terret.Rule]], error) {
	own := access.From(ctx).Session
	session := nonEmpty(in.Session, own)
	if session != "" {
		if _, err := s.session(ctx, session); err != nil {
			return nil, err
		}
	}
	rules, err := s.store.ListRules(ctx, session)
	if own != "" {
		rules = slices.DeleteFunc(rules, func(r terret.Rule) bool { return r.Session != own })
	}
	return page(rules, err)
}

type newRule struct {
	ID      string        `json:"id,omitempty" doc:"The id of an existing rule."`
	Effect  terret.Effect `json:"effect" enum:"allow,deny,ask"`
	Pattern string        `json:"pattern" maxLength:"2000" doc:"Such as Bash(git status *)."`
}

func (r newRule) check(field string) error {
	_, err := policy.Parse(r.Pattern)
	if err != nil && terret.AsError(err).Field != field {
		err = terret.Invalid(field, "%w", err)
	}
	return err
}

type newRules struct {
	Items []newRule `json:"items" maxItems:"10000"`
}

func (s *Server) putRules(ctx context.Context, in *struct{ Body newRules }) (*body[terret.Page[terret.Rule]], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	now, err := s.store.ListRules(ctx, "")
	if err != nil {
		return nil, err
	}
	known := map[string]terret.Rule{}
	for _, r := range now {
		known[r.ID] = r
	}
	keep := map[string]terret.Rule{}
	var made []terret.Rule
	for _, r := range in.Body.Items {
		if err := r.check("items"); err != nil {
			return nil, err
		}
		old, ok := known[r.ID]
		switch {
		case r.ID == "":
			made = append(made, terret.Rule{ID: terret.NewID(terret.PrefixRule), Effect: r.Effect, Pattern: r.Pattern, Scope: terret.ScopeAlways, MadeBy: caller(ctx), MadeAt: terret.Now()})
		case !ok:
			return nil, terret.Invalid("items", "there is no rule %.64q; leave out the id to add one", r.ID)
		case old.Effect != r.Effect || old.Pattern != r.Pattern:
			changed := terret.Rule{ID: old.ID, Effect: r.Effect, Pattern: r.Pattern, Scope: terret.ScopeAlways, MadeBy: caller(ctx), MadeAt: terret.Now()}
			keep[r.ID], made = changed, append(made, changed)
		default:
			keep[r.ID] = old
		}
	}
	// Add new rules first: what is denied must not be allowed even for a moment.
	for _, r := range made {
		if err := s.store.PutRule(ctx, r); err != nil {
			return nil, err
		}
	}
	for _, r := range now {
		if _, ok := keep[r.ID]; !ok {
			if err := s.store.DeleteRule(ctx, r.ID); err != nil && !errors.Is(err, terret.ErrNotFound) { // otherwise it is already gone
				return nil, err
			}
		}
	}
	return page(s.store.ListRules(ctx, ""))
}

// DryRun is a past request that a rule would have decided.
type DryRun struct {
	Request  terret.Request  `json:"request"`
	Behavior terret.Behavior `json:"behavior" doc:"What the rule decides."`
	Reason   string          `json:"reason,omitempty"`
}

// DryRuns lists all of them.
type DryRuns struct {
	Items []DryRun `json:"items"`
	Total int      `json:"total" doc:"How many requests were checked."`
	Broad string   `json:"broad,omitempty" doc:"What else the rule allows than it seems to."`
}

func (s *Server) dryRun(ctx context.Context, in *struct {
	Body newRule
},
) (*body[DryRuns], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	if err := in.Body.check("pattern"); err != nil {
		return nil, err
	}
	out := DryRuns{Items: []DryRun{}}
	if in.Body.Effect == terret.EffectAllow {
		out.Broad = policy.Broad(in.Body.Pattern)
	}
	for past, err := range s.engine.DryRun(ctx, s.store, terret.Rule{Effect: in.Body.Effect, Pattern: in.Body.Pattern}) {
		if err != nil {
			return nil, err
		}
		out.Total++
		if past.Rule != "" && past.Behavior != terret.BehaviorAsk {
			out.Items = append(out.Items, DryRun{Request: past.Request, Behavior: past.Behavior, Reason: past.Reason})
		}
	}
	return reply(out, nil)
}
