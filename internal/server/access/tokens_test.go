package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

const someSession = "0190b3a0-0000-7000-8000-000000000001"

func TestAdminTokenIsKept(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "a", "home")
	first := openTokens(t, home)
	secret := adminToken(t, first)
	second := openTokens(t, home)
	for _, tokens := range []*Tokens{first, second} {
		id, err := tokens.authenticate(t.Context(), secret)
		if err != nil || id.Name != adminName || id.Scope != Admin || id.Session != "" {
			t.Errorf("admin token: %+v, %v", id, err)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(home, "token")); err != nil || string(raw) != secret+"\n" {
		t.Errorf("token file: %q, %v", raw, err)
	}
	if other := adminToken(t, newTokens(t)); other == secret {
		t.Error("two homes have the same token")
	}
}

// Many that start at once agree on one token.
func TestAdminTokenIsMadeOnce(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	secrets := make([]string, 16)
	var wait sync.WaitGroup
	for i := range secrets {
		wait.Go(func() {
			tokens, err := Open(home)
			if err != nil {
				t.Error(err)
				return
			}
			secrets[i], err = tokens.AdminToken()
			if err != nil {
				t.Error(err)
			}
			if _, err := tokens.authenticate(t.Context(), secrets[i]); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, s := range secrets {
		if s != secrets[0] {
			t.Fatalf("different tokens: %q", secrets)
		}
	}
	left, err := filepath.Glob(filepath.Join(home, "*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestBadAdminToken(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty": "", "short": "abc\n", "spaces": strings.Repeat("a b", 20), "control": strings.Repeat("a", 40) + "\x00",
		"long": strings.Repeat("a", 600), "newline inside": strings.Repeat("a", 40) + "\nb",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			if err := os.WriteFile(filepath.Join(home, "token"), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(home)
			wantKind(t, "open", err, terret.CodeStartupRefused)
			if err != nil && content != "" && strings.Contains(err.Error(), strings.TrimSpace(content)) {
				t.Errorf("the error holds the token: %v", err)
			}
		})
	}
	t.Run("one's own", func(t *testing.T) {
		t.Parallel()
		home, own := t.TempDir(), strings.Repeat("Own-token_", 4)
		if err := os.WriteFile(filepath.Join(home, "token"), []byte(own+"\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if id, err := openTokens(t, home).authenticate(t.Context(), own); err != nil || id.Scope != Admin {
			t.Errorf("%+v, %v", id, err)
		}
	})
}

func TestCreateListRevoke(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	ci := create(t, tokens, Spec{Name: "ci", Scope: Prompt})
	link := create(t, tokens, Spec{Name: "link", Scope: View, Session: someSession})
	if ci == link || len(ci) != 43 {
		t.Errorf("secrets %q, %q", ci, link)
	}
	id, err := tokens.authenticate(t.Context(), link)
	if err != nil || id.Name != "link" || id.Scope != View || id.Session != someSession || id.Device {
		t.Errorf("%+v, %v", id, err)
	}
	list, err := tokens.List()
	if err != nil || len(list) != 2 || list[0].Name != "ci" || list[1].Session != someSession || list[0].CreatedAt.IsZero() {
		t.Errorf("list: %+v, %v", list, err)
	}
	_, _, err = tokens.Create(t.Context(), Spec{Name: "ci", Scope: View})
	wantKind(t, "same name", err, terret.CodeConflict)
	wantKind(t, "unknown name", tokens.Revoke(t.Context(), "nobody"), terret.CodeNotFound)
	wantKind(t, "admin", tokens.Revoke(t.Context(), adminName), terret.CodeInvalidRequest)
	if err := tokens.Revoke(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	_, err = tokens.authenticate(t.Context(), ci)
	wantKind(t, "revoked", err, terret.CodeUnauthorized)
	if err := tokens.Valid(t.Context(), id); err != nil {
		t.Errorf("the other token: %v", err)
	}
	// A new token of the old name is another one.
	again := create(t, tokens, Spec{Name: "ci", Scope: Prompt})
	_, err = tokens.authenticate(t.Context(), ci)
	wantKind(t, "revoked, name used again", err, terret.CodeUnauthorized)
	if _, err := tokens.authenticate(t.Context(), again); err != nil {
		t.Error(err)
	}
}

func TestSpecs(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	for _, s := range []Spec{
		{Scope: View},
		{Name: "x"},
		{Name: "x", Scope: "root"},
		{Name: "x", Scope: "Admin"},
		{Name: "-x", Scope: View},
		{Name: " x", Scope: View},
		{Name: "x\n", Scope: View},
		{Name: "x\x1b[31m", Scope: View},
		{Name: "x\u202egpj", Scope: View},
		{Name: "x\xff", Scope: View},
		{Name: strings.Repeat("x", 65), Scope: View},
		{Name: "admin", Scope: View},
		{Name: "Admin", Scope: View},
		{Name: "x", Scope: Admin, Session: someSession},
		{Name: "x", Scope: View, Session: "*"},
		{Name: "x", Scope: View, Session: "../x"},
		{Name: "x", Scope: View, Life: -1},
	} {
		_, _, err := tokens.Create(t.Context(), s)
		wantKind(t, fmt.Sprintf("%+v", s), err, terret.CodeInvalidRequest)
	}
	if list, err := tokens.List(); err != nil || len(list) != 0 {
		t.Errorf("list: %v, %v", list, err)
	}
	create(t, tokens, Spec{Name: "Zoë's phone (2)", Scope: Decide})
}

func TestAuthenticateRefuses(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	secret := create(t, tokens, Spec{Name: "x", Scope: View})
	for _, s := range []string{"", " ", secret + " ", secret[1:], strings.ToUpper(secret), secret + secret, "admin", strings.Repeat("x", 1<<20), "\x00"} {
		id, err := tokens.authenticate(t.Context(), s)
		wantKind(t, fmt.Sprintf("%.40q", s), err, terret.CodeUnauthorized)
		if !id.anonymous() {
			t.Errorf("%.40q is %+v", s, id)
		}
	}
	list, err := os.ReadFile(filepath.Join(tokens.dir, listFile))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Tokens []struct{ SHA256 string } }
	if err := json.Unmarshal(list, &doc); err != nil || len(doc.Tokens) != 1 {
		t.Fatalf("%v: %s", err, list)
	}
	_, err = tokens.authenticate(t.Context(), doc.Tokens[0].SHA256)
	wantKind(t, "the hash", err, terret.CodeUnauthorized)
}

// What one process changes, the others see at once.
func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	a := newTokens(t)
	b := openTokens(t, a.dir)
	secret := create(t, a, Spec{Name: "x", Scope: Decide})
	id, err := b.authenticate(t.Context(), secret)
	if err != nil || id.Scope != Decide {
		t.Fatalf("%+v, %v", id, err)
	}
	if err := a.Revoke(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	_, err = b.authenticate(t.Context(), secret)
	wantKind(t, "revoked elsewhere", err, terret.CodeUnauthorized)
	wantKind(t, "stream of a revoked token", b.Valid(t.Context(), id), terret.CodeUnauthorized)
}

// Nothing that several make at once is lost.
func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	const each = 10
	var wait sync.WaitGroup
	for p := range 4 {
		tokens := openTokens(t, home)
		wait.Go(func() {
			for i := range each {
				secret, _, err := tokens.Create(t.Context(), Spec{Name: fmt.Sprintf("%d-%d", p, i), Scope: View})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := tokens.authenticate(t.Context(), secret); err != nil {
					t.Error(err)
				}
				if i%2 == 1 {
					if err := tokens.Revoke(t.Context(), fmt.Sprintf("%d-%d", p, i)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	list, err := openTokens(t, home).List()
	if err != nil || len(list) != 4*each/2 {
		t.Errorf("%d tokens are left, want %d (%v)", len(list), 4*each/2, err)
	}
}

func TestTooManyTokens(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	err := tokens.change(t.Context(), func(list []stored) ([]stored, error) {
		for i := range maxTokens {
			list = append(list, stored{Token: Token{Name: fmt.Sprint(i), Scope: View}, Hash: hash{byte(i), byte(i >> 8)}})
		}
		return list, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = tokens.Create(t.Context(), Spec{Name: "one more", Scope: View})
	wantKind(t, "one more", err, terret.CodeConflict)
}

// A list that cannot be read lets nobody in, except with the admin token.
func TestDamagedList(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty": "", "cut": `{"version":1,"tokens":[{`, "other version": `{"version":2,"tokens":[]}`, "no version": `{}`,
		"short hash": `{"version":1,"tokens":[{"name":"x","scope":"admin","sha256":""}]}`,
		"huge":       strings.Repeat(" ", maxFile+1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tokens := newTokens(t)
			secret := create(t, tokens, Spec{Name: "x", Scope: View})
			path := filepath.Join(tokens.dir, listFile)
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := tokens.authenticate(t.Context(), secret)
			wantKind(t, "named token", err, terret.CodeInternal)
			if err != nil && strings.Contains(err.Error(), tokens.dir) {
				t.Errorf("the error tells strangers a path: %v", err)
			}
			if _, err := tokens.authenticate(t.Context(), adminToken(t, tokens)); err != nil {
				t.Errorf("admin token: %v", err)
			}
			_, err = tokens.List()
			wantKind(t, "list", err, terret.CodeStartupRefused)
			_, err = Open(tokens.dir)
			wantKind(t, "open", err, terret.CodeStartupRefused)
			_, _, err = tokens.Create(t.Context(), Spec{Name: "y", Scope: View})
			wantKind(t, "create", err, terret.CodeStartupRefused)
			if now, err := os.ReadFile(path); err != nil || string(now) != content {
				t.Error("the damaged list was overwritten")
			}
		})
	}
}

func TestUnknownScopeInList(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	secret := create(t, tokens, Spec{Name: "x", Scope: View})
	err := tokens.change(t.Context(), func(list []stored) ([]stored, error) {
		list[0].Scope = "superuser"
		return list, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	id, err := tokens.authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Scope{View, Prompt, Decide, Admin, "", "superuser"} {
		wantKind(t, string(s), id.May(s, ""), terret.CodeForbidden)
	}
}

func TestLastUse(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	synctest.Test(t, func(t *testing.T) {
		tokens := openTokens(t, home)
		secret := create(t, tokens, Spec{Name: "x", Scope: View})
		use := func() time.Time {
			t.Helper()
			if _, err := tokens.authenticate(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			list, err := tokens.List()
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			return list[0].LastUsedAt.Time
		}
		if list, _ := tokens.List(); !list[0].LastUsedAt.IsZero() {
			t.Errorf("used before it was: %v", list[0].LastUsedAt)
		}
		start := time.Now()
		if got := use(); !got.Equal(start) {
			t.Errorf("first use at %v, want %v", got, start)
		}
		time.Sleep(30 * time.Second)
		if got := use(); !got.Equal(start) {
			t.Errorf("written again after half a minute: %v", got)
		}
		time.Sleep(31 * time.Second)
		if got := use(); !got.Equal(start.Add(61 * time.Second)) {
			t.Errorf("second use at %v", got)
		}
	})
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	synctest.Test(t, func(t *testing.T) {
		tokens := openTokens(t, home)
		secret := create(t, tokens, Spec{Name: "x", Scope: View, Life: time.Hour})
		id, err := tokens.authenticate(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour - time.Second)
		if err := tokens.Valid(t.Context(), id); err != nil {
			t.Errorf("before its end: %v", err)
		}
		time.Sleep(time.Second)
		_, err = tokens.authenticate(t.Context(), secret)
		wantKind(t, "at its end", err, terret.CodeUnauthorized)
		wantKind(t, "stream at its end", tokens.Valid(t.Context(), id), terret.CodeUnauthorized)
		if list, err := tokens.List(); err != nil || len(list) != 0 {
			t.Errorf("list: %v, %v", list, err)
		}
		create(t, tokens, Spec{Name: "x", Scope: View}) // the name is free again
	})
}

func TestLockedByAnother(t *testing.T) {
	t.Parallel()
	a := newTokens(t)
	secret := create(t, a, Spec{Name: "x", Scope: View})
	lock, err := openTokens(t, a.dir).lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	// Who asks does not wait; who changes does, until its context ends.
	if _, err := a.authenticate(t.Context(), secret); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, _, err = a.Create(ctx, Spec{Name: "y", Scope: View})
	wantKind(t, "create", err, terret.CodeConflict)
}

func TestExchange(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	code := tokens.NewCode()
	for _, bad := range []string{"", "x", code + "x", code[1:]} {
		_, _, err := tokens.exchange(t.Context(), bad, "phone")
		wantKind(t, bad, err, terret.CodeUnauthorized)
		if err != nil && len(bad) > 5 && strings.Contains(err.Error(), bad) {
			t.Errorf("the error holds the code: %v", err)
		}
	}
	for _, name := range []string{"", "admin", "-x", "a\x00b", strings.Repeat("x", 65)} {
		_, _, err := tokens.exchange(t.Context(), code, name)
		wantKind(t, "device "+name, err, terret.CodeInvalidRequest)
	}
	secret, made, err := tokens.exchange(t.Context(), code, "Firefox on Linux")
	if err != nil || made.Name != "Firefox on Linux" || made.Scope != Admin || !made.Device || made.ExpiresAt.IsZero() {
		t.Fatalf("%+v, %v", made, err)
	}
	if id, err := tokens.authenticate(t.Context(), secret); err != nil || !id.Device || id.Scope != Admin {
		t.Errorf("%+v, %v", id, err)
	}
	_, _, err = tokens.exchange(t.Context(), code, "again")
	wantKind(t, "second use", err, terret.CodeUnauthorized)
	_, second, err := tokens.exchange(t.Context(), tokens.NewCode(), "Firefox on Linux")
	if err != nil || second.Name != "Firefox on Linux 2" {
		t.Errorf("%+v, %v", second, err)
	}
	look, expires, err := tokens.NewCodeFor(t.Context(), View)
	if err != nil {
		t.Fatal(err)
	}
	if _, third, err := tokens.exchange(t.Context(), look, "phone"); err != nil || third.Scope != View || !expires.After(time.Now()) {
		t.Errorf("%+v, %v, until %v", third, err, expires)
	}
	// A code is of the process that made it.
	_, _, err = openTokens(t, tokens.dir).exchange(t.Context(), tokens.NewCode(), "x")
	wantKind(t, "another process", err, terret.CodeUnauthorized)
}

func TestFreeName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", maxName)
	used := map[string]bool{"a": true, "a 2": true, long: true}
	taken := func(s string) bool { return used[s] }
	got := []string{freeName("b", taken), freeName("a", taken), freeName(long, taken)}
	want := []string{"b", "a 3", strings.Repeat("é", maxName-2) + " 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestManyCodes(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	first := tokens.NewCode()
	for range maxCodes {
		tokens.NewCode()
	}
	last := tokens.NewCode()
	if len(tokens.codes) > maxCodes {
		t.Errorf("%d codes wait", len(tokens.codes))
	}
	_, old, _ := tokens.spend(t.Context(), first) // it has no fleet to fail
	if _, young, _ := tokens.spend(t.Context(), last); old || !young {
		t.Error("not the oldest code went")
	}
}
