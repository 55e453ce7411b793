package access

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/terret-dev/terret"
)

// Limits of codes.
const (
	codeLife = 10 * time.Minute
	maxCodes = 64
)

// NewCode returns a code that signs in one device, once, within ten minutes and while
// this process lives. It belongs in the fragment of a URL, which browsers do not send:
// "/#code=" + code. If there are too many codes, the oldest is dropped.
func (t *Tokens) NewCode() string {
	code := newSecret(24)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	var oldest hash
	for h, expires := range t.codes {
		if !now.Before(expires) {
			delete(t.codes, h)
		} else if first, ok := t.codes[oldest]; !ok || expires.Before(first) {
			oldest = h
		}
	}
	if len(t.codes) >= maxCodes {
		delete(t.codes, oldest)
	}
	t.codes[sha256.Sum256([]byte(code))] = now.Add(codeLife)
	return code
}

// exchange makes a device token from a code and uses the code up: of several calls with
// one code, at most one succeeds. The token has scope admin and lasts 90 days; if the
// name is taken, it gets a number. An invalid device name does not use up the code.
func (t *Tokens) exchange(ctx context.Context, code, device string) (secret string, made Token, err error) {
	s := Spec{Name: device, Scope: Admin, Life: deviceLife}
	if err := s.check(); err != nil {
		return "", Token{}, err
	}
	if !t.spend(code) {
		return "", Token{}, terret.Errorf(terret.CodeUnauthorized, "the sign-in code is wrong, already used, or older than ten minutes; restart `terret serve` for a new one, or sign in with the token that `terret token show --print` prints")
	}
	return t.create(ctx, s, true)
}

func (t *Tokens) spend(code string) bool {
	h := hash(sha256.Sum256([]byte(code[:min(len(code), maxSecret)])))
	t.mu.Lock()
	defer t.mu.Unlock()
	expires, ok := t.codes[h]
	delete(t.codes, h)
	return ok && time.Now().Before(expires)
}
