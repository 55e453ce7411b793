package sqlite

import (
	"testing"

	"github.com/terret-dev/terret"
)

// TestDeletedWords looks into the index itself: a deleted session leaves no word in it.
func TestDeletedWords(t *testing.T) {
	t.Parallel()
	s := openFile(t, tempPath(t))
	ctx := t.Context()
	n, err := s.Create(ctx, terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(ctx, n.ID)
	if err != nil {
		t.Fatal(err)
	}
	said := terret.Event{Time: terret.Now(), Data: terret.UserPrompt{Blocks: []terret.Block{terret.Text("zanzibar")}}}
	r, err := s.Commit(ctx, []terret.Batch{{Session: n.ID, Epoch: c.Session.Epoch, Events: []terret.Event{said}}})
	if err != nil || r[0].Err != nil {
		t.Fatal(err, r)
	}
	if found, err := s.Search(ctx, terret.SearchQuery{Words: "zanz"}); err != nil || len(found.Items) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	if got := number(t, s, `SELECT count(*) FROM words WHERE words MATCH 'zanzibar'`); got != 1 {
		t.Errorf("%d rows in the index", got)
	}
	if err := s.Delete(ctx, n.ID); err != nil {
		t.Fatal(err)
	}
	if got := number(t, s, `SELECT count(*) FROM words WHERE words MATCH 'zanzibar'`); got != 0 {
		t.Errorf("%d rows are left in the index", got)
	}
}
