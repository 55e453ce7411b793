package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/access"
)

func (s *Server) adviceRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/rules/decisions", id: "rule-decisions", tag: tagRules, scope: access.View,
		summary: "Show what decided lately, and which rules repeated answers suggest",
		long:    "Of the last 30 days: the newest decisions about tools, each with the rule, mode or person that decided, and rules that would have given the answer that a person gave at least three times by hand. A suggestion is left out if that was ever denied, or if the rules decide it already.",
		fails:   stored(),
	}, s.ruleDecisions)
}

// DecidedUse is a decision about a tool use.
type DecidedUse struct {
	RequestID string          `json:"request_id"`
	Session   string          `json:"session"`
	At        terret.Time     `json:"at" doc:"When it was asked."`
	Tool      string          `json:"tool"`
	Title     string          `json:"title"`
	Decision  terret.Decision `json:"decision"`
}

// Suggestion is a set of rules that allow what a person allowed again and again.
type Suggestion struct {
	Patterns []string    `json:"patterns" doc:"They allow it together." nullable:"false"`
	Count    int         `json:"count" doc:"How often a person allowed it."`
	Last     terret.Time `json:"last"`
	Title    string      `json:"title" doc:"What was allowed last."`
}

// Decisions are the newest decisions, and what follows from them.
type Decisions struct {
	Items       []DecidedUse `json:"items" doc:"The newest first." nullable:"false"`
	Suggestions []Suggestion `json:"suggestions" nullable:"false"`
}

const (
	adviceDays    = 30
	adviceEnough  = 3 // answers by hand
	adviceMost    = 10
	adviceDecided = 50
)

func (s *Server) ruleDecisions(ctx context.Context, _ *struct{}) (*body[Decisions], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	rules, err := s.store.ListRules(ctx, "")
	if err != nil {
		return nil, err
	}
	a := advice{found: map[string]*Suggestion{}, denied: map[string]bool{}}
	folders := map[string]string{}
	for cursor := firstRequestOf(time.Now().AddDate(0, 0, -adviceDays)); ; {
		p, err := s.store.ListRequests(ctx, terret.RequestFilter{State: terret.RequestDecided, Limit: 500, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, r := range p.Items {
			v, ok, err := s.judge(ctx, r, rules, folders)
			if err != nil {
				return nil, err
			}
			if ok && r.Decision != nil {
				a.add(r, v.Rule != nil)
			}
		}
		if cursor = p.Next; cursor == "" {
			return reply(a.result(), nil)
		}
	}
}

// firstRequestOf is what ids of requests that were made later come after: ids begin with
// their time.
func firstRequestOf(t time.Time) string {
	ms := uint64(max(t.UnixMilli(), 0))
	return fmt.Sprintf("%s%08x-%04x-7000-8000-000000000000", terret.PrefixRequest, ms>>16, ms&0xffff)
}

// advice gathers what follows from requests, the oldest first.
type advice struct {
	last   []DecidedUse
	found  map[string]*Suggestion
	denied map[string]bool
}

// add takes a request that was decided. Ruled says that a rule of today decides it.
func (a *advice) add(r terret.Request, ruled bool) {
	var p terret.PermissionRequest
	if json.Unmarshal(r.Data, &p) != nil {
		return // judge has read it
	}
	if a.last = append(a.last, DecidedUse{r.RequestID, r.Session, r.CreatedAt, p.Tool, p.Title, *r.Decision}); len(a.last) > adviceDecided {
		a.last = a.last[1:]
	}
	d := r.Decision
	if d.Source != terret.ByUser || len(p.Suggestions) == 0 {
		return
	}
	key := strings.Join(p.Suggestions, "\x00")
	switch {
	case d.Behavior == terret.BehaviorDeny:
		a.denied[key] = true
	case d.Behavior != terret.BehaviorAllow || d.Scope != terret.ScopeOnce || ruled || len(d.UpdatedInput) > 0:
	case a.found[key] == nil:
		a.found[key] = &Suggestion{Patterns: p.Suggestions, Count: 1, Last: r.CreatedAt, Title: p.Title}
	default:
		s := a.found[key]
		s.Count++
		s.Last, s.Title = r.CreatedAt, p.Title
	}
}

func (a *advice) result() Decisions {
	out := Decisions{Items: slices.Clone(a.last), Suggestions: []Suggestion{}}
	slices.Reverse(out.Items)
	if out.Items == nil {
		out.Items = []DecidedUse{}
	}
	for key, s := range a.found {
		if s.Count >= adviceEnough && !a.denied[key] {
			out.Suggestions = append(out.Suggestions, *s)
		}
	}
	slices.SortFunc(out.Suggestions, func(x, y Suggestion) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), slices.Compare(x.Patterns, y.Patterns))
	})
	out.Suggestions = out.Suggestions[:min(len(out.Suggestions), adviceMost)]
	return out
}
