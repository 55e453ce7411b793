package main

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/terret-dev/terret/internal/test/pgtest"
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

func TestNoPasswordInHints(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"postgres://me:hidden@db.example.com/terret?sslmode=require": "terret --store 'postgres://me@db.example.com/terret?sslmode=require' pending",
		"postgres://me@db.example.com/terret?password=hidden":        "terret --store postgres://me@db.example.com/terret pending",
		"postgres://me:hid%zzden@db":                                 "terret --store postgres://… pending",
	} {
		if got := (&app{store: given}).commandLine("pending"); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}
