package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
	"github.com/terret-dev/terret/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Main(onFile)
	childMain()
	goleak.VerifyTestMain(m)
}

// onFile is the store as it is used.
var onFile = storetest.Config{
	Open:  func(ctx context.Context, dir string) (terret.Store, error) { return asStore(open(ctx, dir)) },
	Lose:  lose,
	Blobs: countBlobs,
}

// inMemory is what can be tested of a store that nobody else can see.
var inMemory = storetest.Config{
	Open: func(ctx context.Context, _ string) (terret.Store, error) {
		return asStore(Open(ctx, Memory, Options{}))
	},
	Single: true,
	Lose:   lose,
	Blobs:  countBlobs,
}

func TestFile(t *testing.T)   { storetest.Run(t, onFile) }
func TestMemory(t *testing.T) { storetest.Run(t, inMemory) }

func open(ctx context.Context, dir string) (*Store, error) {
	return Open(ctx, filepath.Join(dir, "terret.db"), Options{})
}

// asStore keeps a nil *Store from becoming a terret.Store.
func asStore(s *Store, err error) (terret.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

func lose(st terret.Store, phase string, err error) {
	s := st.(*Store)
	s.fault = func(p string) error {
		if p != phase {
			return nil
		}
		s.fault = nil
		return err
	}
}

func countBlobs(ctx context.Context, st terret.Store) (n int, err error) {
	err = st.(*Store).read(ctx, "count blobs", func(c *lite.Conn) error {
		_, err := c.Row(func(r *lite.Rows) { n = int(r.Int(0)) }, `SELECT count(*) FROM blobs`)
		return err
	})
	return n, err
}
