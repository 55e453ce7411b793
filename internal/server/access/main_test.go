package access

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
)

// childEnv names what the test binary runs as instead of the tests.
const childEnv = "ACCESS_TEST_CHILD"

func TestMain(m *testing.M) {
	if run := children[os.Getenv(childEnv)]; run != nil {
		os.Exit(run(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

func openTokens(t *testing.T, home string) *Tokens {
	t.Helper()
	tokens, err := Open(home)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func newTokens(t *testing.T) *Tokens {
	t.Helper()
	return openTokens(t, filepath.Join(t.TempDir(), "home"))
}

func create(t *testing.T, tokens *Tokens, s Spec) string {
	t.Helper()
	secret, _, err := tokens.Create(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func adminToken(t *testing.T, tokens *Tokens) string {
	t.Helper()
	secret, err := tokens.AdminToken()
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func kindOf(err error) terret.ErrorCode {
	if err == nil {
		return ""
	}
	return terret.AsError(err).Code
}

func wantKind(t *testing.T, what string, err error, want terret.ErrorCode) {
	t.Helper()
	if got := kindOf(err); got != want {
		t.Errorf("%s: kind %q, want %q (%v)", what, got, want, err)
	}
}

func contextWithLocal(ctx context.Context, local net.Addr) context.Context {
	return context.WithValue(ctx, http.LocalAddrContextKey, local)
}
