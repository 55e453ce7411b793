//go:build unix

package engine_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/test/pgtest"
)

// fleet makes child processes of the test use that server.
func fleet(t *testing.T) *pgtest.Server {
	t.Helper()
	own := pgtest.ForTest(t)
	t.Setenv("TERRET_TEST_STORE", "postgres")
	t.Setenv("TERRET_PGTEST_SERVER", own.Addr())
	return own
}

// TestTakeover kills a process while another runs: that one ends the turn of the first
// and decides its request, and the session goes on there.
func TestTakeover(t *testing.T) {
	own, path := fleet(t), t.TempDir()
	n := newNode(t, own, path, mock.Script{Turns: [][]mock.Step{{}, {{Text: "two"}}}})
	id := n.create(t)
	killed(t, path, id)
	entries := n.until(t, id, 0, terret.KindTurnError)
	var kinds []terret.Kind
	for _, e := range entries[len(entries)-3:] {
		kinds = append(kinds, e.Kind)
	}
	if want := []terret.Kind{terret.KindSessionResumed, terret.KindPermissionDecision, terret.KindTurnError}; !slices.Equal(kinds, want) {
		t.Errorf("the log ends with %v, not %v", kinds, want)
	}
	if _, err := n.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("more")}); err != nil {
		t.Fatal(err)
	}
	n.until(t, id, entries[len(entries)-1].Seq, terret.KindTurnComplete)
}

// TestPaused stops a process that owns a session until another has taken over, and wakes
// it: not one event of the old owner follows, and its agent ends, whether it has something
// to say or not. The process goes on as another worker.
func TestPaused(t *testing.T) {
	own := fleet(t)
	for _, role := range []string{"talk", "silence"} {
		t.Run(role, func(t *testing.T) { testPaused(t, own, role) })
	}
}

func testPaused(t *testing.T, own *pgtest.Server, role string) {
	path := t.TempDir()
	n := newNode(t, own, path, mock.Script{})
	id := n.create(t)
	child, out := startChild(t, role, path, id)
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait() // it was killed
	}()
	if !out.Scan() || out.Text() != "ready" {
		t.Fatalf("the child said %q", out.Text())
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	entries := n.until(t, id, 0, terret.KindTurnError)
	entries = n.until(t, id, entries[len(entries)-1].Seq, terret.KindSessionStateChange) // the last word of the new owner
	ended := entries[len(entries)-1].Seq
	t.Logf("taken over after %v with a lease of %v", time.Since(stopped).Round(time.Millisecond), shortLease)
	if err := child.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for out.Scan() && out.Text() != "the agent has ended" {
	}
	if out.Text() != "the agent has ended" {
		t.Errorf("the agent of the old owner goes on: %q", out.Text())
	}
	if !out.Scan() || out.Text() != "works again" {
		t.Errorf("the child said %q", out.Text())
	}
	// It works as another worker, so the next event is that of a new owner.
	entries = n.until(t, id, ended, terret.KindSessionResumed)
	for _, e := range entries[:len(entries)-1] {
		t.Errorf("%s follows", e.Body)
	}
}
