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
	"github.com/terret-dev/terret/internal/server/access"
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
	a := advice{found: map[string]*suggested{}, denied: map[string]bool{}}
	for cursor := firstRequestOf(time.Now().AddDate(0, 0, -adviceDays)); ; {
		p, err := s.store.ListRequests(ctx, terret.RequestFilter{State: terret.RequestDecided, Limit: 500, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, r := range p.Items {
			a.add(r)
		}
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	return reply(a.result(func(r terret.Request) (bool, error) {
		past, _, err := s.engine.Try(ctx, r, rules)
		return past.Rule != "", err
	}))
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
	found  map[string]*suggested
	denied map[string]bool
}

// suggested is a suggestion, and the requests that people answered.
type suggested struct {
	Suggestion
	answered []terret.Request
}

// add takes a request that was decided.
func (a *advice) add(r terret.Request) {
	var p terret.PermissionRequest
	if r.Gate != terret.GatePermission || r.Decision == nil || json.Unmarshal(r.Data, &p) != nil {
		return
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
	case d.Behavior != terret.BehaviorAllow || d.Scope != terret.ScopeOnce || len(d.UpdatedInput) > 0:
	default:
		if a.found[key] == nil {
			a.found[key] = &suggested{Suggestion: Suggestion{Patterns: p.Suggestions}}
		}
		s := a.found[key]
		s.answered = append(s.answered, r)
		s.Last, s.Title = r.CreatedAt, p.Title
	}
}

// result is what follows. Ruled reports whether a rule of today decides a request: then
// nobody would be asked.
func (a *advice) result(ruled func(terret.Request) (bool, error)) (Decisions, error) {
	out := Decisions{Items: slices.Clone(a.last), Suggestions: []Suggestion{}}
	slices.Reverse(out.Items)
	if out.Items == nil {
		out.Items = []DecidedUse{}
	}
	for key, s := range a.found {
		if len(s.answered) < adviceEnough || a.denied[key] {
			continue
		}
		for _, r := range s.answered {
			decided, err := ruled(r)
			if err != nil {
				return Decisions{}, err
			}
			if !decided {
				s.Count++
			}
		}
		if s.Count >= adviceEnough {
			out.Suggestions = append(out.Suggestions, s.Suggestion)
		}
	}
	slices.SortFunc(out.Suggestions, func(x, y Suggestion) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), slices.Compare(x.Patterns, y.Patterns))
	})
	out.Suggestions = out.Suggestions[:min(len(out.Suggestions), adviceMost)]
	return out, nil
}
