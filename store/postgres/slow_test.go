package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

// openWith opens the test's schema with other settings of the server.
func openWith(t *testing.T, settings string) *Store {
	t.Helper()
	s, err := Open(t.Context(), server.URL(t.Name())+settings, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// claimNew makes a session that the store owns.
func claimNew(t *testing.T, s *Store) terret.Session {
	t.Helper()
	made, err := s.Create(t.Context(), terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: "/", Mode: terret.ModeDirect, Policy: terret.PolicyAsk})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	return c.Session
}

// TestStoppedMeanwhile holds that a change is made again if the server took its process
// for one that is stopped, and ended the transaction.
func TestStoppedMeanwhile(t *testing.T) {
	look := openSchema(t, t.Name())
	s := openWith(t, "&idle_in_transaction_session_timeout=100ms")
	stopped := 0
	s.fault = func(when string) error {
		if when != "before" || stopped > 0 {
			return nil
		}
		stopped++
		for there := true; there; {
			err := look.pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = $1
				AND state = 'idle in transaction')`, label(s.Worker())).Scan(&there)
			if err != nil {
				return err
			}
		}
		return nil
	}
	id := terret.NewSessionID()
	if _, err := s.Create(t.Context(), terret.Session{ID: id, Agent: "mock", Cwd: "/", Mode: terret.ModeDirect, Policy: terret.PolicyAsk}); err != nil || stopped != 1 {
		t.Fatalf("stopped %d times: %v", stopped, err)
	}
	s.fault = nil
	if made, err := s.Session(t.Context(), id); err != nil || made.ID != id {
		t.Errorf("%+v: %v", made, err)
	}
}

// TestSlowOthers holds that a session does not fail because others have what it needs for
// longer than one statement waits.
func TestSlowOthers(t *testing.T) {
	look := openSchema(t, t.Name())
	s := openWith(t, "&lock_timeout=2s")
	owned := claimNew(t, s)
	other, err := look.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback(t.Context())
	if _, err := other.Exec(t.Context(), `SELECT 1 FROM sessions FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	committed := make(chan error, 1)
	go func() {
		done, err := s.Commit(t.Context(), []terret.Batch{{Session: owned.ID, Epoch: owned.Epoch, After: owned.LastSeq, Events: []terret.Event{
			{Session: owned.ID, Time: terret.Now(), Data: terret.Notification{Text: "x", Level: "info"}},
		}}})
		if err == nil {
			err = errors.Join(done[0].Err)
		}
		committed <- err
	}()
	for waits := map[time.Time]bool{}; len(waits) < 2; { // the second begins when the first has timed out
		var since *time.Time
		err := look.pool.QueryRow(t.Context(), `SELECT max(xact_start) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'`, label(s.Worker())).Scan(&since)
		if err != nil {
			t.Fatal(err)
		}
		if since != nil {
			waits[*since] = true
		}
		select {
		case err := <-committed:
			t.Fatalf("it did not wait any longer: %v", err)
		default:
		}
	}
	if err := other.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-committed; err != nil {
		t.Error(err)
	}
}
