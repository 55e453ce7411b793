package engine

import (
	"fmt"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/redact"
)

// secrets keeps those that the harness passes on to agents out of one session's log:
// an agent may print its environment. Texts that come in pieces are followed, since a
// secret may begin in one and end in the next.
type secrets struct {
	known  *redact.Redactor // nil: there are none
	pieces map[string]*redact.Pieces
}

// hide returns the event without secrets. Pieces of text are forgotten with forget.
func (s *secrets) hide(ev terret.Event) terret.Event {
	if s.known == nil {
		return ev
	}
	switch d := ev.Data.(type) {
	case terret.MessageDelta:
		d.Text = s.next(fmt.Sprint("text", ev.Actor, d.MessageID, d.Index), d.Text)
		ev.Data = d
	case terret.ReasoningDelta:
		d.Text = s.next(fmt.Sprint("thought", ev.Actor, d.MessageID, d.Index), d.Text)
		ev.Data = d
	case terret.ToolDelta:
		d.PartialInput = s.next("input"+d.ToolID, d.PartialInput)
		ev.Data = d
	case terret.ToolProgress:
		d.Text = s.next("output"+d.ToolID, d.Text)
		ev.Data = d
	default:
		return s.hideWhole(ev)
	}
	ev.Raw = s.known.Bytes(ev.Raw)
	return ev
}

func (s *secrets) next(text, piece string) string {
	p := s.pieces[text]
	if p == nil {
		if s.pieces == nil {
			s.pieces = map[string]*redact.Pieces{}
		}
		p = s.known.Pieces()
		s.pieces[text] = p
	}
	return p.Next(piece)
}

// hideWhole looks at the event as it would be stored.
func (s *secrets) hideWhole(ev terret.Event) terret.Event {
	ev.Raw = s.known.Bytes(ev.Raw)
	body, err := ev.Encode()
	if err != nil {
		return ev // the commit says so
	}
	clean := s.known.Bytes(body)
	if slices.Equal(clean, body) {
		return ev
	}
	out, err := terret.Entry{Session: ev.Session, Body: clean}.Decode()
	if err != nil { // a secret stood where none can stand
		ev.Data = terret.DiagWarning{Text: "an event of kind " + string(ev.Kind()) + " held a secret and was left out"}
		return ev
	}
	out.Raw = ev.Raw
	return out
}

// forget begins anew, when a turn has ended.
func (s *secrets) forget() { s.pieces = nil }
