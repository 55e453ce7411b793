package httpapi

import (
	"context"
	"strconv"

	"github.com/terret-dev/terret"
)

// messageKinds are the kinds of events that hold messages.
var messageKinds = []terret.Kind{terret.KindTurnStart, terret.KindUserPrompt, terret.KindMessageComplete}

func (s *Server) listMessages(ctx context.Context, in *struct {
	SessionPath
	Limit  int    `query:"limit" minimum:"1" maximum:"5000" doc:"How many at most. Default 1000."`
	Cursor string `query:"cursor" doc:"The next of the page before."`
},
) (*body[terret.Page[terret.Message]], error) {
	if _, err := s.session(ctx, in.ID); err != nil {
		return nil, err
	}
	from := 0
	if in.Cursor != "" {
		n, err := strconv.Atoi(in.Cursor)
		if err != nil || n < 0 {
			return nil, terret.Invalid("cursor", "it is not one that a list gave; leave it out to start from the beginning")
		}
		from = n
	}
	all, err := s.messages(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	setDefault(&in.Limit, 1000)
	p := terret.Page[terret.Message]{Items: all[min(from, len(all)):]}
	if len(p.Items) > in.Limit {
		p.Items = p.Items[:in.Limit]
		p.Next = strconv.Itoa(from + in.Limit)
	}
	return reply(p, nil)
}

// messages makes the conversation out of the log. A message that is told more than
// once, such as a prompt that the agent repeats, is there once.
func (s *Server) messages(ctx context.Context, session string) ([]terret.Message, error) {
	all := []terret.Message{}
	seen := map[string]bool{}
	for after := int64(0); ; {
		entries, err := s.store.Read(ctx, terret.ReadQuery{Session: session, After: after, Kinds: messageKinds})
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			return all, nil
		}
		for _, e := range entries {
			after = e.Seq
			ev, err := e.Decode()
			if err != nil {
				return nil, err
			}
			m, ok := messageOf(ev)
			if !ok || m.MessageID != "" && seen[m.MessageID] {
				continue
			}
			seen[m.MessageID] = true
			all = append(all, m)
		}
	}
}

func messageOf(ev terret.Event) (terret.Message, bool) {
	m := terret.Message{Time: ev.Time, Turn: ev.Turn, Role: terret.RoleUser}
	switch d := ev.Data.(type) {
	case terret.TurnStart:
		m.MessageID, m.ParentID, m.Blocks = d.MessageID, terret.NullString(d.ParentID), d.Prompt
	case terret.UserPrompt:
		m.MessageID, m.ParentID, m.Blocks = d.MessageID, terret.NullString(d.ParentID), d.Blocks
	case terret.MessageComplete:
		m.MessageID, m.ParentID, m.Role, m.Blocks = d.MessageID, terret.NullString(d.ParentID), d.Role, d.Blocks
	}
	if m.Blocks == nil {
		m.Blocks = []terret.Block{}
	}
	return m, len(m.Blocks) > 0
}
