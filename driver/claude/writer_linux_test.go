package claude

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// TestPromptOfAnAgentThatEnds is that a prompt counts as given if it was written, even
// if the process is gone before that is known, and not if it was not.
func TestPromptOfAnAgentThatEnds(t *testing.T) {
	t.Parallel()
	for name, written := range map[string]bool{"written": true, "not written": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { promptOfAnAgentThatEnds(t, written) })
		})
	}
}

func promptOfAnAgentThatEnds(t *testing.T, written bool) {
	t.Helper()
	life, end := context.WithCancelCause(t.Context())
	p := &process{Process: &seat.Process{Life: life}, wake: make(chan struct{}, 1), wrote: make(chan struct{})}
	p.writing.Lock() // we are the writer
	prompted := make(chan error, 1)
	go func() { prompted <- p.prompt(t.Context(), "id", []terret.Block{terret.Text("die")}) }()
	<-p.wake
	o, _ := p.next()
	end(seat.ErrEnded)
	synctest.Wait() // the prompt knows of the end, and must not judge by it
	if written {
		o.done <- nil
	}
	close(p.wrote)
	if err := <-prompted; (err == nil) != written || err != nil && kindOf(err) != terret.CodeProcessFailed {
		t.Errorf("%v", err)
	}
}
