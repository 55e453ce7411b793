package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/server/push"
)

const (
	maxPushNotes = 3 // in a message; more become a sum
	maxPushTitle = 80
	maxPushBody  = 160
)

// pushNotes says what is still true of topics, in few words. They show on locked screens,
// so commands, file contents and what agents write stay in the session.
func (s *Server) pushNotes(ctx context.Context, to push.Subscription, topics []push.Topic) ([]push.Note, error) {
	marks, err := s.marks(ctx)
	if err != nil {
		s.log.Warn("cannot see what people have seen", "error", err)
	}
	sees, err := s.pushSight(ctx, to)
	if err != nil {
		return nil, err
	}
	var notes []push.Note
	needs := 0
	for _, t := range topics {
		if !sees(t.Session) {
			continue
		}
		session, err := s.store.Session(ctx, t.Session)
		if errors.Is(err, terret.ErrSessionNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		n := push.Note{Title: pushLine(pushTitle(session), maxPushTitle), Path: "/s/" + session.ID, Tag: "ended-" + session.ID}
		switch {
		case t.Ended && isPast(session, marks, t.At):
			continue
		case t.Ended && t.Failed != "":
			n.Body = pushLine("Failed: "+t.Failed, maxPushBody)
		case t.Ended:
			n.Body = "Finished."
		default:
			open, err := s.store.ListRequests(ctx, terret.RequestFilter{Session: session.ID, State: terret.RequestOpen, Limit: 100})
			if err != nil {
				return nil, err
			}
			if len(open.Items) == 0 {
				continue // the request was decided meanwhile
			}
			n.Tag, n.Urgent, n.Body = "needs-"+session.ID, true, pushLine(pushNeeds(open.Items), maxPushBody)
			needs++
		}
		notes = append(notes, n)
	}
	if len(notes) > maxPushNotes {
		return []push.Note{{Title: pushSum(needs, len(notes)-needs), Body: "Open Terret to see them.", Tag: "sum", Path: "/", Urgent: needs > 0}}, nil
	}
	return notes, nil
}

// isPast reports whether the end of a turn is of no interest any more: the session works again,
// or a person has looked.
func isPast(s terret.Session, m Marks, at time.Time) bool {
	return s.Turn != "" || !m.Seen[s.ID].Before(at)
}

func pushLine(s string, most int) string {
	short := brief.Cut(brief.Line(s), most)
	if len(short) < len(brief.Line(s)) {
		short = strings.TrimSuffix(brief.Cut(short, most-1), "…") + "…"
	}
	return short
}

func pushTitle(s terret.Session) string {
	if s.Title != "" {
		return s.Title
	}
	return "Session in " + filepath.Base(s.Cwd)
}

// pushNeeds says what a session waits for.
func pushNeeds(open []terret.Request) string {
	if len(open) > 1 {
		return fmt.Sprintf("%d requests wait for you.", len(open))
	}
	switch r := open[0]; r.Gate {
	case terret.GatePermission, terret.GatePreTool:
		return pushWants(r.Data)
	case terret.GateQuestion:
		var q terret.QuestionRequest
		if json.Unmarshal(r.Data, &q) == nil && len(q.Questions) > 0 {
			return "Asks: " + q.Questions[0].Text
		}
		return "Has a question."
	case terret.GatePlan:
		return "Has a plan for you to approve."
	case terret.GateStop:
		return "Wants to stop."
	case terret.GateTrust:
		return "Asks whether this folder's settings may act."
	default:
		return "Waits for your answer."
	}
}

// pushWants says what the use of a tool amounts to.
func pushWants(data terret.JSON) string {
	var p terret.PermissionRequest
	_ = json.Unmarshal(data, &p) // then it has no class
	switch p.Class {
	case terret.ClassExecute:
		return "Wants to run a command."
	case terret.ClassEdit:
		return "Wants to change a file."
	case terret.ClassRead, terret.ClassSearch:
		return "Wants to look at files."
	case terret.ClassFetch:
		return "Wants to fetch a page."
	case terret.ClassAgent:
		return "Wants to start a helper."
	default:
		return "Wants to use a tool."
	}
}

func pushSum(needs, ended int) string {
	count := func(n int, one, more string) string {
		if n == 1 {
			return "1 session " + one
		}
		return fmt.Sprintf("%d sessions %s", n, more)
	}
	switch {
	case ended == 0:
		return count(needs, "needs you", "need you")
	case needs == 0:
		return count(ended, "is done", "are done")
	}
	return count(needs, "needs you", "need you") + ", " + fmt.Sprintf("%d done", ended)
}
