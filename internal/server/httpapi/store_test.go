package httpapi_test

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/installation"
	"github.com/terret-dev/terret/internal/test/pgtest"
)

// Store is what the tests run on: SQLite, or with TERRET_TEST_STORE=postgres a real
// PostgreSQL.
type Store = assemble.Store

// server is the PostgreSQL; nil if the tests run on SQLite.
var server *pgtest.Server

// verify runs the tests and looks for leaks.
func verify(m *testing.M) {
	server = pgtest.Asked()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		server.Stop()
		os.Exit(code)
	}))
}

// openStore opens the store at path, or the one that stands for it.
func openStore(ctx context.Context, path string) (Store, error) {
	return installation.OpenStore(ctx, server.Address(path), nil)
}
