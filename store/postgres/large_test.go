package postgres

import (
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// TestLargeCommit holds that the server does not take a process that packs up a large body
// for one that is stopped: it would end the connection, at each try.
func TestLargeCommit(t *testing.T) {
	look := openSchema(t, t.Name())
	s := openWith(t, "&idle_in_transaction_session_timeout=1s")
	owned := claimNew(t, s)
	s.fault = func(when string) error { // packs up for longer than the server would wait
		for idle := true; idle && when == "before"; {
			err := look.pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = $1
				AND state = 'idle in transaction' AND state_change > now() - interval '2 s')`, label(s.Worker())).Scan(&idle)
			if err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	text := strings.Repeat("x", largeCommit)
	done, err := s.Commit(t.Context(), []terret.Batch{{Session: owned.ID, Epoch: owned.Epoch, After: owned.LastSeq, Events: []terret.Event{
		{Session: owned.ID, Time: terret.Now(), Data: terret.Notification{Text: text, Level: "info"}, Raw: []byte(text)},
	}}})
	if err != nil || done[0].Err != nil {
		t.Fatal(err, done)
	}
	s.fault = nil
}
