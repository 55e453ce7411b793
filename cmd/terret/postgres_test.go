package main

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/terret-dev/terret/internal/pgtest"
)

// TestPostgres runs scripts with a PostgreSQL: STORE is the address of a schema of their
// own, with its password, and OPEN_STORE the same without.
func TestPostgres(t *testing.T) {
	server := pgtest.ForTest(t)
	p := scripts(t, "testdata/postgres")
	inner := p.Setup
	p.Setup = func(e *testscript.Env) error {
		address := server.URL(e.WorkDir)
		e.Setenv("STORE", address)
		e.Setenv("OPEN_STORE", strings.Replace(address, ":throw-away@", "@", 1))
		return inner(e)
	}
	testscript.Run(t, p)
}
