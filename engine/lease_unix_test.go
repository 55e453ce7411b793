//go:build unix

package engine_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/pgtest"
	"github.com/terret-dev/terret/store/postgres"
)

// TestPaused stops a process that owns a session, lets another take over, and wakes it:
// not one event of the old owner follows, and its agent ends, whether it has something to
// say or not.
func TestPaused(t *testing.T) {
	own := pgtest.ForTest(t)
	for _, role := range []string{"talk", "silence"} {
		t.Run(role, func(t *testing.T) { testPaused(t, own, role) })
	}
}

func testPaused(t *testing.T, own *pgtest.Server, role string) {
	t.Setenv("TERRET_TEST_STORE", "postgres")
	t.Setenv("TERRET_PGTEST_SERVER", own.Addr())
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	path := t.TempDir()
	s, err := postgres.Open(ctx, own.URL(path), postgres.Options{Lease: shortLease})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n, err := s.Create(ctx, terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: t.TempDir(), Policy: terret.PolicyAsk})
	if err != nil {
		t.Fatal(err)
	}
	child, out := startChild(t, role, path, n.ID)
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
	var claim terret.Claim
	for {
		if claim, err = s.Claim(ctx, n.ID); err == nil {
			break
		}
		if terret.AsError(err).Code != terret.CodeConflict {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // a lease takes its time to end
	}
	t.Logf("taken over after %v with a lease of %v", time.Since(stopped).Round(time.Millisecond), shortLease)
	results, err := s.Commit(ctx, []terret.Batch{{Session: n.ID, Epoch: claim.Session.Epoch, After: claim.Session.LastSeq, Events: []terret.Event{
		{Time: terret.Now(), Data: terret.Notification{Text: "mine", Level: "info"}},
	}}})
	if err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	if err := child.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for out.Scan() && out.Text() != "the agent has ended" {
	}
	if out.Text() != "the agent has ended" {
		t.Errorf("the agent of the old owner goes on: %q", out.Text())
	}
	after, err := s.Read(ctx, terret.ReadQuery{Session: n.ID, After: results[0].LastSeq})
	if err != nil || len(after) != 0 {
		t.Errorf("%d events follow, %v", len(after), err)
	}
	// The process goes on as another worker, once the session is free.
	if err := s.Release(ctx, n.ID, claim.Session.Epoch); err != nil {
		t.Fatal(err)
	}
	if !out.Scan() || !strings.HasPrefix(out.Text(), "works again") {
		t.Errorf("the child said %q", out.Text())
	}
}
