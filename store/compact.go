package store

import (
	"encoding/json"

	"github.com/terret-dev/terret"
)

// Part is what pieces of text belong to: the text or the thoughts of a message, or the
// input of a tool call. Session is the store's key.
type Part struct {
	Session  int64
	Turn, ID string
	What     terret.BlockType
}

// PartsOf lists what an event is a piece of, or holds in full. Events that do not name
// their message have none.
func PartsOf(session int64, kind terret.Kind, body []byte) []Part {
	var e struct {
		Turn string
		Data struct {
			MessageID string `json:"message_id"`
			ToolID    string `json:"tool_id"`
			Blocks    []struct{ Type terret.BlockType }
		}
	}
	if json.Unmarshal(body, &e) != nil {
		return nil
	}
	p := Part{Session: session, Turn: e.Turn, ID: e.Data.MessageID}
	switch kind {
	case terret.KindMessageDelta:
		p.What = terret.BlockText
	case terret.KindReasoningDelta:
		p.What = terret.BlockThinking
	case terret.KindToolDelta, terret.KindToolPre:
		p.ID, p.What = e.Data.ToolID, terret.BlockToolUse
	case terret.KindMessageComplete:
		var parts []Part
		for _, b := range e.Data.Blocks {
			p.What = b.Type
			parts = append(parts, p)
		}
		return parts
	default: // not part of a message
		return nil
	}
	if p.ID == "" || p.What == "" {
		return nil
	}
	return []Part{p}
}
