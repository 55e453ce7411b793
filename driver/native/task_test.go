package native

import (
	"context"
	"errors"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/tools"
)

// mute is a host whose log accepts nothing.
type mute struct{ terret.Host }

func (mute) Emit(context.Context, []terret.Event, []byte) error {
	return errors.New("the disk is full")
}

// A command whose start cannot be logged does not run, and does not count as running.
func TestBackgroundNotStarted(t *testing.T) {
	t.Parallel()
	a := &agent{host: mute{}, life: t.Context(), tasks: map[string]*task{}}
	u := &use{turnRun: &turnRun{a: a}}
	if out := u.inBackground(t.Context(), &tools.Use{Title: "sleep 1000"}); out.err == nil {
		t.Errorf("it goes on: %+v", out)
	}
	if running, _ := a.keepTask(&task{id: "task_next"}); running != 0 {
		t.Errorf("%d commands count as running", running)
	}
}
