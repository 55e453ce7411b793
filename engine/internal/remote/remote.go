// Package remote is what an engine has to do with other processes and nodes: what it asks
// them, by the inbox in the store, and how it notices what they write.
//
// In a fleet a session belongs to the node that has its folder. Only that node runs its
// agent; others reach it by the inbox. Any node may end what a dead one has begun, since
// that is about the log.
package remote

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/terret-dev/terret"
)

// Peers are the other processes that use the same store.
type Peers struct {
	store terret.Store
	node  string // ours; empty on a single machine
}

// New returns the peers of a process on that node.
func New(store terret.Store, node string) *Peers { return &Peers{store: store, node: node} }

// Have reports whether the session's folder is on another node.
func (p *Peers) Have(s terret.Session) bool { return p.node != "" && s.Node != "" && s.Node != p.node }

// Here refuses a session whose folder is on another node.
func (p *Peers) Here(ctx context.Context, id string) error {
	if p.node == "" {
		return nil
	}
	s, err := p.store.Session(ctx, id)
	if err == nil && p.Have(s) {
		err = NodeError{terret.Errorf(terret.CodeConflict, "session %s belongs to node %s, which has its folder %s; do this on %[2]s, or over HTTP or in the browser on any node", id, s.Node, s.Cwd)}
	}
	return err
}

// NodeError says that the session belongs to another node.
type NodeError struct{ Err error }

func (e NodeError) Error() string { return e.Err.Error() }

func (e NodeError) Unwrap() error { return e.Err }

// Reachable refuses a session of a node that does not run: nobody would see what is sent
// to it.
func (p *Peers) Reachable(ctx context.Context, s terret.Session) error {
	if s.Owner != "" {
		return nil
	}
	return p.TakesPrompts(ctx, s)
}

// TakesPrompts refuses also a session of a node that finishes, which takes nothing new even
// for sessions that it owns.
func (p *Peers) TakesPrompts(ctx context.Context, s terret.Session) error {
	fleet, ok := p.store.(terret.Fleet)
	if !ok || !p.Have(s) {
		return nil
	}
	nodes, err := fleet.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		switch {
		case n.Name == s.Node && n.Draining:
			return terret.Errorf(terret.CodeConflict, "session %s belongs to node %s, which finishes and stops; try again when it is back", s.ID, s.Node)
		case n.Name == s.Node:
			return nil
		}
	}
	if s.Owner != "" { // by a process that is no node, such as a command line
		return nil
	}
	return terret.Errorf(terret.CodeConflict, "session %s belongs to node %s, which does not run; start terret there, and try again", s.ID, s.Node)
}

// Send asks the owner of a session to do something.
func (p *Peers) Send(ctx context.Context, session string, kind terret.InboxKind, by string, what any) error {
	_, err := p.send(ctx, session, kind, by, what)
	return err
}

func (p *Peers) send(ctx context.Context, session string, kind terret.InboxKind, by string, what any) (item terret.InboxItem, err error) {
	body, err := json.Marshal(what)
	if err != nil {
		return item, err
	}
	item = terret.InboxItem{ID: terret.NewID(terret.PrefixControl), Session: session, Kind: kind, By: by, Body: body}
	return item, p.store.Send(ctx, item)
}

// Rouse asks the node that has the session's folder to take the session, so that it sees
// what was sent to it, and to run its queue, too, if that is set.
func (p *Peers) Rouse(ctx context.Context, s terret.Session, run bool) error {
	if !p.Have(s) {
		return nil
	}
	return p.Send(ctx, s.ID, terret.InboxWake, "", Wake{run})
}

// Wake is the body of a wake item.
type Wake struct {
	Run bool `json:"run,omitempty"` // the queue, too
}

// Wish says what an item is about, so that a late one does no harm: it was meant for
// the turn that ran, or the agent that was open, when it was sent.
type Wish struct {
	Turn  string `json:"turn,omitempty"`
	Epoch int64  `json:"epoch,omitempty"`
}

// note is an event in the body of a note item, without its envelope.
type note struct {
	Kind terret.Kind `json:"kind"`
	Data terret.JSON `json:"data"`
}

// SendNote asks the owner of a log to append events.
func (p *Peers) SendNote(ctx context.Context, session, by string, events []terret.Event) (terret.InboxItem, error) {
	all := make([]note, 0, len(events))
	for _, ev := range events {
		data, err := json.Marshal(ev.Data)
		if err != nil {
			return terret.InboxItem{}, err
		}
		all = append(all, note{ev.Kind(), data})
	}
	return p.send(ctx, session, terret.InboxNote, by, all)
}

// Noted returns the events of a note item.
func Noted(item terret.InboxItem) ([]terret.Event, error) {
	var all []note
	err := json.Unmarshal(item.Body, &all)
	var events []terret.Event
	for _, n := range all {
		var ev terret.Event
		body, encodeErr := json.Marshal(map[string]any{"kind": n.Kind, "data": n.Data})
		err = errors.Join(err, encodeErr, json.Unmarshal(body, &ev))
		events = append(events, terret.Event{By: item.By, Data: ev.Data})
	}
	return events, err
}

// Waits reports whether nobody has handled the item yet.
func (p *Peers) Waits(ctx context.Context, item terret.InboxItem) (bool, error) {
	items, err := p.store.Pending(ctx, item.Session)
	if err != nil {
		return false, err
	}
	for _, i := range items {
		if i.ID == item.ID {
			return true, nil
		}
	}
	return false, nil
}
