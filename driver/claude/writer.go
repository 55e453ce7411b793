package claude

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/ndjson"
)

// outgoing is a line to be written. done, if there is one, has room for the error.
type outgoing struct {
	line []byte
	done chan<- error
}

// announce says that a prompt will be written, so that nothing that the agent ends
// before is taken for its answer, and returns the id that the prompt has there.
func (p *process) announce(messageID string, blocks []terret.Block) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := lineID(messageID)
	if p.used[id] { // it would be dropped without a word
		id = terret.NewSessionID()
	}
	p.used[id] = true
	p.stopping = p.stopping && p.t.busy() // that was another turn
	p.t.prompted(id, terret.TextOf(blocks))
	return id
}

// retract takes an announcement back.
func (p *process) retract(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, id)
	p.t.retracted(id)
}

// prompt writes a message that was announced, and returns when that is done. An error
// of the context means that nothing was written and nothing will be: a message that
// is half written is waited for, since the agent will act on it. A message that was
// written is no error, even if the agent has ended since: the end of the turn tells that.
func (p *process) prompt(ctx context.Context, id string, blocks []terret.Block) error {
	done := make(chan error, 1)
	p.put(outgoing{line: promptLine(id, blocks), done: done})
	canceled := ctx.Done()
	for {
		select {
		case err := <-done:
			if err != nil {
				return terret.Errorf(terret.CodeProcessFailed, "write the prompt: %w", err)
			}
			return nil
		case <-p.life.Done():
			<-p.wrote
			select {
			case err := <-done:
				if err == nil {
					return nil
				}
			default:
			}
			return terret.Errorf(terret.CodeProcessFailed, "%w", errEnded)
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

// interrupt stops the turn. Messages that wait in the agent's queue are taken back:
// the agent would go on with them. It does not notice an interrupt before it has
// begun, so that is repeated then.
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

// send writes a line some time.
func (p *process) send(line []byte) { p.put(outgoing{line: line}) }

func (p *process) put(o outgoing) {
	p.outMu.Lock()
	p.out = append(p.out, o)
	p.outMu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// next is the line to be written next.
func (p *process) next() (o outgoing, ok bool) {
	p.outMu.Lock()
	defer p.outMu.Unlock()
	if len(p.out) == 0 {
		return outgoing{}, false
	}
	o, p.out = p.out[0], p.out[1:]
	return o, true
}

// write writes what is put, until the process ends. A process that does not read
// what it is told is of no use any more.
func (p *process) write() {
	defer close(p.wrote)
	w := ndjson.NewWriter(p.proc.Stdin())
	for {
		select {
		case <-p.wake:
		case <-p.proc.Done():
			return
		}
		for o, ok := p.next(); ok; o, ok = p.next() {
			err := w.WriteRaw(o.line)
			if o.done != nil {
				o.done <- err
			}
			switch {
			case err == nil || errors.Is(err, os.ErrClosed): // it is being stopped
			case errors.Is(err, ndjson.ErrInvalid) || errors.Is(err, ndjson.ErrNewline):
				p.log.Error("a line was not written to the agent", "error", err)
			default:
				p.log.Warn("the agent does not listen and is stopped", "error", err)
				_, _ = p.proc.Kill()
			}
		}
	}
}
