package drivertest

import (
	"testing"

	"github.com/terret-dev/terret/internal/test/guardtest"
)

// alive lists the processes that have the mark in their arguments or environment.
func alive(t *testing.T, mark string) []string { return guardtest.Alive(t, mark) }
