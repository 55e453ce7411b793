package postgres

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/test/pgtest"
	"github.com/terret-dev/terret/store/storetest"
)

// server is the PostgreSQL of this test binary; nil if there is none.
var server *pgtest.Server

func TestMain(m *testing.M) {
	server = pgtest.Main()
	storetest.Main(onServer)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		server.Stop()
		os.Exit(code)
	}))
}

// onServer is the store as it is used. A folder's name stands for a schema.
var onServer = storetest.Config{
	Open: func(ctx context.Context, dir string) (terret.Store, error) {
		s, err := Open(ctx, server.URL(dir), Options{})
		if err != nil {
			return nil, err
		}
		return s, nil
	},
	Lose: func(st terret.Store, phase string, err error) {
		s := st.(*Store)
		s.fault = func(p string) error {
			if p != phase {
				return nil
			}
			s.fault = nil
			return err
		}
	},
	Blobs: func(ctx context.Context, st terret.Store) (n int, err error) {
		err = st.(*Store).read(ctx, "count blobs", func(c *pgx.Conn) error {
			return c.QueryRow(ctx, `SELECT count(*) FROM blobs`).Scan(&n)
		})
		return n, err
	},
}

// needServer skips a test if there is no PostgreSQL. Main has said so.
func needServer(t *testing.T) {
	t.Helper()
	if server == nil {
		t.Skip("no PostgreSQL is installed")
	}
}

func TestStore(t *testing.T) {
	needServer(t)
	storetest.Run(t, onServer)
}

// openSchema opens the store of a schema until the end of the test.
func openSchema(t *testing.T, name string, change ...func(*Options)) *Store {
	t.Helper()
	needServer(t)
	o := Options{Lease: 5 * time.Second}
	for _, f := range change {
		f(&o)
	}
	s, err := Open(t.Context(), server.URL(name), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}
