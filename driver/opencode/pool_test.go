package opencode

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/terret-dev/terret/driver/internal/seat"
)

// TestClosedWhileWaiting starts no server for somebody who waited while the pool was
// closed: nobody would end it.
func TestClosedWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pool
		at, err := p.place(launch{}.key())
		if err != nil {
			t.Fatal(err)
		}
		at.turn <- struct{}{} // somebody is starting one
		got := make(chan error)
		go func() {
			_, err := p.acquire(t.Context(), launch{}, "", 0, nil)
			got <- err
		}()
		synctest.Wait() // it waits for its turn, before the pool does
		closed := make(chan struct{})
		go func() {
			p.shutdown()
			close(closed)
		}()
		synctest.Wait()
		<-at.turn
		if err := <-got; !errors.Is(err, seat.ErrClosed) {
			t.Errorf("%v", err)
		}
		<-closed
	})
}
