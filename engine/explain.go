package engine

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/terret-dev/terret"
)

// Explanation says what is decided about a tool use, and why.
type Explanation struct {
	Decision terret.Behavior `json:"decision" enum:"allow,deny,ask"`
	Rule     string          `json:"rule,omitempty" doc:"The rule that decides, if one does."`
	Reasons  []string        `json:"reasons" doc:"One sentence each: what decided, then the parts of a command."`
}

// Explain says what would be decided if the agent of the session asked for a tool use. It
// is decided as a request is. The session need not exist.
func (e *Engine) Explain(ctx context.Context, s terret.Session, use terret.PermissionRequest) (Explanation, error) {
	in, err := e.settingsFor(ctx, s, terret.TurnOptions{})
	if err != nil {
		return Explanation{}, err
	}
	v, reasons := e.desk.Explain(ctx, s, in, use)
	out := Explanation{Decision: v.Behavior, Reasons: reasons}
	if v.Rule != nil {
		out.Rule = v.Rule.Pattern
	}
	return out, nil
}

// Past is a request about a tool use, and what rules would have decided.
type Past struct {
	Request  terret.Request
	Use      terret.PermissionRequest
	Rule     string // the one that decides, or asks; empty if there is none
	Behavior terret.Behavior
	Reason   string
}

// Try says what rules by themselves decide about a request; false if it is not about a
// tool use.
func (e *Engine) Try(ctx context.Context, r terret.Request, rules []terret.Rule) (Past, bool, error) {
	out := Past{Request: r}
	if r.Gate != terret.GatePermission || json.Unmarshal(r.Data, &out.Use) != nil {
		return out, false, nil
	}
	s, err := e.cfg.Store.Session(ctx, r.Session)
	if err != nil {
		return out, false, err
	}
	v := e.desk.Would(ctx, s, out.Use, rules)
	if out.Behavior, out.Reason = v.Behavior, v.Reason; v.Rule != nil {
		out.Rule = v.Rule.Pattern
	}
	return out, true, ctx.Err()
}

// DryRun tries a rule on all of the requests that are for tool uses.
func (e *Engine) DryRun(ctx context.Context, requests terret.Requests, rule terret.Rule) iter.Seq2[Past, error] {
	return func(yield func(Past, error) bool) {
		for cursor := ""; ; {
			page, err := requests.ListRequests(ctx, terret.RequestFilter{Limit: 500, Cursor: cursor})
			if err != nil {
				yield(Past{}, err)
				return
			}
			for _, r := range page.Items {
				past, ok, err := e.Try(ctx, r, []terret.Rule{rule})
				if (ok || err != nil) && (!yield(past, err) || err != nil) {
					return
				}
			}
			if cursor = page.Next; cursor == "" {
				return
			}
		}
	}
}
