package access

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// board is the documents of a fleet, which counts how often they are read.
type board struct {
	mu    sync.Mutex
	text  []byte
	reads int
	gone  error
}

func (b *board) Document(context.Context, string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	return b.text, b.gone
}

func (b *board) ChangeDocument(_ context.Context, _ string, fn func([]byte) ([]byte, error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, err := fn(b.text)
	if err == nil {
		b.text = text
	}
	return err
}

// TestSharedTokens has two nodes: requests do not each read the list, and still every node
// knows a new token at once, and refuses a revoked one within a second, its own at once.
func TestSharedTokens(t *testing.T) {
	t.Parallel()
	homes := []string{t.TempDir(), t.TempDir()}
	synctest.Test(t, func(t *testing.T) {
		b := &board{}
		var nodes []*Tokens
		for _, home := range homes {
			n, err := OpenShared(home, b)
			if err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, n)
		}
		want := func(n *Tokens, secret string, ok bool) {
			t.Helper()
			if _, err := n.authenticate(t.Context(), secret); (err == nil) != ok {
				t.Errorf("accepted: %v, want %v (%v)", err == nil, ok, err)
			}
		}
		make := func(name string) string {
			t.Helper()
			secret, _, err := nodes[0].Create(t.Context(), Spec{Name: name, Scope: View})
			if err != nil {
				t.Fatal(err)
			}
			return secret
		}
		first := make("first")
		want(nodes[1], first, true)
		time.Sleep(2 * usedEvery) // its use was noted
		want(nodes[1], first, true)
		time.Sleep(sharedLife)

		before := b.reads
		for range 100 {
			want(nodes[1], first, true)
			time.Sleep(sharedLife / 100)
		}
		if n := b.reads - before; n > 2 {
			t.Errorf("a hundred requests of a second read the list %d times", n)
		}
		before = b.reads
		var guesses sync.WaitGroup
		for range 100 {
			guesses.Go(func() { want(nodes[1], "guessed", false) })
		}
		guesses.Wait()
		if n := b.reads - before; n > 2 {
			t.Errorf("a hundred guesses at a time read the list %d times", n)
		}
		before = b.reads
		for range 100 {
			want(nodes[1], adminToken(t, nodes[1]), true)
		}
		if n := b.reads - before; n > 0 {
			t.Errorf("the node's own token read the list %d times", n)
		}

		second := make("second") // just after the list was read
		want(nodes[0], second, true)
		want(nodes[1], second, true)
		if err := nodes[0].Revoke(t.Context(), "second"); err != nil {
			t.Fatal(err)
		}
		want(nodes[0], second, false)
		time.Sleep(sharedLife)
		want(nodes[1], second, false)

		want(nodes[1], first, true)
		b.gone = errors.New("no database")
		want(nodes[1], first, true) // for the rest of the second
		time.Sleep(sharedLife)
		want(nodes[1], first, false)
	})
}
