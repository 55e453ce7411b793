// Package repo_test tests the repository rather than a package: which package may import
// which, what each links, that strangers can use what is public, that every requirement
// names tests that run, and that nothing in it is read by nobody.
package repo_test

import (
	"os"
	"testing"
)

// TestMain has all tests run in the root of the module.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
