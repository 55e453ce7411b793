package engine

import (
	"fmt"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/redact"
)

// secrets keeps the secrets that agents are given out of one session's log: an agent
// may print its environment. It follows texts that come in pieces, since a secret may
// begin in one piece and end in the next.
type secrets struct {
	known  *redact.Redactor // nil if there are none
	pieces map[string]*redact.Pieces
}

// hide returns the event without secrets.
func (s *secrets) hide(ev terret.Event) terret.Event {
	if s.known == nil {
		return ev
	}
	whole := true // the agent's own message gives away no more than itself
	switch d := ev.Data.(type) {
	case terret.MessageDelta:
		d.Text, whole = s.next(fmt.Sprint("text", ev.Actor, d.MessageID, d.Index), d.Text)
		ev.Data = d
	case terret.ReasoningDelta:
		d.Text, whole = s.next(fmt.Sprint("thought", ev.Actor, d.MessageID, d.Index), d.Text)
		ev.Data = d
	case terret.ToolDelta:
		d.PartialInput, whole = s.next("input"+d.ToolID, d.PartialInput)
		ev.Data = d
	case terret.ToolProgress:
		d.Text, whole = s.next("output"+d.ToolID, d.Text)
		ev.Data = d
	case terret.SessionStateChange:
		if d.Detail != "" {
			return s.hideWhole(ev)
		}
	case terret.UsageUpdate: // numbers
	default:
		return s.hideWhole(ev)
	}
	ev.Raw = s.known.Bytes(ev.Raw)
	if !whole {
		ev.Raw = nil
	}
	return ev
}

// next returns the next piece of a text without secrets, and whether none of them is in
// other pieces, too.
func (s *secrets) next(text, piece string) (clean string, whole bool) {
	p := s.pieces[text]
	if p == nil {
		if s.pieces == nil {
			s.pieces = map[string]*redact.Pieces{}
		}
		p = s.known.Pieces()
		s.pieces[text] = p
	}
	clean = p.Next(piece)
	return clean, clean == s.known.String(piece)
}

// hideWhole redacts the event in its stored form.
func (s *secrets) hideWhole(ev terret.Event) terret.Event {
	ev.Raw = s.known.Bytes(ev.Raw)
	body, err := ev.Encode()
	if err != nil {
		return ev // the commit will report it
	}
	clean := s.known.Bytes(body)
	if slices.Equal(clean, body) {
		return ev
	}
	out, err := terret.Entry{Session: ev.Session, Body: clean}.Decode()
	if err != nil { // a secret stood where the mark cannot
		ev.Data = terret.DiagWarning{Text: "an event of kind " + string(ev.Kind()) + " held a secret and was left out"}
		return ev
	}
	out.Raw = ev.Raw
	return out
}

// forget drops unfinished texts, when a turn has ended.
func (s *secrets) forget() { s.pieces = nil }
