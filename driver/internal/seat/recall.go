package seat

import (
	"errors"
	"io"
	"iter"
	"os"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/ndjson"
)

// Recalling turns an agent's own record of a session into whole turns of events.
type Recalling struct {
	At    time.Time    // of the line that is read
	Text  string       // what the agent said last in the turn
	Usage terret.Usage // of the turn

	turn  string
	began time.Time
	yield func(terret.Event, error) bool
}

// ErrEnough says that nobody wants to read on.
var ErrEnough = errors.New("nobody reads on")

// Recall makes the sequence of events that read adds to a Recalling.
func Recall(read func(r *Recalling) error) iter.Seq2[terret.Event, error] {
	return func(yield func(terret.Event, error) bool) {
		r := &Recalling{yield: yield}
		err := read(r)
		if err == nil {
			err = r.End()
		}
		if err != nil && !errors.Is(err, ErrEnough) {
			yield(terret.Event{}, err)
		}
	}
}

// Open reports whether a turn runs.
func (r *Recalling) Open() bool { return r.turn != "" }

// Begin begins a turn, after the one that runs has ended.
func (r *Recalling) Begin(prompt []terret.Block, messageID string) error {
	if err := r.End(); err != nil {
		return err
	}
	r.turn, r.began, r.Text, r.Usage = terret.NewID(terret.PrefixTurn), r.At, "", terret.Usage{}
	return r.Emit(terret.Event{Data: terret.TurnStart{Prompt: prompt, MessageID: messageID, Origin: terret.OriginUser}})
}

// Emit adds events of the turn that runs, or of none.
func (r *Recalling) Emit(events ...terret.Event) error {
	for _, ev := range events {
		ev.Time = terret.TimeOf(r.At)
		if ev.Kind().InTurn() {
			ev.Turn = r.turn
		}
		if !r.yield(ev, nil) {
			return ErrEnough
		}
	}
	return nil
}

// End ends the turn that runs, if one does.
func (r *Recalling) End() error {
	if r.turn == "" {
		return nil
	}
	err := r.Emit(terret.Event{Data: terret.TurnComplete{Text: r.Text, Usage: r.Usage, DurationMS: r.At.Sub(r.began).Milliseconds()}})
	r.turn = ""
	return err
}

// Lines reads a record line by line. What cannot be read is left out, such as a last line
// that is half written.
func Lines(path string, line func([]byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := ndjson.NewReader(f, 0)
	for {
		next, err := lines.Next()
		if _, tooLong := errors.AsType[*ndjson.LineTooLongError](err); tooLong {
			continue
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := line(next); err != nil {
			return err
		}
	}
}
