package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
)

// TestClaimAfterSleep claims a session on a machine that slept for longer than its lease
// and has not noticed yet. It goes on as another worker at once: to be told that the
// session is another's would leave a prompt in a queue that nobody runs.
func TestClaimAfterSleep(t *testing.T) {
	t.Parallel()
	s := openSchema(t, t.Name(), func(o *Options) { o.Lease = time.Hour })
	newOwner(t, s)
	before, lost := s.Worker(), s.Lost()
	other, err := s.Create(t.Context(), terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: "/work"})
	if err != nil {
		t.Fatal(err)
	}
	err = s.write(t.Context(), "sleep", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE workers SET until = clock_timestamp() - interval '1 second'`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(t.Context(), other.ID)
	if err != nil {
		t.Fatal(err)
	}
	if c.Session.Owner == before || c.Session.Owner != s.Worker() {
		t.Errorf("the session belongs to %s, which was %s", c.Session.Owner, before)
	}
	select {
	case <-lost:
	default:
		t.Error("nobody is told that the other sessions are lost")
	}
}
