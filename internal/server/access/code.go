package access

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/terret-dev/terret"
)

// Limits of codes.
const (
	codeLife = 10 * time.Minute
	maxCodes = 64
)

// sharedCodes is the document in which the nodes of a fleet keep codes.
const sharedCodes = "sign-in codes"

// code is what a code is good for.
type code struct {
	Expires time.Time `json:"expires"`
	Scope   Scope     `json:"scope"`
}

// codes are unused codes, by the hashes of what a person has.
type codes map[hash]code

// add adds a code. Those that have expired go, and the oldest if there are too many.
func (all codes) add(secret string, c code) {
	now := time.Now()
	var oldest hash
	for h, c := range all {
		if !now.Before(c.Expires) {
			delete(all, h)
		} else if first, ok := all[oldest]; !ok || c.Expires.Before(first.Expires) {
			oldest = h
		}
	}
	if len(all) >= maxCodes {
		delete(all, oldest)
	}
	all[sha256.Sum256([]byte(secret))] = c
}

// spend removes a code, and reports whether it was good.
func (all codes) spend(secret string) (code, bool) {
	h := hash(sha256.Sum256([]byte(secret[:min(len(secret), maxSecret)])))
	c, ok := all[h]
	delete(all, h)
	return c, ok && time.Now().Before(c.Expires)
}

// NewCode returns a code that signs in one device that may do everything, in this process
// only. See [Tokens.NewCodeFor].
func (t *Tokens) NewCode() string {
	secret := newSecret(24)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.codes.add(secret, code{time.Now().Add(codeLife), Admin})
	return secret
}

// NewCodeFor returns a code that signs in one device with that scope, once, within ten
// minutes, and when it expires: while this process lives, or at any node of a fleet. It
// belongs in the fragment of a URL, which browsers do not send: "/#code=" + code. If there
// are too many codes, the oldest is dropped.
func (t *Tokens) NewCodeFor(ctx context.Context, scope Scope) (string, time.Time, error) {
	secret, made := newSecret(24), code{time.Now().Add(codeLife), scope}
	if t.shared != nil {
		err := t.changeCodes(ctx, func(all codes) { all.add(secret, made) })
		return secret, made.Expires, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.codes.add(secret, made)
	return secret, made.Expires, nil
}

// changeCodes changes the codes of the fleet. It may call fn several times.
func (t *Tokens) changeCodes(ctx context.Context, fn func(codes)) error {
	return t.shared.ChangeDocument(ctx, sharedCodes, func(old []byte) ([]byte, error) {
		all := readCodes(old)
		fn(all)
		return json.Marshal(all)
	})
}

// readCodes reads the codes of a fleet. Those that cannot be read are lost: they are good
// for minutes only.
func readCodes(text []byte) codes {
	var all codes
	if json.Unmarshal(text, &all) != nil || all == nil {
		return codes{}
	}
	return all
}

// exchange makes a device token from a code and uses the code up: of several calls with
// one code, at most one succeeds. The token has the code's scope and lasts 90 days; if
// the name is taken, it gets a number. An invalid device name does not use up the code.
func (t *Tokens) exchange(ctx context.Context, secret, device string) (token string, made Token, err error) {
	if err := checkName(device); err != nil {
		return "", Token{}, err
	}
	c, ok, err := t.spend(ctx, secret)
	if err != nil {
		return "", Token{}, err
	}
	if !ok {
		return "", Token{}, terret.Errorf(terret.CodeUnauthorized, "the sign-in code is wrong, already used, or older than ten minutes; `terret open` makes a new one")
	}
	return t.create(ctx, Spec{Name: device, Scope: c.Scope, Life: deviceLife}, true)
}

func (t *Tokens) spend(ctx context.Context, secret string) (c code, ok bool, err error) {
	t.mu.Lock()
	c, ok = t.codes.spend(secret)
	t.mu.Unlock()
	if ok || t.shared == nil {
		return c, ok, nil
	}
	text, err := t.shared.Document(ctx, sharedCodes)
	if err != nil {
		return c, false, err
	}
	if _, there := readCodes(text).spend(secret); !there {
		return c, false, nil // so guessing changes nothing
	}
	err = t.changeCodes(ctx, func(all codes) { c, ok = all.spend(secret) })
	return c, ok && err == nil, err
}
