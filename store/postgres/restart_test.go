package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/test/pgtest"
)

// TestRestart restarts the server, and kills it, while several sessions are written and
// read. Everything goes on, and what was acknowledged is there once.
func TestRestart(t *testing.T) {
	own := pgtest.ForTest(t)
	s, err := Open(t.Context(), own.URL(t.Name()), Options{Lease: time.Minute, Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	owners := make([]*owner, 4)
	for i := range owners {
		owners[i] = newOwner(t, s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wrote := make(chan struct{}, 1000)
	var wg sync.WaitGroup
	for _, o := range owners {
		wg.Go(func() {
			defer cancel() // if it fails
			o.pour(t, ctx, wrote)
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.Session(ctx, owners[0].id); err != nil && ctx.Err() == nil {
				t.Errorf("a read fails: %v", err)
				return
			}
			pause(ctx, time.Millisecond)
		}
	})
	some := func() {
		for range 50 {
			select {
			case <-wrote:
			case <-ctx.Done():
			}
		}
	}
	for round, stop := range []func() error{own.Halt, own.Kill, own.Kill, own.Halt} {
		some()
		if err := stop(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := own.Launch(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	some()
	cancel()
	wg.Wait()
	for _, o := range owners {
		o.want(t, s, o.seq)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// pour appends until the context ends. Each event says its number.
func (o *owner) pour(t *testing.T, ctx context.Context, wrote chan<- struct{}) { //nolint:revive // t first, as everywhere
	for ctx.Err() == nil {
		before := o.seq
		if err := o.append(context.WithoutCancel(ctx), fmt.Sprintf("poured %d,", before+1)); err != nil {
			t.Errorf("event %d: %v", before+1, err)
			return
		}
		select {
		case wrote <- struct{}{}:
		case <-ctx.Done():
		}
	}
}

// TestGone has a database that stays away: calls end with an error that says so.
func TestGone(t *testing.T) {
	own := pgtest.ForTest(t)
	s, err := Open(t.Context(), own.URL(t.Name()), Options{Wait: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	o := newOwner(t, s)
	o.must(t, "one")
	if err := own.Halt(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"commit": o.append(t.Context(), "two"),
		"read":   func() error { _, err := s.Session(t.Context(), o.id); return err }(),
		"send":   s.Send(t.Context(), terret.InboxItem{ID: "x", Session: o.id, Kind: terret.InboxClose}),
	} {
		wantSays(t, what, err, "cannot be reached")
	}
	if err := own.Launch(); err != nil {
		t.Fatal(err)
	}
	s.options.Wait = time.Minute
	o.must(t, "two after all")
	o.want(t, s, 2)
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// TestRegisterWhileGone has a worker that waits for a database that is away: whoever only
// asks who the worker is does not wait, and whoever waits for the same can leave.
func TestRegisterWhileGone(t *testing.T) {
	own := pgtest.ForTest(t)
	s, err := Open(t.Context(), own.URL(t.Name()), Options{Wait: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Halt(); err != nil {
		t.Fatal(err)
	}
	first, leave := context.WithCancel(t.Context())
	claimed := make(chan error)
	go func() {
		_, err := s.Claim(first, "s")
		claimed <- err
	}()
	for len(s.worker.taking) == 0 {
		runtime.Gosched()
	}
	if s.Worker() == "" || s.Lost() == nil {
		t.Error("nobody is the worker")
	}
	second, gone := context.WithCancel(t.Context())
	gone()
	if _, err := s.Claim(second, "s"); !errors.Is(err, context.Canceled) {
		t.Errorf("the second one: %v", err)
	}
	leave()
	if err := <-claimed; !errors.Is(err, context.Canceled) {
		t.Errorf("the first one: %v", err)
	}
	if err := own.Launch(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
