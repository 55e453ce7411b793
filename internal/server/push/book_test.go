package push_test

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/push"
	"github.com/terret-dev/terret/internal/test/pushtest"
)

// TestBook holds that the key is made once and private, and that subscriptions survive.
func TestBook(t *testing.T) {
	t.Parallel()
	home, service := t.TempDir(), pushtest.New(t)
	keys := make([]string, 8)
	var wait sync.WaitGroup
	for i := range keys {
		wait.Go(func() {
			var err error
			if keys[i], _, err = (&push.Book{Home: home}).Own(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, k := range keys {
		if k != keys[0] || len(k) != 87 {
			t.Fatalf("keys %q", keys)
		}
	}
	info, err := os.Stat(filepath.Join(home, "push.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	b := service.Browser()
	if err := (&push.Book{Home: home}).Put(t.Context(), subscription(b, "a")); err != nil {
		t.Fatal(err)
	}
	again := &push.Book{Home: home}
	key, own, err := again.Own(t.Context(), "a")
	if err != nil || key != keys[0] || len(own) != 1 || own[0].Endpoint != b.Endpoint {
		t.Errorf("after a restart: %s %+v %v", key, own, err)
	}
	if _, own, err := again.Own(t.Context(), "b"); err != nil || len(own) != 0 {
		t.Errorf("of another token: %+v %v", own, err)
	}
	// The browser signs in anew: it belongs to the other token then.
	if err := again.Put(t.Context(), subscription(b, "b")); err != nil {
		t.Error(err)
	}
	if _, own, err := again.Own(t.Context(), "a"); err != nil || len(own) != 0 {
		t.Errorf("left behind: %+v %v", own, err)
	}
	// Whoever only knows the endpoint cannot take it over.
	thief := subscription(b, "c")
	thief.Auth = base64.RawURLEncoding.EncodeToString(make([]byte, 16))
	if err := again.Put(t.Context(), thief); !errors.Is(err, terret.ErrConflict) {
		t.Errorf("with other secrets: %v", err)
	}
}

func TestBookIsBounded(t *testing.T) {
	t.Parallel()
	book, service := &push.Book{Home: t.TempDir()}, pushtest.New(t)
	first := service.Browser()
	for i := range 11 {
		b := service.Browser()
		if i == 0 {
			b = first
		}
		if err := book.Put(t.Context(), subscription(b, "a")); err != nil {
			t.Fatal(err)
		}
	}
	_, own, err := book.Own(t.Context(), "a")
	if err != nil || len(own) != 10 || own[0].Endpoint == first.Endpoint {
		t.Errorf("%d of one token: %v", len(own), err)
	}
	for i := range 190 {
		if err := book.Put(t.Context(), subscription(service.Browser(), "owner "+string(rune('A'+i/10)))); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := book.Put(t.Context(), subscription(service.Browser(), "one more")); !errors.Is(err, terret.ErrConflict) {
		t.Errorf("one too many: %v", err)
	}
	if err := book.Put(t.Context(), subscription(service.Browser(), "a")); err != nil {
		t.Errorf("a token that makes room for itself: %v", err)
	}
}

// TestRoom holds that subscriptions of tokens that have ended keep nobody out.
func TestRoom(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 200 {
		f.subscribe("owner " + string(rune('A'+i/10)))
	}
	late := subscription(f.service.Browser(), "late")
	if err := f.queue.Put(t.Context(), late); !errors.Is(err, terret.ErrConflict) {
		t.Errorf("one too many: %v", err)
	}
	f.revoked["owner B"] = true
	if err := f.queue.Put(t.Context(), late); err != nil {
		t.Errorf("after a token has ended: %v", err)
	}
	if n := f.subscribers(); n != 191 {
		t.Errorf("%d subscriptions", n)
	}
}

func TestSubscriptionsAreChecked(t *testing.T) {
	t.Parallel()
	book, service := &push.Book{Home: t.TempDir()}, pushtest.New(t)
	good := subscription(service.Browser(), "a")
	for name, change := range map[string]func(*push.Subscription){
		"plain":          func(s *push.Subscription) { s.Endpoint = "http://push.example.com/x" },
		"file":           func(s *push.Subscription) { s.Endpoint = "file:///etc/passwd" },
		"nothing":        func(s *push.Subscription) { s.Endpoint = "" },
		"no host":        func(s *push.Subscription) { s.Endpoint = "https:///x" },
		"user":           func(s *push.Subscription) { s.Endpoint = "https://a:b@push.example.com/x" },
		"long":           func(s *push.Subscription) { s.Endpoint += strings.Repeat("x", 2048) },
		"here":           func(s *push.Subscription) { s.Endpoint = "https://localhost/x" },
		"loopback":       func(s *push.Subscription) { s.Endpoint = "https://127.0.0.1:8443/x" },
		"private":        func(s *push.Subscription) { s.Endpoint = "https://10.0.0.1/x" },
		"private six":    func(s *push.Subscription) { s.Endpoint = "https://[fd00::1]/x" },
		"metadata":       func(s *push.Subscription) { s.Endpoint = "https://169.254.169.254/x" },
		"key":            func(s *push.Subscription) { s.P256DH = "AAAA" },
		"key not base64": func(s *push.Subscription) { s.P256DH = "?" },
		"off the curve":  func(s *push.Subscription) { s.P256DH = s.P256DH[:60] + strings.Repeat("A", 27) },
		"short secret":   func(s *push.Subscription) { s.Auth = "AAAA" },
	} {
		bad := good
		change(&bad)
		err := book.Put(t.Context(), bad)
		if err == nil || terret.AsError(err).Code != terret.CodeInvalidRequest || terret.AsError(err).Field == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if any, err := book.Any(t.Context()); any || err != nil {
		t.Errorf("kept: %v %v", any, err)
	}
}

func TestDamagedBook(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, text := range []string{"{", `{"version": 2}`} {
		if err := os.WriteFile(filepath.Join(home, "push.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := (&push.Book{Home: home}).Own(t.Context(), "a"); err == nil || terret.AsError(err).Code != terret.CodeStartupRefused {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// documents is what a fleet shares.
type documents struct {
	mu  sync.Mutex
	all map[string][]byte
}

func (d *documents) Document(_ context.Context, name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all[name], nil
}

func (d *documents) ChangeDocument(_ context.Context, name string, fn func([]byte) ([]byte, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	made, err := fn(d.all[name])
	if err == nil {
		d.all[name] = made
	}
	return err
}

// TestSharedBook holds that the nodes of a fleet have one key and the same subscriptions.
func TestSharedBook(t *testing.T) {
	t.Parallel()
	fleet, service := &documents{all: map[string][]byte{}}, pushtest.New(t)
	one, two := &push.Book{Home: t.TempDir(), Shared: fleet}, &push.Book{Home: t.TempDir(), Shared: fleet}
	key, _, err := one.Own(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := two.Put(t.Context(), subscription(service.Browser(), "a")); err != nil {
		t.Fatal(err)
	}
	if also, own, err := one.Own(t.Context(), "a"); err != nil || also != key || len(own) != 1 {
		t.Errorf("%s and %s, %v, %v", key, also, own, err)
	}
	if n, err := one.Remove(t.Context(), func(push.Subscription) bool { return true }); n != 1 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
}
