package claude

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/ndjson"
)

// outgoing is a line to write. done, if set, has room for the error.
type outgoing struct {
	line []byte
	done chan<- error
}

// announce says that a prompt will be written, so that nothing the agent ends before it
// counts as its answer, and returns the id for the prompt.
func (p *process) announce(messageID string, blocks []terret.Block) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := lineID(messageID)
	if p.used[id] { // the agent would drop it silently
		id = terret.NewSessionID()
	}
	p.used[id] = true
	p.stopping = p.stopping && p.t.busy() // that was another turn
	p.t.prompted(id, terret.TextOf(blocks))
	return id
}

// retract withdraws an announcement.
func (p *process) retract(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, id)
	p.t.retracted(id)
}

// prompt writes an announced message, and returns when it is written. A context error
// means that nothing was written and nothing will be: it waits for a half-written
// message, since the agent will act on it. A written message is no error, even if the
// agent has ended since: the end of the turn reports that.
func (p *process) prompt(ctx context.Context, id string, blocks []terret.Block) error {
	done := make(chan error, 1)
	next := p.enqueue(outgoing{line: promptLine(id, blocks), done: done})
	if next && ctx.Err() == nil && p.writing.TryLock() { // otherwise it would wake the writer, and wait for it
		p.writeAll()
		p.writing.Unlock()
	} else {
		p.wakeWriter()
	}
	canceled := ctx.Done()
	for {
		select {
		case err := <-done:
			if err != nil {
				return terret.Errorf(terret.CodeProcessFailed, "cannot write the prompt: %w", err)
			}
			return nil
		case <-p.Life.Done():
			<-p.wrote
			select {
			case err := <-done:
				if err == nil {
					return nil
				}
			default:
			}
			return terret.Errorf(terret.CodeProcessFailed, "%w", seat.ErrEnded)
		case <-canceled:
			if p.takeBack(done) {
				p.retract(id)
				return context.Cause(ctx)
			}
			canceled = nil
		}
	}
}

// takeBack removes a line that waits to be written.
func (p *process) takeBack(done chan<- error) bool {
	p.outMu.Lock()
	defer p.outMu.Unlock()
	n := len(p.out)
	p.out = slices.DeleteFunc(p.out, func(o outgoing) bool { return o.done == done })
	return len(p.out) < n
}

var interruptRequest = map[string]string{"subtype": "interrupt"}

// interrupt stops the turn. It withdraws messages in the agent's queue, because the
// agent would continue with them. The agent does not notice an interrupt before it has
// begun, so it is repeated then.
func (p *process) interrupt(ctx context.Context) error {
	p.mu.Lock()
	p.stopping = p.t.busy()
	queued := p.t.turn.queued()
	p.mu.Unlock()
	for _, id := range queued {
		p.send(requestLine(terret.NewID(terret.PrefixControl), map[string]string{"subtype": "cancel_async_message", "message_uuid": id}))
	}
	return p.call(ctx, interruptRequest, nil)
}

// send writes a line eventually.
func (p *process) send(line []byte) { p.put(outgoing{line: line}) }

func (p *process) put(o outgoing) {
	p.enqueue(o)
	p.wakeWriter()
}

// enqueue reports whether no other line waits to be written.
func (p *process) enqueue(o outgoing) bool {
	p.outMu.Lock()
	defer p.outMu.Unlock()
	p.out = append(p.out, o)
	return len(p.out) == 1
}

func (p *process) wakeWriter() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// next is the next line to write.
func (p *process) next() (o outgoing, ok bool) {
	p.outMu.Lock()
	defer p.outMu.Unlock()
	if len(p.out) == 0 {
		return outgoing{}, false
	}
	o, p.out = p.out[0], p.out[1:]
	return o, true
}

// write writes the lines until the process ends.
func (p *process) write() {
	defer close(p.wrote)
	for {
		select {
		case <-p.wake:
		case <-p.Done():
			p.writing.Lock() // for good
			return
		}
		p.writing.Lock()
		p.writeAll()
		p.writing.Unlock()
	}
}

// writeAll writes the lines that wait. A process that does not read its input is stopped.
// p.writing must be held.
func (p *process) writeAll() {
	for o, ok := p.next(); ok; o, ok = p.next() {
		err := p.writer.WriteRaw(o.line)
		if o.done != nil {
			o.done <- err
		}
		switch {
		case err == nil || errors.Is(err, os.ErrClosed): // it is being stopped
		case errors.Is(err, ndjson.ErrInvalid) || errors.Is(err, ndjson.ErrNewline):
			p.Log.Error("could not write a line to the agent", "error", err)
		default:
			p.Log.Warn("the agent does not read its input; stopping it", "error", err)
			p.Work.Go(func() { _, _ = p.Kill() }) // the writer is among the work, and waits for p.writing before it ends
		}
	}
}
