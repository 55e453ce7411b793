package access

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

// cupboard holds the documents of a fleet.
type cupboard struct {
	mu   sync.Mutex
	docs map[string][]byte
	err  error // of every call, if set
}

func (c *cupboard) Document(_ context.Context, name string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.docs[name], c.err
}

func (c *cupboard) ChangeDocument(_ context.Context, name string, fn func([]byte) ([]byte, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	made, err := fn(c.docs[name])
	if err == nil {
		c.docs[name] = made
	}
	return err
}

func (c *cupboard) set(name string, doc []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.docs[name], c.err = doc, err
}

// TestFleetTokens is that a token made on one node of a fleet is good on all of them until
// it is revoked on any, and that the admin token of a node is good there only.
func TestFleetTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, fleetTokens)
}

func fleetTokens(t *testing.T) {
	shelf := &cupboard{docs: map[string][]byte{}}
	var nodes []*Tokens
	for range 2 {
		n, err := OpenShared(t.TempDir(), shelf)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	if list, err := nodes[1].List(); err != nil || len(list) != 0 {
		t.Errorf("before the first: %v, %v", list, err)
	}
	if _, err := nodes[1].authenticate(t.Context(), adminToken(t, nodes[0])); err == nil {
		t.Error("the admin token of another node was taken")
	}
	secret, made, err := nodes[0].Create(t.Context(), Spec{Name: "phone", Scope: View})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(nodes[0].dir, listFile)); err == nil {
		t.Error("the list is a file as well")
	}
	id, err := nodes[1].authenticate(t.Context(), secret)
	if err != nil || id.Name != made.Name || id.Scope != View {
		t.Fatalf("on the other node: %+v, %v", id, err)
	}
	if _, _, err := nodes[1].Create(t.Context(), Spec{Name: "phone", Scope: View}); err == nil {
		t.Error("two nodes made a token of the same name")
	}
	if err := nodes[1].Revoke(t.Context(), "phone"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(sharedLife)
	if _, err := nodes[0].authenticate(t.Context(), secret); err == nil {
		t.Error("a revoked token was taken")
	}
	if err := nodes[0].Valid(t.Context(), id); err == nil {
		t.Error("who came with a revoked token may stay")
	}
}

// TestFleetTokensCannotBeRead is that nobody is let in, and nothing is overwritten, when
// the list of a fleet cannot be read. The node's own admin token is not in it.
func TestFleetTokensCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, fleetTokensCannotBeRead)
}

func fleetTokensCannotBeRead(t *testing.T) {
	shelf := &cupboard{docs: map[string][]byte{}}
	tokens, err := OpenShared(t.TempDir(), shelf)
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := tokens.Create(t.Context(), Spec{Name: "phone", Scope: View})
	if err != nil {
		t.Fatal(err)
	}
	good := shelf.docs[sharedName]
	for name, c := range map[string]struct {
		doc []byte
		err error
	}{
		"damaged":   {[]byte(`{"version": 1, "tok`), nil},
		"newer":     {[]byte(`{"version": 99, "tokens": []}`), nil},
		"no answer": {good, errors.New("the database is away")},
	} {
		shelf.set(sharedName, c.doc, c.err)
		time.Sleep(sharedLife)
		if _, err := tokens.authenticate(t.Context(), secret); err == nil {
			t.Errorf("%s: a token was taken", name)
		}
		if list, err := tokens.List(); err == nil {
			t.Errorf("%s: the list seems to hold %v", name, list)
		}
		if _, _, err := tokens.Create(t.Context(), Spec{Name: "other", Scope: View}); err == nil {
			t.Errorf("%s: a token was made", name)
		}
		if err := tokens.Revoke(t.Context(), "phone"); err == nil {
			t.Errorf("%s: a token was revoked", name)
		}
		if string(shelf.docs[sharedName]) != string(c.doc) {
			t.Errorf("%s: the list was overwritten", name)
		}
		if _, err := tokens.authenticate(t.Context(), adminToken(t, tokens)); err != nil {
			t.Errorf("%s: the admin token: %v", name, err)
		}
	}
	shelf.set(sharedName, good, nil)
	time.Sleep(sharedLife)
	if _, err := tokens.authenticate(t.Context(), secret); err != nil {
		t.Errorf("when it is back: %v", err)
	}
}

// TestFleetCodes signs a device in at another node than the one that made the link, as
// behind a load balancer: once, whichever nodes are asked.
func TestFleetCodes(t *testing.T) {
	t.Parallel()
	shelf := &cupboard{docs: map[string][]byte{}}
	var nodes []*Tokens
	for range 2 {
		n, err := OpenShared(t.TempDir(), shelf)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	code, _, err := nodes[0].NewCodeFor(t.Context(), View)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(shelf.docs[sharedCodes]), code) {
		t.Error("the code itself is kept")
	}
	_, _, err = nodes[1].exchange(t.Context(), code+"x", "phone")
	wantKind(t, "a wrong code", err, terret.CodeUnauthorized)
	secret, made, err := nodes[1].exchange(t.Context(), code, "phone")
	if err != nil || made.Scope != View {
		t.Fatalf("%+v, %v", made, err)
	}
	for i, n := range nodes {
		_, _, err := n.exchange(t.Context(), code, "again")
		wantKind(t, "used", err, terret.CodeUnauthorized)
		if id, err := n.authenticate(t.Context(), secret); err != nil || id.Scope != View {
			t.Errorf("node %d: %+v, %v", i, id, err)
		}
	}
	shelf.set(sharedCodes, []byte("nonsense"), nil)
	if again, _, err := nodes[0].NewCodeFor(t.Context(), View); err != nil {
		t.Error(err)
	} else if _, _, err := nodes[1].exchange(t.Context(), again, "laptop"); err != nil {
		t.Error(err)
	}
}
