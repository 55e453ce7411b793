package httpapi

import (
	"context"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

func (s *Server) usageRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/usage", id: "usage", tag: tagUsage, scope: access.View,
		summary: "Sum up turns, tokens and cost by day, agent, model or folder",
		long:    "Days are UTC. Deleted sessions still count.",
		fails:   stored(),
	}, s.usage)
}

func (s *Server) usage(ctx context.Context, in *struct {
	Group string `query:"group" enum:"day,agent,model,cwd" doc:"Default day."`
	Since string `query:"since" format:"date" doc:"The first day, such as 2026-11-01."`
	Until string `query:"until" format:"date" doc:"The day after the last."`
},
) (*body[terret.Page[terret.UsageRow]], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	since, err := parseDay("since", in.Since)
	if err != nil {
		return nil, err
	}
	until, err := parseDay("until", in.Until)
	if err != nil {
		return nil, err
	}
	return page(s.store.UsageBy(ctx, nonEmpty(in.Group, "day"), since, until))
}

func parseDay(field, v string) (terret.Time, error) {
	if v == "" {
		return terret.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, v)
	if err != nil {
		return terret.Time{}, terret.Invalid(field, "%.64q is not a day, such as 2026-11-15", v)
	}
	return terret.TimeOf(t), nil
}
