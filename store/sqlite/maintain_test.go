package sqlite

import (
	"testing"
	"time"

	"github.com/terret-dev/terret/internal/lite"
)

// TestManyBlobs has one sweep remove all bodies that sessions left behind, however many.
func TestManyBlobs(t *testing.T) {
	t.Parallel()
	s := openFile(t, tempPath(t))
	err := s.write(t.Context(), "leave bodies behind", func(tx *lite.Conn) error {
		return tx.Exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			INSERT INTO blobs (hash, body) SELECT CAST(i AS BLOB), x'78' FROM n`, 2*chunk+1)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Compact(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := number(t, s, `SELECT count(*) FROM blobs`); got != 0 {
		t.Errorf("%d bodies are left", got)
	}
}
