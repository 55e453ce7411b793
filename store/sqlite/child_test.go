package sqlite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// Child processes of the tests in this package: childEnv says what to do with the
// database whose path is in childPath.
const (
	childEnv  = "TERRET_SQLITE_CHILD"
	childPath = "TERRET_SQLITE_PATH"
)

// childMain does the work of a child process and exits, if this is one.
func childMain() {
	role := os.Getenv(childEnv)
	if role == "" {
		return
	}
	if err := childRole(context.Background(), role, os.Getenv(childPath)); err != nil {
		fmt.Printf("%s: %v\n", terret.AsError(err).Code, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func childRole(ctx context.Context, role, path string) error {
	if strings.HasPrefix(role, "unprivileged") {
		if err := dropPrivileges(); err != nil {
			return err
		}
	}
	if role == "probe" {
		return probeLock(path)
	}
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	if _, err := s.Create(ctx, terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: "/", Title: "of a child"}); err != nil {
		return err
	}
	return s.Close()
}

// runChild returns what the child said, and whether it succeeded.
func runChild(t *testing.T, role, path string) (said string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(slices.Clone(os.Environ()), childEnv+"="+role, childPath+"="+path)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}
