package httpapi

import (
	"bufio"
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/terret-dev/terret"
)

// messageKinds are the kinds of events that hold messages.
var messageKinds = []terret.Kind{terret.KindTurnStart, terret.KindUserPrompt, terret.KindMessageComplete}

// maxMessages bounds the bytes of a page of messages, about.
const maxMessages = 4 << 20

// repeatedWithin is how many messages may lie between one and its repetition.
const repeatedWithin = 64

// heldMessages bounds the bytes of messages that are read at a time and wait, about.
const heldMessages = 256 << 10

type messagesInput struct {
	SessionPath
	Limit  int    `query:"limit" minimum:"1" maximum:"5000" doc:"How many at most. Default 1000. Large messages make shorter pages."`
	Order  string `query:"order" enum:"oldest,newest" doc:"Which come first. Default oldest."`
	Cursor string `query:"cursor" doc:"The next of the previous page, in the same order."`
}

func (s *Server) listMessages(ctx context.Context, in *messagesInput) (*streamAnswer, error) {
	if _, err := s.session(ctx, in.ID); err != nil {
		return nil, err
	}
	q := terret.ReadQuery{Session: in.ID, Kinds: messageKinds, Backward: in.Order == "newest"}
	if in.Cursor != "" {
		n, err := strconv.ParseInt(in.Cursor, 10, 64)
		if err != nil || n < 1 {
			return nil, badCursor()
		}
		if q.Backward {
			q.Before = n
		} else {
			q.After = n
		}
	}
	setDefault(&in.Limit, 1000)
	return &streamAnswer{Body: func(c huma.Context) {
		r, w := humago.Unwrap(c)
		writeMessages(w, s.messages(r.Context(), q, in.Limit), in.Limit)
	}}, nil
}

// messages yields the conversation from the log. It reads no more of the log than it
// needs for a page, and holds little of it.
func (s *Server) messages(ctx context.Context, q terret.ReadQuery, limit int) iter.Seq2[toldMessage, error] {
	q.Limit, q.Bytes = limit+repeatedWithin, heldMessages
	told := s.told(ctx, q)
	if q.Backward {
		return onceBackward(told)
	}
	return onceForward(told, s.told(ctx, terret.ReadQuery{
		Session: q.Session, Kinds: q.Kinds, Before: q.After + 1, Backward: true, Limit: repeatedWithin, Bytes: heldMessages,
	}))
}

// writeMessages writes a page as it reads it. An error before the first message is told;
// after that nothing is left but to break off.
func writeMessages(w http.ResponseWriter, told iter.Seq2[toldMessage, error], limit int) {
	out := bufio.NewWriterSize(w, 32<<10)
	begin := sync.OnceFunc(func() {
		w.Header().Set("Content-Type", "application/json")
		_, _ = out.WriteString(`{"items":[`) // errors stay, and Flush tells
	})
	next, last, size, count := "", int64(0), 0, 0
	for m, err := range told {
		if err != nil && count == 0 {
			writeProblem(w, err)
			return
		}
		if err == nil && (count == limit || size >= maxMessages) { // there is more than the page holds
			next = strconv.FormatInt(last, 10)
			break
		}
		begin()
		if count > 0 {
			_ = out.WriteByte(',')
		}
		text, bad := jsonLine(m.Message)
		if _, gone := out.Write(text); errors.Join(err, bad, gone) != nil {
			panic(http.ErrAbortHandler)
		}
		last, size, count = m.seq, size+m.size, count+1
	}
	begin()
	_ = out.WriteByte(']')
	if next != "" {
		_, _ = out.WriteString(`,"next":"` + next + `"`)
	}
	_, _ = out.WriteString("}\n")
	_ = out.Flush() // the reader is gone
}

// toldMessage is a message, and the number of its event.
type toldMessage struct {
	terret.Message
	seq  int64
	size int // of the event
}

func (m toldMessage) same(o toldMessage) bool { return m.MessageID != "" && m.MessageID == o.MessageID }

// told yields messages as the log has them, some of them more than once.
func (s *Server) told(ctx context.Context, q terret.ReadQuery) iter.Seq2[toldMessage, error] {
	return func(yield func(toldMessage, error) bool) {
		for {
			entries, err := s.store.Read(ctx, q)
			if err != nil {
				yield(toldMessage{}, err)
				return
			}
			for _, e := range entries {
				ev, err := e.Decode()
				if err != nil {
					yield(toldMessage{}, err)
					return
				}
				if m, ok := messageOf(ev); ok && !yield(toldMessage{m, e.Seq, len(e.Body)}, nil) {
					return
				}
			}
			switch n := len(entries); {
			case n == 0:
				return
			case q.Backward:
				q.Before = entries[n-1].Seq
			default:
				q.After = entries[n-1].Seq
			}
		}
	}
}

// onceForward drops repetitions of recent messages, such as a prompt that the agent
// repeats. Before yields what came before the first, newest first.
func onceForward(told, before iter.Seq2[toldMessage, error]) iter.Seq2[toldMessage, error] {
	return func(yield func(toldMessage, error) bool) {
		var recent []string // ids, the newest last
		for m, err := range before {
			if err != nil {
				yield(m, err)
				return
			}
			if recent = append(recent, m.MessageID); len(recent) == repeatedWithin {
				break
			}
		}
		slices.Reverse(recent)
		for m, err := range told {
			again := err == nil && m.MessageID != "" && slices.Contains(recent, m.MessageID)
			if !again && !yield(m, err) {
				return
			}
			if recent = append(recent, m.MessageID); len(recent) > repeatedWithin {
				recent = recent[1:]
			}
		}
	}
}

// onceBackward is onceForward for messages that come newest first: each waits until
// those shortly before it are known, or too much would wait.
func onceBackward(told iter.Seq2[toldMessage, error]) iter.Seq2[toldMessage, error] {
	return func(yield func(toldMessage, error) bool) {
		var waiting []toldMessage
		held := 0
		next := func() bool {
			m := waiting[0]
			waiting[0] = toldMessage{} // it may be large
			waiting, held = waiting[1:], held-m.size
			return slices.ContainsFunc(waiting, m.same) || yield(m, nil)
		}
		for m, err := range told {
			if err != nil {
				yield(m, err)
				return
			}
			waiting, held = append(waiting, m), held+m.size
			for len(waiting) > repeatedWithin || len(waiting) > 1 && held > maxMessages {
				if !next() {
					return
				}
			}
		}
		for len(waiting) > 0 && next() {
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
