// Package archive exports a session to one file and imports it again: NDJSON, whose
// first line holds the session and each further line an event.
//
// An export is complete, byte for byte as in the log. An import becomes a new session
// with its own ids, so that it can live beside the original. It records what happened
// and grants nothing: the policy is ask; rules, servers and permission modes are
// dropped, and so are the agent's own session id and the folder's snapshots, which
// belong to the original machine. It can be read, searched and, by agents whose memory
// is the log, continued. The log of a workflow, a review or a race can only be read.
package archive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// Write writes a session and its events.
func Write(w io.Writer, s terret.Session, events iter.Seq2[terret.Entry, error]) error {
	head, err := json.Marshal(header{&s})
	if err != nil {
		return err
	}
	if _, err := w.Write(append(head, '\n')); err != nil {
		return err
	}
	var buf []byte
	for e, err := range events {
		if err != nil {
			return err
		}
		buf = e.AppendJSON(buf[:0])
		if bytes.IndexByte(buf, '\n') >= 0 { // in an agent's own message
			var line bytes.Buffer
			if err := json.Compact(&line, buf); err != nil {
				return err
			}
			buf = append(buf[:0], line.Bytes()...)
		}
		if _, err := w.Write(append(buf, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// header is the first line.
type header struct {
	Session *terret.Session `json:"session"`
}

// Store is the part of a store that Read needs.
type Store interface {
	Create(ctx context.Context, s terret.Session) (terret.Session, error)
	Session(ctx context.Context, id string) (terret.Session, error)
	Delete(ctx context.Context, id string) error
	Claim(ctx context.Context, session string) (terret.Claim, error)
	Release(ctx context.Context, session string, epoch int64) error
	Commit(ctx context.Context, batches []terret.Batch) ([]terret.Result, error)
}

// MaxLine bounds the lines that Read accepts.
const MaxLine = 64 << 20

// How many events, and bytes of them, are written at once.
const (
	batchEvents = 500
	batchBytes  = 8 << 20
)

// Read makes a session from what Write wrote. check sees the session before it is
// created and may change it: it must check the folder. If anything is wrong, no session
// is created.
func Read(ctx context.Context, store Store, r io.Reader, check func(*terret.Session) error) (terret.Session, error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	first, err := readLine(lines)
	if err != nil {
		return terret.Session{}, invalid(1, "%w", noEOF(err))
	}
	var h header
	if err := json.Unmarshal(first, &h); err != nil || h.Session == nil {
		return terret.Session{}, invalid(1, "it does not hold a session; only an export can be imported")
	}
	s, err := renewed(*h.Session)
	if err != nil {
		return terret.Session{}, err
	}
	if err := check(&s); err != nil {
		return terret.Session{}, err
	}
	if s, err = store.Create(ctx, s); err != nil {
		return terret.Session{}, err
	}
	in := &reader{store: store, session: s, id: s.ID, ids: map[string]string{h.Session.ID: s.ID}, open: map[string]terret.Expects{}}
	if err := in.run(ctx, lines); err != nil {
		return terret.Session{}, errors.Join(err, store.Delete(context.WithoutCancel(ctx), s.ID))
	}
	return store.Session(ctx, s.ID)
}

// Recall makes that session of what an agent remembers of it. If anything goes wrong, no
// session is created.
func Recall(ctx context.Context, store Store, s terret.Session, events iter.Seq2[terret.Event, error]) (terret.Session, error) {
	s.State = terret.SessionPending
	s, err := store.Create(ctx, s)
	if err != nil {
		return s, err
	}
	in := &reader{store: store, session: s, id: s.ID, open: map[string]terret.Expects{}}
	err = in.fill(ctx, func(add func(ev terret.Event, n, size int) error) error {
		n := 0
		for ev, err := range events {
			if n++; err != nil {
				return err
			}
			ev.Session = s.ID
			if err := add(ev, n, len(ev.Raw)+recalledSize); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return terret.Session{}, errors.Join(err, store.Delete(context.WithoutCancel(ctx), s.ID))
	}
	return store.Session(ctx, s.ID)
}

// recalledSize is what an event counts for whose size is not known.
const recalledSize = 64 << 10

// imported marks the title of an imported session, and what its log would have others do.
const imported = " (imported)"

// renewed is the session as it may be recreated.
func renewed(old terret.Session) (terret.Session, error) {
	if !terret.ValidID("", old.ID) || old.Agent == "" {
		return terret.Session{}, invalid(1, "the session has no id or no agent")
	}
	if old.Mode.Validate() != nil {
		old.Mode = terret.ModeDirect
	}
	if err := checkNames(old); err != nil {
		return terret.Session{}, err
	}
	return terret.Session{
		ID: terret.NewSessionID(), Agent: old.Agent, Title: strings.TrimSpace(strings.TrimSuffix(old.Title, imported) + imported), Cwd: old.Cwd,
		Persona: old.Persona, Mode: old.Mode, Model: old.Model, Policy: terret.PolicyAsk, State: terret.SessionPending,
	}, nil
}

// reader writes events into a session that nobody else knows yet.
type reader struct {
	store   Store
	session terret.Session // after check
	id      string
	epoch   int64
	after   int64
	ids     map[string]string         // old to new
	open    map[string]terret.Expects // undecided requests, by their new id
	turn    string                    // the unfinished one
	batch   []terret.Event
	size    int // of the batch
}

func (in *reader) run(ctx context.Context, lines *bufio.Reader) error {
	return in.fill(ctx, func(add func(ev terret.Event, n, size int) error) error {
		for n := 2; ; n++ {
			line, err := readLine(lines)
			if errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return invalid(n, "%w", err)
			}
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			var ev terret.Event
			if err := json.Unmarshal(in.renamed(line), &ev); err != nil {
				return invalid(n, "%w", err)
			}
			if ev.Session != in.id {
				return invalid(n, "the event belongs to another session")
			}
			if err := add(ev, n, len(line)); err != nil {
				return err
			}
		}
	})
}

// fill writes the events that read adds, and ends what they leave open.
func (in *reader) fill(ctx context.Context, read func(add func(ev terret.Event, n, size int) error) error) error {
	claim, err := in.store.Claim(ctx, in.id)
	if err != nil {
		return err
	}
	in.epoch, in.after = claim.Session.Epoch, claim.Session.LastSeq
	defer func() { _ = in.store.Release(context.WithoutCancel(ctx), in.id, in.epoch) }() // if that fails, the session belongs to a dead owner
	if err := read(func(ev terret.Event, n, size int) error { return in.add(ctx, ev, n, size) }); err != nil {
		return err
	}
	in.finish()
	return in.flush(ctx)
}

// add imports one event.
func (in *reader) add(ctx context.Context, ev terret.Event, n, size int) error {
	ev.Seq = 0
	if ev.Data = harmless(ev.Data, in.id); ev.Data == nil {
		return nil
	}
	if err := in.follow(n, ev); err != nil {
		return err
	}
	in.batch = append(in.batch, ev)
	if in.size += size; len(in.batch) >= batchEvents || in.size >= batchBytes {
		return in.flush(ctx)
	}
	return nil
}

// follow tracks what is open, and rejects what no log can contain.
func (in *reader) follow(n int, ev terret.Event) error {
	if ev.Expects != nil {
		if _, twice := in.open[ev.Expects.RequestID]; twice || !terret.ValidID(terret.PrefixRequest, ev.Expects.RequestID) {
			return invalid(n, "%.64q is not a new request id", ev.Expects.RequestID)
		}
		in.open[ev.Expects.RequestID] = *ev.Expects
	}
	if d, ok := terret.DecisionOf(ev.Data); ok {
		if _, ok := in.open[d.RequestID]; !ok {
			return invalid(n, "it decides a request that is not open")
		}
		delete(in.open, d.RequestID)
	}
	switch ev.Data.(type) {
	case terret.TurnStart:
		if in.turn != "" || !terret.ValidID(terret.PrefixTurn, ev.Turn) {
			return invalid(n, "a turn begins before the previous one has ended, or has no id")
		}
		in.turn = ev.Turn
	case terret.TurnComplete, terret.TurnError:
		if in.turn == "" || in.turn != ev.Turn {
			return invalid(n, "a turn ends without having begun")
		}
		in.turn = ""
	}
	return nil
}

// finish decides and ends what the file leaves open. Whatever the events said, the
// session is the one that was checked.
func (in *reader) finish() {
	stamp := func(d terret.Data) {
		in.batch = append(in.batch, terret.Event{Session: in.id, Turn: in.turn, Time: terret.Now(), Data: d})
	}
	for id, e := range in.open {
		stamp(terret.Decision{
			RequestID: id, Gate: e.Gate, Behavior: e.Fallback, Scope: terret.ScopeOnce, Source: terret.ByAgentExit,
			Reason: "the session was exported while this was open",
		}.Data())
	}
	if in.turn != "" {
		stamp(terret.TurnError{Error: terret.Error{Code: terret.CodeInterrupted, Message: "the session was exported during this turn"}})
		in.turn = ""
	}
	s := in.session
	stamp(terret.SessionUpdated{Title: &s.Title, Model: &s.Model, Mode: &s.Mode, Persona: (*string)(&s.Persona)})
	stamp(terret.SessionStateChange{State: terret.SessionIdle, Detail: "imported"})
}

func (in *reader) flush(ctx context.Context) error {
	if len(in.batch) == 0 {
		return nil
	}
	results, err := in.store.Commit(ctx, []terret.Batch{{Session: in.id, Epoch: in.epoch, After: in.after, Events: in.batch}})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return err
	}
	in.after, in.batch, in.size = results[0].LastSeq, in.batch[:0], 0
	return nil
}

// harmless is the data of that session without what would take effect or concerns another
// machine, or nil if nothing is left.
func harmless(d terret.Data, session string) terret.Data {
	switch d := d.(type) {
	case terret.SessionStart:
		d.NativeID, d.PermissionMode = "", ""
		return d
	case terret.SessionUpdated:
		d.Policy, d.PermissionMode, d.HandedTo = nil, nil, nil
		if d == (terret.SessionUpdated{}) {
			return nil
		}
		return d
	case terret.TaskUpdate:
		if d.ID == session { // it defines a workflow, a review or a race, whose commands a person could resume
			d.Status += imported
		}
		return d
	case terret.QueueChange, terret.SessionNativeID, terret.SessionResumed, terret.SessionStateChange, terret.CheckpointCreated, terret.CheckpointRewound:
		return nil
	}
	return d
}

var idPattern = lazyregexp.New(`(?:trn_|req_|\b)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// renamed replaces the ids of the session, its turns and its requests wherever they
// occur. Other ids stay.
func (in *reader) renamed(line []byte) []byte {
	return idPattern.ReplaceAllFunc(line, func(old []byte) []byte {
		id := string(old)
		if in.ids[id] == "" {
			switch {
			case strings.HasPrefix(id, terret.PrefixTurn):
				in.ids[id] = terret.NewID(terret.PrefixTurn)
			case strings.HasPrefix(id, terret.PrefixRequest):
				in.ids[id] = terret.NewID(terret.PrefixRequest)
			default:
				return old
			}
		}
		return []byte(in.ids[id])
	})
}

// readLine returns a line without its end; the last line needs none.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > MaxLine:
			return nil, errors.New("it is too long")
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case err != nil:
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	return err
}

func invalid(line int, format string, args ...any) error {
	e := terret.Errorf(terret.CodeInvalidRequest, format, args...)
	return terret.Invalid("body", "line %d: %w", line, e)
}
