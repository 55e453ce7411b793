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

// code is what a code is good for.
type code struct {
	expires time.Time
	scope   Scope
}

// NewCode returns a code that signs in one device that may do everything. See
// [Tokens.NewCodeFor].
func (t *Tokens) NewCode() string {
	made, _ := t.NewCodeFor(Admin)
	return made
}

// NewCodeFor returns a code that signs in one device with that scope, once, within ten
// minutes and while this process lives, and when it expires. It belongs in the fragment
// of a URL, which browsers do not send: "/#code=" + code. If there are too many codes,
// the oldest is dropped.
func (t *Tokens) NewCodeFor(scope Scope) (string, time.Time) {
	secret := newSecret(24)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	var oldest hash
	for h, c := range t.codes {
		if !now.Before(c.expires) {
			delete(t.codes, h)
		} else if first, ok := t.codes[oldest]; !ok || c.expires.Before(first.expires) {
			oldest = h
		}
	}
	if len(t.codes) >= maxCodes {
		delete(t.codes, oldest)
	}
	made := code{expires: now.Add(codeLife), scope: scope}
	t.codes[sha256.Sum256([]byte(secret))] = made
	return secret, made.expires
}

// exchange makes a device token from a code and uses the code up: of several calls with
// one code, at most one succeeds. The token has the code's scope and lasts 90 days; if
// the name is taken, it gets a number. An invalid device name does not use up the code.
func (t *Tokens) exchange(ctx context.Context, secret, device string) (token string, made Token, err error) {
	if err := checkName(device); err != nil {
		return "", Token{}, err
	}
	c, ok := t.spend(secret)
	if !ok {
		return "", Token{}, terret.Errorf(terret.CodeUnauthorized, "the sign-in code is wrong, already used, or older than ten minutes; `terret open` makes a new one")
	}
	return t.create(ctx, Spec{Name: device, Scope: c.scope, Life: deviceLife}, true)
}

func (t *Tokens) spend(secret string) (code, bool) {
	h := hash(sha256.Sum256([]byte(secret[:min(len(secret), maxSecret)])))
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.codes[h]
	delete(t.codes, h)
	return c, ok && time.Now().Before(c.expires)
}
