package httpapi_test

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/pgtest"
	"github.com/terret-dev/terret/store/postgres"
	"github.com/terret-dev/terret/store/sqlite"
)

// Store is what the tests run on: SQLite, or with TERRET_TEST_STORE=postgres a real
// PostgreSQL.
type Store interface {
	terret.Store
	terret.Maintainer
}

// server is the PostgreSQL; nil if the tests run on SQLite.
var server *pgtest.Server

// verify runs the tests and looks for leaks.
func verify(m *testing.M) {
	if os.Getenv("TERRET_TEST_STORE") == "postgres" {
		if server = pgtest.Main(); server == nil {
			os.Exit(1) // it was asked for
		}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		server.Stop()
		os.Exit(code)
	}))
}

// openStore opens the store at path, which stands for a schema of PostgreSQL. In a bubble
// of synctest, where it is the year 2000, there is no network, so the store stays in
// memory.
func openStore(ctx context.Context, path string) (Store, error) {
	if server != nil && (path != sqlite.Memory || time.Now().Year() > 2000) {
		if path == sqlite.Memory {
			path = terret.NewID("mem")
		}
		s, err := postgres.Open(ctx, server.URL(path), postgres.Options{})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	return s, nil
}
