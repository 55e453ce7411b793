package uhp

import (
	"strconv"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// statusOf is a session's state as that of its last task.
func statusOf(s terret.Session) string {
	switch {
	case s.Turn != "" || s.State.Working():
		return inProgress
	case s.State == terret.SessionFailed:
		return failed
	}
	return completed
}

func shown(s terret.Session) map[string]any {
	return map[string]any{
		"id": sessionID(s.ID), "object": "session", "harness_id": harnessOf(s), "title": s.Title, "status": statusOf(s),
		"created_at": s.CreatedAt.Unix(), "updated_at": s.UpdatedAt.Unix(),
	}
}

// maxPages bounds how many pages are looked through for those of one harness.
const maxPages = 20

func (d *Door) listSessions(c *call) error {
	q := c.r.URL.Query()
	limit := 20
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return invalid("limit", "It must be a number from 1 to 100.")
		}
		limit = min(n, 100)
	}
	out, cursor := []any{}, q.Get("cursor")
	for range maxPages {
		page, err := c.Sessions(c.ctx, terret.SessionFilter{Limit: limit - len(out), Cursor: cursor})
		if err != nil {
			return err
		}
		for _, s := range page.Items {
			if h := q.Get("harness"); h == "" || h == harnessOf(s) {
				out = append(out, shown(s))
			}
		}
		if cursor = page.Next; cursor == "" || len(out) >= limit {
			break
		}
	}
	var next *string
	if cursor != "" {
		next = &cursor
	}
	return c.answer(map[string]any{"sessions": out, "next_cursor": next})
}

// session is that of the path.
func (c *call) session() (terret.Session, error) {
	return c.known(sessionOf(prefixSession, c.id()), noSession(c.id()))
}

func (d *Door) getSession(c *call) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	return c.answer(shown(s))
}

func (d *Door) sessionTurns(c *call) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	turns, err := c.Turns(c.ctx, s.ID)
	if err != nil {
		return err
	}
	out := []any{}
	for i, t := range turns {
		one := map[string]any{
			"object": "turn", "response_id": responseID(s.ID, t.ID), "previous_response_id": nil, "created_at": t.StartedAt.Unix(), "input": terret.TextOf(t.Prompt),
		}
		if p := before(turns, i); p != "" {
			one["previous_response_id"] = responseID(s.ID, p)
		}
		if t.EndedAt != nil {
			one["completed_at"] = t.EndedAt.Unix()
		}
		if one["status"], err = c.status(s, t, before(turns, i)); err != nil {
			return err
		}
		out = append(out, one)
	}
	return c.answer(map[string]any{"turns": out})
}

// status is that of a task. Whether a budget stopped it, its events say.
func (c *call) status(s terret.Session, t terret.Turn, previous string) (string, error) {
	switch t.State {
	case terret.TurnCompleted:
		return completed, nil
	case terret.TurnQueued, terret.TurnRunning:
		return inProgress, nil
	case terret.TurnFailed, terret.TurnInterrupted, terret.TurnKilled:
	}
	f, err := c.folded(s, t.ID, previous)
	if err != nil {
		return "", err
	}
	return f.out.Status, nil
}

func (d *Door) cancelSession(c *call) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	if s.Turn != "" {
		if err := c.stop(s.ID, s.Turn); err != nil {
			return err
		}
		if s, err = c.session(); err != nil {
			return err
		}
	}
	status := cancelled
	if s.Turn == "" {
		status = statusOf(s)
	}
	return c.answer(map[string]any{"id": c.id(), "object": "session", "status": status})
}

func (d *Door) deleteSession(c *call) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	if _, err := c.DeleteSession(c.ctx, s.ID, true); err != nil {
		return err
	}
	_ = c.RevokeToken(c.ctx, shareName(s.ID)) // without its session it shows nothing anyway
	return c.answer(map[string]any{"id": c.id(), "object": "session", "deleted": true})
}

// shareName is the name of the token by which a session is shared.
func shareName(session string) string { return "share-" + bare("", session) }

// share makes a token with which the session can be read, and nothing else.
func (d *Door) share(c *call) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	t, err := c.MakeToken(c.ctx, client.NewToken{Name: shareName(s.ID), Scope: "view", Session: s.ID})
	if err != nil && terret.AsError(err).Code == terret.CodeConflict {
		return refuse(409, "terret_shared_already", "", "The session is shared already; its token is shown only once. Revoke it to make another one.")
	}
	if err != nil {
		return err
	}
	out := c.shareOf(s.ID, t)
	out["token"] = t.Secret
	return c.answer(out)
}

func (c *call) shareOf(session string, t client.Token) map[string]any {
	return map[string]any{
		"object": "session.share", "session_id": sessionID(session), "shared": true, "read_only": true, "created_at": t.CreatedAt.Unix(),
		"url": baseOf(c.r) + "/v1/sessions/" + sessionID(session),
	}
}

func (d *Door) shared(c *call) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	list, err := c.Tokens(c.ctx)
	if err != nil {
		return err
	}
	for _, t := range list {
		if t.Name == shareName(s.ID) {
			return c.answer(c.shareOf(s.ID, t))
		}
	}
	return c.answer(map[string]any{"object": "session.share", "session_id": c.id(), "shared": false})
}

func (d *Door) unshare(c *call) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	if err := c.RevokeToken(c.ctx, shareName(s.ID)); err != nil && terret.AsError(err).Code != terret.CodeNotFound {
		return err
	}
	return c.answer(map[string]any{"object": "session.share", "session_id": c.id(), "shared": false})
}
