package access

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/terret-dev/terret"
)

// Codes are few and short-lived.
const (
	codeLife = 10 * time.Minute
	maxCodes = 64
)

// NewCode returns a code that signs one device in, once, within ten minutes and
// as long as this process lives. It belongs in the fragment of a URL, which
// browsers do not send: "/#code=" + code. If too many wait, the oldest goes.
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

// exchange makes a token for a device out of a code, which is spent by it: of
// several calls with one code, one at most succeeds. The token has scope admin
// and lasts 90 days; a name that is taken gets a number. A device name that
// cannot be used does not spend the code.
func (t *Tokens) exchange(ctx context.Context, code, device string) (secret string, made Token, err error) {
	s := Spec{Name: device, Scope: Admin, Life: deviceLife}
	if err := s.check(); err != nil {
		return "", Token{}, err
	}
	if !t.spend(code) {
		return "", Token{}, terret.Errorf(terret.CodeUnauthorized, "the sign-in code is wrong, was used before, or is older than ten minutes; start `terret serve` again for a new one, or sign in with the token that `terret token show --print` prints")
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
