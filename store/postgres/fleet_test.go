package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

// TestCallOfRestartedNode asks a node that takes the question and ends, while its
// successor runs under the same name: nobody will answer, and whoever asks is told.
func TestCallOfRestartedNode(t *testing.T) {
	t.Parallel()
	asker, first, second := openSchema(t, t.Name()), openSchema(t, t.Name()), openSchema(t, t.Name())
	for _, s := range []*Store{first, second} {
		if err := s.Join(t.Context(), terret.Node{Name: "b", Place: "here"}); err != nil {
			t.Fatal(err)
		}
	}
	asked := make(chan error, 1)
	go func() {
		_, err := asker.Call(t.Context(), "b", []byte("?"))
		asked <- err
	}()
	for {
		calls, err := first.Calls(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(calls) == 1 {
			break
		}
		pause(t.Context(), 10*time.Millisecond)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-asked:
		if !errors.Is(err, terret.ErrConflict) {
			t.Errorf("%v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for a node that is gone")
	}
}
