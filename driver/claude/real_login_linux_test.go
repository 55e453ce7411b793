package claude

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// TestRealLogin is that the agent's own login counts, from the first prompt after it,
// and that no key is needed beside it. The login is made up.
func TestRealLogin(t *testing.T) {
	r := newReal(t, func(s *setup) {
		s.req.Env = slices.DeleteFunc(slices.Clone(s.req.Env), func(e string) bool { return strings.HasPrefix(e, "ANTHROPIC_API_KEY=") })
		s.d.cfg.Environ = s.req.Env
	})
	a := r.open() // nobody is asked to sign in before there is a prompt
	if d := r.failed(r.turn(a, words("hello")), terret.CodeNotAuthenticated); d.Error.Message != notSignedIn || d.Error.Retryable {
		t.Errorf("%+v", d.Error)
	}
	if heard := r.heard(); heard != "" {
		t.Errorf("the model was asked without a login: %s", heard)
	}
	r.close(a)
	home := r.req.Env[slices.IndexFunc(r.req.Env, func(e string) bool { return strings.HasPrefix(e, "HOME=") })][len("HOME="):]
	login := []byte(`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-made-up","refreshToken":"sk-ant-ort01-made-up","expiresAt":` +
		string(seat.Encode(time.Now().Add(24*time.Hour).UnixMilli())) + `,"scopes":["user:inference","user:profile"],"subscriptionType":"max"}}`)
	file := filepath.Join(home, ".claude", ".credentials.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, login, 0o600); err != nil {
		t.Fatal(err)
	}
	r.says(r.open(), "hello", "Said hello")
	r.hears([]string{`"authorization":"(hidden)"`}, `"x-api-key"`)
	if strings.Contains(r.log.String(), "made-up") {
		t.Errorf("the login is in the log:\n%s", r.log)
	}
	for _, ev := range r.host.said() {
		if b, err := ev.Encode(); err != nil || strings.Contains(string(b), "made-up") {
			t.Errorf("the login is in an event: %s, %v", b, err)
		}
	}
}
