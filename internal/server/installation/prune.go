package installation

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/marks"
	"github.com/terret-dev/terret/work/team"
)

// Why an old session is kept.
const (
	keptWorking    = "working"
	keptAsking     = "waiting for a decision"
	keptQueued     = "with queued prompts"
	keptPinned     = "pinned"
	keptTeam       = "of the team"
	keptUnfinished = "of unfinished work" // a race, a review, a workflow
	keptInUse      = "in use by another process"
	keptElsewhere  = "of other nodes"
)

// Prune says which sessions to delete.
type Prune struct {
	// Before is the time since which nothing has happened in them.
	Before time.Time
	// Node is a node that no longer runs, whose sessions to delete instead of those of
	// this one. Its folders are out of reach, so worktrees and clones stay in them.
	Node string
}

// Stale is an old session.
type Stale struct {
	ID        string      `json:"id"`
	Agent     string      `json:"agent"`
	Title     string      `json:"title"`
	Cwd       string      `json:"cwd"`
	UpdatedAt terret.Time `json:"updated_at"`
	Events    int64       `json:"events"`
	// Deleted says what remains of it.
	assemble.Deleted
}

// Pruned is what was or would be deleted, and how many old sessions are kept, by reason.
type Pruned struct {
	Sessions []Stale        `json:"sessions"`
	Events   int64          `json:"events"`
	Kept     map[string]int `json:"kept"`
}

func (p *Pruned) add(s Stale) {
	p.Sessions = append(p.Sessions, s)
	p.Events += s.Events
}

// Stale lists what Prune would delete.
func (m *Sessions) Stale(ctx context.Context, o Prune) (Pruned, error) {
	out := Pruned{Sessions: []Stale{}, Kept: map[string]int{}}
	keep, err := m.keepers(ctx, o)
	if err != nil {
		return out, err
	}
	for f := (terret.SessionFilter{UpdatedBefore: terret.TimeOf(o.Before), Limit: 1000}); ; {
		page, err := m.Store.ListSessions(ctx, f)
		if err != nil {
			return out, err
		}
		for _, s := range page.Items {
			if o.Node != "" && s.Node != o.Node {
				continue
			}
			why, err := keep.why(ctx, s)
			if err != nil {
				return out, err
			}
			if why != "" {
				out.Kept[why]++
				continue
			}
			out.add(Stale{ID: s.ID, Agent: s.Agent, Title: s.Title, Cwd: s.Cwd, UpdatedAt: s.UpdatedAt, Events: s.LastSeq})
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return out, nil
		}
	}
}

// Prune deletes old sessions that Stale has listed, each as Delete does, and
// then frees their space. A session in which something has happened meanwhile is kept. If
// it fails, it returns what it has deleted.
func (m *Sessions) Prune(ctx context.Context, o Prune, stale Pruned) (Pruned, error) {
	out := Pruned{Sessions: []Stale{}, Kept: stale.Kept}
	keep, err := m.keepers(ctx, o)
	if err != nil {
		return out, err
	}
	for _, one := range stale.Sessions {
		s, err := m.Store.Session(ctx, one.ID)
		why := ""
		if err == nil && s.UpdatedAt.Before(o.Before) {
			why, err = keep.why(ctx, s)
		} else if err == nil {
			continue // it is not old any more
		}
		if err == nil && why == "" {
			one.Deleted, err = m.Remove(ctx, s, false)
		}
		switch {
		case errors.Is(err, terret.ErrSessionNotFound):
			continue // another process was faster
		case errors.Is(err, terret.ErrConflict):
			why = keptInUse
		case errors.Is(err, terret.ErrBusy):
			why = keptWorking
		case err != nil:
			return out, err
		}
		if why != "" {
			out.Kept[why]++
			continue
		}
		out.add(one)
	}
	if upkeep, ok := m.Store.(terret.Maintainer); ok && len(out.Sessions) > 0 {
		_, err = upkeep.Compact(ctx, time.Unix(0, 0)) // no pieces of text: keep_deltas is about those
	}
	return out, err
}

// keepers knows which sessions stay, however old they are.
type keepers struct {
	*Sessions
	node         string   // as in Prune
	pinned, team []string // sessions
}

func (m *Sessions) keepers(ctx context.Context, o Prune) (k keepers, err error) {
	k = keepers{Sessions: m, node: o.Node}
	fleet, _ := m.Store.(terret.Fleet) // nil on a single machine
	if err := assemble.RefuseNode(ctx, fleet, o.Node); err != nil {
		return k, err
	}
	noted, err := marks.Read(ctx, fleet, m.Home)
	if err != nil {
		return k, err
	}
	k.pinned = noted.Pinned
	if _, err := m.Store.Session(ctx, team.LogSession); errors.Is(err, terret.ErrSessionNotFound) {
		return k, nil
	}
	r, err := m.Team(ctx, team.Limits{}, nil)
	if err != nil {
		return k, err
	}
	defer r.Close()
	members, err := r.List(ctx)
	k.team = []string{team.LogSession}
	for _, one := range members {
		if one.Session != "" && one.State != terret.AgentTerminated {
			k.team = append(k.team, one.Session)
		}
	}
	return k, err
}

// why says why a session stays; empty means that it may go.
func (k keepers) why(ctx context.Context, s terret.Session) (string, error) {
	switch {
	case k.node == "" && k.Engine.Elsewhere(s) != "":
		return keptElsewhere, nil
	case slices.Contains(k.pinned, s.ID):
		return keptPinned, nil
	case slices.Contains(k.team, s.ID):
		return keptTeam, nil
	case s.OpenRequests > 0:
		return keptAsking, nil
	case s.Turn != "" || s.State == terret.SessionBusy:
		return keptWorking, nil
	}
	queue, err := k.Store.Pending(ctx, s.ID)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(queue, func(i terret.InboxItem) bool { return i.Kind == terret.InboxPrompt }) {
		return keptQueued, nil
	}
	if s.Agent != engine.NoAgent {
		return "", nil
	}
	return k.finished(ctx, s.ID)
}

// finished says why the log of a race, a review or a workflow stays: until it has ended,
// a person may continue it, and its worktrees are known by it.
func (k keepers) finished(ctx context.Context, id string) (string, error) {
	for q := (terret.ReadQuery{Session: id, Kinds: []terret.Kind{terret.KindTaskEnd}, Backward: true}); ; {
		page, err := k.Store.Read(ctx, q)
		if err != nil || len(page) == 0 {
			return keptUnfinished, err
		}
		for _, entry := range page {
			ev, err := entry.Decode()
			if err != nil {
				return "", err
			}
			if end, ok := ev.Data.(terret.TaskEnd); ok && end.ID == id {
				return "", nil
			}
			q.Before = entry.Seq
		}
	}
}
