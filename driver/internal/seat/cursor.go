package seat

import (
	"context"

	"github.com/terret-dev/terret"
)

// cursorVersion is that of the cursors that are written. Those without a version are as
// those of version 1.
const cursorVersion = 1

// Cursor is what must be known to open an agent again. Each driver sets what it has.
type Cursor struct {
	// Undone lists where going forward leads, the next first: sessions or messages, in
	// the agent's words.
	Undone []string `json:"undone,omitempty"`
	// Cost is that of the session, as the agent counts it.
	Cost terret.Cost `json:"cost,omitempty"`
}

type storedCursor struct {
	Version int `json:"v"`
	Cursor
}

// Encode is the cursor as the log keeps it.
func (c Cursor) Encode() []byte { return Encode(storedCursor{cursorVersion, c}) }

// ReadCursor reads a cursor. One that cannot be read, or that a later version wrote, is
// as none.
func ReadCursor(b []byte) Cursor {
	var c storedCursor
	if !Decode(b, &c) || c.Version > cursorVersion {
		return Cursor{}
	}
	return c.Cursor
}

// Undone lists where going forward leads, the next first.
func (s *Seat[P]) Undone() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.undone
}

// Undo remembers where going forward leads from now on, and tells the events of that.
func (s *Seat[P]) Undo(ctx context.Context, undone []string, events ...terret.Event) error {
	s.mu.Lock()
	s.undone = undone
	s.mu.Unlock()
	return s.Req.Host.Emit(ctx, events, Cursor{Undone: undone}.Encode())
}

// Onward notes that a turn begins: what was undone cannot be redone.
func (s *Seat[P]) Onward(ctx context.Context) error {
	if len(s.Undone()) == 0 {
		return nil
	}
	return s.Undo(ctx, nil)
}

// Redo splits Undone into where going forward leads and what is undone then.
func (s *Seat[P]) Redo() (to string, undone []string, err error) {
	all := s.Undone()
	if len(all) == 0 {
		return "", nil, terret.Errorf(terret.CodeConflict, "the conversation was not rewound, or has continued since")
	}
	return all[0], all[1:], nil
}
