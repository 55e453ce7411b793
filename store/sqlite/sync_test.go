package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
)

func (o *holder) batch(events ...terret.Event) terret.Batch {
	return terret.Batch{Session: o.id, Epoch: o.epoch, After: o.seq, Events: events}
}

func (o *holder) commit(t *testing.T, b terret.Batch) []terret.Entry {
	t.Helper()
	r, err := o.s.Commit(t.Context(), []terret.Batch{b})
	if err != nil || r[0].Err != nil {
		t.Fatal(r, err)
	}
	o.seq = r[0].LastSeq
	return r[0].Entries
}

func note() terret.Event {
	return terret.Event{Time: terret.Now(), Data: terret.Notification{Text: "note"}}
}

// TestSynced holds that SQLite syncs every transaction: readers must not see what a power
// cut can take.
func TestSynced(t *testing.T) {
	t.Parallel()
	s := openFile(t, tempPath(t))
	x := newHolder(t, s)
	commits := 0
	s.fault = func(phase string) error {
		if phase != "before" {
			return nil
		}
		commits++
		_, err := s.db.Row(func(r *lite.Rows) {
			if level := r.Int(0); level != 2 {
				t.Errorf("committed at level %d, want 2 (FULL)", level)
			}
		}, "PRAGMA synchronous")
		return err
	}
	x.commit(t, x.batch(note()))
	x.commit(t, x.batch(terret.Event{Time: terret.Now(), Data: terret.MessageDelta{Text: "piece"}}))
	if err := s.Release(t.Context(), x.id, x.epoch); err != nil {
		t.Error(err)
	}
	if commits != 3 {
		t.Errorf("%d commits, want 3", commits)
	}
}

// TestLinkedDatabase opens a database by its name and by a link: both are the same, with
// one log and with the same workers.
func TestLinkedDatabase(t *testing.T) {
	t.Parallel()
	path, link := tempPath(t), filepath.Join(t.TempDir(), "link.db")
	direct := openFile(t, path)
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	s := openFile(t, link)
	x := newHolder(t, s)
	x.must(t, "one")
	x.must(t, "two")
	wantEvents(t, s, x.id, x.seq)
	if s.files.wal == nil {
		t.Error("the log file was not found")
	}
	if _, err := direct.Claim(t.Context(), x.id); err == nil {
		t.Error("a session was taken from somebody who is alive")
	}
}
