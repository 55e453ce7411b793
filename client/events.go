package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/sse"
)

// EventQuery selects what a stream yields.
type EventQuery struct {
	Session string
	After   int64 // only events with a greater number
	Kinds   []terret.Kind
	Raw     bool // include the agent's own messages, if they were kept
	// NoDeltas omits pieces of text. A message that was broken off is only in its pieces.
	NoDeltas bool
	// Follow continues with what is committed from now on; without it the stream ends
	// after the history.
	Follow bool
}

// AllQuery selects what a stream of several or all sessions yields.
type AllQuery struct {
	Sessions []string // nil means all; an empty list is an error
	// Cursor is that of the last entry seen; empty starts with the oldest event, Now
	// with the next one.
	Cursor   string
	Kinds    []terret.Kind
	NoDeltas bool
}

// Now is the cursor to start with the next event.
const Now = "now"

// Entry is an event of a stream over several sessions, with the cursor to resume from.
type Entry struct {
	terret.Entry
	Cursor string
}

const (
	maxEvent = 64 << 20 // bytes
	// silence is how long a server may be silent: a living one sends something earlier.
	silence = 45 * time.Second
)

// Events yields the events of a session: history first, then live, without gaps or
// duplicates, over as many connections as it takes. The error comes last and once; a
// stream that does not follow ends without one. Leaving the loop ends it.
//
// The entries hold the server's bytes; Decode returns the typed form.
func (c *Client) Events(ctx context.Context, q EventQuery) iter.Seq2[terret.Entry, error] {
	query := values("kinds", join(q.Kinds))
	if q.Raw {
		query.Set("raw", "1")
	}
	if q.NoDeltas {
		query.Set("deltas", "0")
	}
	return func(yield func(terret.Entry, error) bool) {
		after := q.After
		s := stream{c: c, path: at("sessions", q.Session, "events"), query: query, follow: q.Follow, last: strconv.FormatInt(after, 10)}
		err := s.run(ctx, func(ev sse.Event) (bool, error) {
			e, err := entryOf(ev)
			if err != nil {
				return false, err
			}
			if e.Seq <= after { // the server repeats itself
				return true, nil
			}
			after = e.Seq
			e.Session = q.Session
			return yield(e, nil), nil
		})
		if err != nil {
			yield(terret.Entry{}, err)
		}
	}
}

// AllEvents yields the events of several or all sessions in commit order, then live;
// otherwise it works like Events.
func (c *Client) AllEvents(ctx context.Context, q AllQuery) iter.Seq2[Entry, error] {
	query := values("sessions", strings.Join(q.Sessions, ","), "kinds", join(q.Kinds))
	if q.NoDeltas {
		query.Set("deltas", "0")
	}
	return func(yield func(Entry, error) bool) {
		if q.Sessions != nil && len(q.Sessions) == 0 { // the server would take it for all
			yield(Entry{}, terret.Invalid("sessions", "the list is empty; nil means all sessions"))
			return
		}
		s := stream{c: c, path: at("events"), query: query, follow: true, last: q.Cursor}
		err := s.run(ctx, func(ev sse.Event) (bool, error) {
			if ev.Name == "stream.start" {
				return true, nil
			}
			e, err := entryOf(ev)
			if err != nil {
				return false, err
			}
			return yield(Entry{Entry: e, Cursor: ev.ID}, nil), nil
		})
		if err != nil {
			yield(Entry{}, err)
		}
	}
}

func join(kinds []terret.Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ",")
}

// entryOf splits an event into a log entry: its number and raw message are separate
// from the rest.
func entryOf(ev sse.Event) (terret.Entry, error) {
	var head struct {
		Seq     int64           `json:"seq"`
		Session string          `json:"session"`
		Raw     json.RawMessage `json:"raw"`
	}
	bad := terret.Errorf(terret.CodeConnectionFailed, "cannot read an event from the server: %.200s", ev.Data)
	if err := json.Unmarshal(ev.Data, &head); err != nil {
		return terret.Entry{}, bad
	}
	body, ok := bytes.CutPrefix(ev.Data, []byte(`{"seq":`+strconv.FormatInt(head.Seq, 10)+`,`))
	if !ok || len(body) == 0 {
		return terret.Entry{}, bad
	}
	whole := append([]byte{'{'}, body...)
	e := terret.Entry{Session: head.Session, Seq: head.Seq, Kind: terret.Kind(ev.Name), Body: whole}
	if head.Raw != nil {
		end := append([]byte(`,"raw":`), head.Raw...)
		whole, ok = bytes.CutSuffix(whole, append(end, '}'))
		if !ok {
			return terret.Entry{}, bad
		}
		e.Body, e.Raw = append(whole, '}'), head.Raw
	}
	return e, nil
}

// stream is a stream of events over any number of connections.
type stream struct {
	c      *Client
	path   string
	query  url.Values
	follow bool
	last   string // where to resume

	got bool // this connection delivered something
}

// errBroken says that a connection ended unexpectedly.
var errBroken = errors.New("the connection broke")

// run reads until fn has enough, or there is no more.
func (s *stream) run(ctx context.Context, fn func(sse.Event) (more bool, err error)) error {
	var since time.Time // since when the server is unreachable
	for wait := time.Duration(0); ; {
		s.got = false
		more, err := s.connect(ctx, fn)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !more:
			return err
		case s.got:
			wait, since = 0, time.Time{}
		}
		if since.IsZero() {
			since = time.Now()
		} else if s.c.quit > 0 && time.Since(since) > s.c.quit {
			return err
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		}
		wait = min(max(2*wait, 100*time.Millisecond), 5*time.Second)
	}
}

// connect reads over one connection. more says that it is worth connecting again; the
// error says why this connection ended.
func (s *stream) connect(ctx context.Context, fn func(sse.Event) (bool, error)) (more bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	accept, read := sse.ContentType, sse.Read
	if !s.follow {
		accept, read = "application/x-ndjson", readLines
	}
	res, err := s.c.send(ctx, call{method: "GET", path: s.path, query: s.query, accept: accept, last: s.last})
	if err != nil {
		return worthAnother(err), err
	}
	defer res.Body.Close()
	// A server that says nothing at all is gone, even if the connection looks alive.
	quiet := time.AfterFunc(silence, func() { cancel(errBroken) })
	defer quiet.Stop()
	body := &noisy{r: res.Body, heard: func() { quiet.Reset(silence) }}
	for ev, err := range read(body, maxEvent) {
		if errors.Is(err, sse.ErrTooLong) {
			return false, terret.Errorf(terret.CodeConnectionFailed, "%w", err)
		}
		if err != nil {
			return true, unreachable(s.c.base, errBroken)
		}
		if ev.Name == "stream.end" {
			return false, ended(ev.Data)
		}
		s.got = s.got || ev.Name != "stream.start" // that alone means nothing
		again, err := fn(ev)
		if err != nil || !again {
			return false, err
		}
		s.last = ev.ID
	}
	if !s.follow {
		return false, nil // the history is complete
	}
	return true, unreachable(s.c.base, errBroken)
}

// noisy calls back on everything that is read.
type noisy struct {
	r     io.Reader
	heard func()
}

// Read implements io.Reader.
func (n *noisy) Read(p []byte) (int, error) {
	got, err := n.r.Read(p)
	n.heard()
	return got, err
}

// readLines yields events from lines, as sse.Read does. It ignores an unfinished line.
func readLines(r io.Reader, limit int) iter.Seq2[sse.Event, error] {
	return func(yield func(sse.Event, error) bool) {
		lines := bufio.NewReader(r)
		var line []byte
		for {
			part, err := lines.ReadSlice('\n')
			line = append(line, part...)
			switch {
			case len(line) > limit:
				yield(sse.Event{}, fmt.Errorf("%w: a line is longer than %d bytes", sse.ErrTooLong, limit))
				return
			case errors.Is(err, bufio.ErrBufferFull):
				continue
			case errors.Is(err, io.EOF) && len(line) == 0:
				return
			case errors.Is(err, io.EOF):
				yield(sse.Event{}, io.ErrUnexpectedEOF)
				return
			case err != nil:
				yield(sse.Event{}, err)
				return
			}
			var head struct {
				Seq  int64  `json:"seq"`
				Kind string `json:"kind"`
			}
			line = bytes.TrimSuffix(line, []byte("\n"))
			_ = json.Unmarshal(line, &head) // the reader of the event will report it
			if !yield(sse.Event{ID: strconv.FormatInt(head.Seq, 10), Name: head.Kind, Data: line}, nil) {
				return
			}
			line = line[:0]
		}
	}
}

// worthAnother reports whether a refused connection may succeed later.
func worthAnother(err error) bool {
	e := terret.AsError(err)
	switch e.Code {
	case terret.CodeConnectionFailed, terret.CodeStartupRefused, terret.CodeRateLimited, terret.CodeOverloaded:
		return true
	default:
		return false
	}
}

// ended says why the server ended a stream.
func ended(data []byte) error {
	var p struct {
		Kind   terret.ErrorCode `json:"kind"`
		Detail string           `json:"detail"`
	}
	if json.Unmarshal(data, &p) != nil || p.Kind == "" {
		return terret.Errorf(terret.CodeConnectionFailed, "the server ended the stream")
	}
	return &terret.Error{Code: p.Kind, Message: p.Detail}
}
