package engine

import (
	"context"

	"github.com/terret-dev/terret"
)

// threadKinds are the kinds of events that add to a conversation, and those that say
// that no more will come by itself.
var threadKinds = []terret.Kind{
	terret.KindTurnStart, terret.KindUserPrompt, terret.KindMessageComplete, terret.KindTurnComplete, terret.KindTurnError,
}

// checkParent refuses a prompt that follows any other message than the session's last:
// agents cannot go back to an earlier one. The parent may be given as a UUID; it is replaced by the message's own id.
func (e *Engine) checkParent(ctx context.Context, session string, p *terret.Prompt) error {
	parent := p.ParentID
	switch {
	case parent == "":
		return nil
	case p.Root:
		return terret.Invalid("parent_id", "a message that begins a thread follows no other")
	}
	queue, err := e.Queue(ctx, session)
	if err != nil {
		return err
	}
	last, working, err := e.lastMessage(ctx, session)
	switch {
	case err != nil:
		return err
	case working || len(queue) > 0:
		return notThere("message %s will not be the last one when this prompt's turn comes; wait for the result, or name no parent", parent)
	case last == "":
		return notThere("there is no message %s: nothing was said in this session yet", parent)
	case parent != last && parent != terret.MessageUUID(session, last):
		return notThere("message %s is not the last one of the session, which is %s, and its agent cannot go back to it; fork the session there to continue from it", parent, terret.MessageUUID(session, last))
	}
	p.ParentID = last
	return nil
}

func notThere(format string, args ...any) error {
	err := terret.Errorf(terret.CodeConflict, format, args...)
	err.Field = "parent_id"
	return err
}

// lastMessage is the id of the last message of the session, and whether a turn that may
// add to it is running.
func (e *Engine) lastMessage(ctx context.Context, session string) (id string, working bool, err error) {
	q := terret.ReadQuery{Session: session, Kinds: threadKinds, Backward: true, Limit: 16}
	for first := true; ; {
		entries, err := e.store.Read(ctx, q)
		if err != nil || len(entries) == 0 {
			return "", false, err
		}
		for _, entry := range entries {
			ev, err := entry.Decode()
			if err != nil {
				return "", false, err
			}
			if ev.Actor != "" && ev.Actor != terret.ActorRoot {
				continue
			}
			if first && !ev.Kind().EndsTurn() {
				return "", true, nil
			}
			first = false
			if id := messageID(ev); id != "" && (ev.Visibility == "" || ev.Visibility == terret.VisibleUI) {
				return id, false, nil
			}
		}
		q.Before = entries[len(entries)-1].Seq
	}
}

func messageID(ev terret.Event) string {
	switch d := ev.Data.(type) {
	case terret.TurnStart:
		return d.MessageID
	case terret.UserPrompt:
		return d.MessageID
	case terret.MessageComplete:
		return d.MessageID
	}
	return ""
}
