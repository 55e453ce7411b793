package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

// writer owns a session and knows how far its log goes.
type writer struct {
	st      terret.Store
	session string
	epoch   int64
	seq     int64
}

// claim makes a writer of a session that exists.
func claim(ctx context.Context, st terret.Store, session string) (*writer, error) {
	c, err := st.Claim(ctx, session)
	if err != nil {
		return nil, err
	}
	return &writer{st: st, session: session, epoch: c.Session.Epoch, seq: c.Session.LastSeq}, nil
}

// newWriter makes a session and claims it.
func newWriter(t *testing.T, st terret.Store) *writer {
	t.Helper()
	n := create(t, st, terret.Session{})
	w, err := claim(t.Context(), st, n.ID)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return w
}

// create adds a session; what it lacks is made up.
func create(t *testing.T, st terret.Store, n terret.Session) terret.Session {
	t.Helper()
	if n.ID == "" {
		n.ID = terret.NewSessionID()
	}
	if n.Agent == "" {
		n.Agent = "mock"
	}
	if n.Cwd == "" {
		n.Cwd = "/work"
	}
	out, err := st.Create(t.Context(), n)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return out
}

// batch is what would append the events.
func (w *writer) batch(events ...terret.Event) terret.Batch {
	return terret.Batch{Session: w.session, Epoch: w.epoch, After: w.seq, Events: events}
}

// append commits the events.
func (w *writer) append(ctx context.Context, events ...terret.Event) ([]terret.Entry, error) {
	return w.commit(ctx, w.batch(events...))
}

// commit commits a batch of this session by itself.
func (w *writer) commit(ctx context.Context, b terret.Batch) ([]terret.Entry, error) {
	results, err := w.st.Commit(ctx, []terret.Batch{b})
	if err != nil {
		return nil, err
	}
	if len(results) != 1 {
		return nil, fmt.Errorf("%d results for one batch", len(results))
	}
	if err := results[0].Err; err != nil {
		return nil, err
	}
	w.seq = results[0].LastSeq
	return results[0].Entries, nil
}

// must is append for those who know that it works.
func (w *writer) must(t *testing.T, events ...terret.Event) []terret.Entry {
	t.Helper()
	entries, err := w.append(t.Context(), events...)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return entries
}

// turn appends a whole turn and returns its id.
func (w *writer) turn(t *testing.T, inside ...terret.Event) string {
	t.Helper()
	id := terret.NewID(terret.PrefixTurn)
	events := []terret.Event{event(id, terret.TurnStart{Prompt: []terret.Block{terret.Text("go")}, Origin: terret.OriginUser})}
	for _, e := range inside {
		e.Turn = id
		events = append(events, e)
	}
	w.must(t, append(events, event(id, terret.TurnComplete{Text: "done"}))...)
	return id
}

func event(turn string, d terret.Data) terret.Event {
	return terret.Event{Turn: turn, Time: terret.Now(), Data: d}
}

// note is an event that changes nothing else.
func note(format string, args ...any) terret.Event {
	return event("", terret.Notification{Text: fmt.Sprintf(format, args...), Level: "info"})
}

func start(turn string) terret.Event {
	return event(turn, terret.TurnStart{Prompt: []terret.Block{terret.Text("go")}, Origin: terret.OriginUser})
}

// ask is a permission request.
func ask(turn string) terret.Event {
	id := terret.NewID(terret.PrefixRequest)
	e := event(turn, terret.PermissionRequest{RequestID: id, Tool: "Bash", Input: []byte(`{"command":"ls"}`), Title: "ls"})
	e.Expects = &terret.Expects{RequestID: id, Gate: terret.GatePermission, Fallback: terret.BehaviorDeny}
	return e
}

func decision(request string, b terret.Behavior, by string) terret.Decision {
	return terret.Decision{RequestID: request, Gate: terret.GatePermission, Behavior: b, Source: terret.ByUser, By: by}
}

// readLog reads the whole log of a session, a small page at a time.
func readLog(ctx context.Context, st terret.Store, session string) ([]terret.Entry, error) {
	var out []terret.Entry
	var after int64
	for {
		page, err := st.Read(ctx, terret.ReadQuery{Session: session, After: after, Limit: 100, Raw: true})
		if err != nil || len(page) == 0 {
			return out, err
		}
		out = append(out, page...)
		after = page[len(page)-1].Seq
	}
}

func mustRead(t *testing.T, st terret.Store, session string) []terret.Entry {
	t.Helper()
	entries, err := readLog(t.Context(), st, session)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return entries
}

// dense says what is wrong with a whole log of n events. Read may leave positions
// out.
func dense(entries []terret.Entry, n int64) error {
	if int64(len(entries)) != n {
		return fmt.Errorf("%d events, want %d", len(entries), n)
	}
	var pos int64
	for i, e := range entries {
		if e.Seq != int64(i+1) {
			return fmt.Errorf("event %d has number %d", i+1, e.Seq)
		}
		if e.Pos != 0 && e.Pos <= pos {
			return fmt.Errorf("event %d is at position %d, after %d", e.Seq, e.Pos, pos)
		}
		pos = e.Pos
	}
	return nil
}

// same fails if the entries differ in a single byte. Only their positions may be
// left out of what was read.
func same(t *testing.T, got, want []terret.Entry) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d entries, want %d", len(got), len(want))
		return
	}
	for i, a := range got {
		b := want[i]
		if a.Session != b.Session || a.Seq != b.Seq || a.Kind != b.Kind || a.Pos != b.Pos && a.Pos != 0 && b.Pos != 0 ||
			!bytes.Equal(a.Body, b.Body) || !bytes.Equal(a.Raw, b.Raw) {
			t.Errorf("entry %d of %d is\n%s, want\n%s", i, len(got), brief(a), brief(b))
			return
		}
	}
}

func brief(e terret.Entry) string {
	return fmt.Sprintf("%s %d at %d: %s %.200s (%s)", e.Session, e.Seq, e.Pos, e.Kind, e.Body, hash(e))
}

// hash is of all that was written of an event.
func hash(e terret.Entry) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d %d ", e.Kind, len(e.Body), len(e.Raw))
	h.Write(e.Body)
	h.Write(e.Raw)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// wantError fails unless err is of that kind and says what it is about.
func wantError(t *testing.T, what string, err error, kind terret.ErrorCode) {
	t.Helper()
	e, ok := errors.AsType[*terret.Error](err)
	if !ok || e.Code != kind || e.Message == "" {
		t.Errorf("%s: got %v (%T), want an error of kind %s", what, err, err, kind)
	}
}

func wantSession(t *testing.T, st terret.Store, id string) terret.Session {
	t.Helper()
	n, err := st.Session(t.Context(), id)
	if err != nil {
		t.Fatalf("session: %v", err)
	}
	return n
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// wantPositions fails if the positions that ReadAll gives are not those that
// Commit gave.
func wantPositions(t *testing.T, got, want []terret.Entry) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(a, b terret.Entry) bool { return a.Seq == b.Seq && a.Pos == b.Pos }) {
		t.Errorf("positions: %d entries, want the %d that were committed", len(got), len(want))
	}
}
