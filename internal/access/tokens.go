package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/terret-dev/terret"
)

// Limits of tokens.
const (
	maxTokens  = 1000
	maxName    = 64  // characters
	maxSecret  = 512 // bytes; nothing longer is looked at
	minSecret  = 32  // bytes of an admin token that somebody wrote
	deviceLife = 90 * 24 * time.Hour
	usedEvery  = time.Minute // how fresh LastUsedAt is kept
)

// hash is the SHA-256 of a token. In JSON it is hexadecimal.
type hash [sha256.Size]byte

func (h hash) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h[:])), nil }

func (h *hash) UnmarshalText(b []byte) error {
	if len(b) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("a hash has %d digits, not %d", hex.EncodedLen(len(h)), len(b))
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// Token is what is known of a token, except for the token.
type Token struct {
	Name       string      `json:"name"`
	Scope      Scope       `json:"scope"`
	Session    string      `json:"session,omitempty"` // the only one it is for
	Device     bool        `json:"device,omitempty"`  // made for a code
	CreatedAt  terret.Time `json:"created_at"`
	LastUsedAt terret.Time `json:"last_used_at,omitzero"` // to the minute
	ExpiresAt  terret.Time `json:"expires_at,omitzero"`
}

func (t Token) expired(now time.Time) bool {
	return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt.Time)
}

// Tokens are the tokens of one Terret home. It is safe for concurrent use, also
// by several processes. It holds no open files and needs no closing.
type Tokens struct {
	dir   string
	admin hash

	mu    sync.Mutex // of file and codes
	file  cached
	codes map[hash]time.Time // of codes not yet used, to when they expire
}

// Open reads the tokens of a Terret home and makes the admin token if there is
// none. It refuses files that others could read, and says how to mend them.
func Open(home string) (*Tokens, error) {
	t := &Tokens{dir: home, codes: map[hash]time.Time{}}
	if err := makeHome(home); err != nil {
		return nil, err
	}
	secret, err := t.adminSecret()
	if err != nil {
		return nil, err
	}
	t.admin = sha256.Sum256([]byte(secret))
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err = t.load()
	return t, err
}

// AdminPath is where the admin token is.
func (t *Tokens) AdminPath() string { return filepath.Join(t.dir, adminFile) }

// AdminToken reads the admin token.
func (t *Tokens) AdminToken() (string, error) { return readAdmin(t.AdminPath()) }

// Spec is what a token is made of.
type Spec struct {
	Name    string        `json:"name"`
	Scope   Scope         `json:"scope"`
	Session string        `json:"session,omitempty"` // id of the only session it is for
	Life    time.Duration `json:"-"`                 // zero: until it is revoked
}

func (s Spec) check() error {
	if err := checkName(s.Name); err != nil {
		return err
	}
	if _, err := ParseScope(string(s.Scope)); err != nil {
		return err
	}
	switch {
	case s.Session != "" && !terret.ValidID("", s.Session):
		return terret.Invalid("session", "%q is not a session id", s.Session)
	case s.Session != "" && s.Scope == Admin:
		return terret.Invalid("session", "an admin token is for all sessions; choose view, prompt or decide for one session")
	case s.Life < 0:
		return terret.Invalid("life", "%s is less than nothing", s.Life)
	}
	return nil
}

// checkName refuses names that would be taken for something else.
func checkName(name string) error {
	switch {
	case name == "":
		return terret.Invalid("name", "a token needs a name; it is what the log calls whoever uses it")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return terret.Invalid("name", "%q holds characters that cannot be printed", name)
	case utf8.RuneCountInString(name) > maxName:
		return terret.Invalid("name", "it is longer than %d characters", maxName)
	case strings.HasPrefix(name, "-") || strings.TrimSpace(name) != name:
		return terret.Invalid("name", "%q begins with a dash, or begins or ends with a space", name)
	case strings.EqualFold(name, adminName):
		return terret.Invalid("name", "%q is the name of the token in $TERRET_HOME/token; choose another", name)
	}
	return nil
}

// Create makes a token. The secret is returned this once and kept nowhere. The
// error is a conflict if the name is taken.
func (t *Tokens) Create(ctx context.Context, s Spec) (secret string, made Token, err error) {
	if err := s.check(); err != nil {
		return "", Token{}, err
	}
	return t.create(ctx, s, false)
}

func (t *Tokens) create(ctx context.Context, s Spec, device bool) (string, Token, error) {
	secret := newSecret(32)
	made := Token{Name: s.Name, Scope: s.Scope, Session: s.Session, Device: device, CreatedAt: terret.Now()}
	if s.Life > 0 {
		made.ExpiresAt = terret.TimeOf(time.Now().Add(s.Life))
	}
	err := t.change(ctx, func(list []stored) ([]stored, error) {
		taken := func(name string) bool {
			return slices.ContainsFunc(list, func(o stored) bool { return o.Name == name })
		}
		if device {
			made.Name = freeName(s.Name, taken)
		}
		switch {
		case taken(made.Name):
			return nil, terret.Errorf(terret.CodeConflict, "there is a token %q already; choose another name, or remove it with `terret token rm`", made.Name)
		case len(list) >= maxTokens:
			return nil, terret.Errorf(terret.CodeConflict, "there are %d tokens, and no more are kept; remove some with `terret token rm`", len(list))
		}
		return append(list, stored{Token: made, Hash: sha256.Sum256([]byte(secret))}), nil
	})
	if err != nil {
		return "", Token{}, err
	}
	return secret, made, nil
}

// freeName puts a number behind a name that is taken.
func freeName(name string, taken func(string) bool) string {
	free := name
	for n := 2; taken(free); n++ {
		suffix := fmt.Sprintf(" %d", n)
		runes := []rune(name)
		free = strings.TrimSpace(string(runes[:min(len(runes), maxName-len(suffix))])) + suffix
	}
	return free
}

// List returns the tokens that have not expired, in the order in which they were
// made. The admin token is not among them.
func (t *Tokens) List() ([]Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list, err := t.load()
	if err != nil {
		return nil, err
	}
	all := make([]Token, 0, len(list))
	for _, s := range list {
		if !s.expired(time.Now()) {
			all = append(all, s.Token)
		}
	}
	return all, nil
}

// Revoke makes a token invalid, in all processes, from now on. Streams that it
// opened end when their server asks [Tokens.Valid] the next time.
func (t *Tokens) Revoke(ctx context.Context, name string) error {
	if name == adminName {
		return terret.Invalid("name", "the admin token is not revoked but replaced: stop the server, remove %s, and start it again", t.AdminPath())
	}
	return t.change(ctx, func(list []stored) ([]stored, error) {
		left := slices.DeleteFunc(slices.Clone(list), func(s stored) bool { return s.Name == name })
		if len(left) == len(list) {
			return nil, terret.Errorf(terret.CodeNotFound, "there is no token %q; `terret token ls` lists them", name)
		}
		return left, nil
	})
}

// authenticate returns whose token that is. How long it takes does not depend on
// what the token is. The error is of kind unauthorized for a token that is none,
// has expired or was revoked, and internal if the list cannot be read.
func (t *Tokens) authenticate(secret string) (Identity, error) {
	if len(secret) > maxSecret {
		return Identity{}, errUnauthorized()
	}
	return t.find(sha256.Sum256([]byte(secret)))
}

// Valid returns nil if the token that the identity came with would still be
// accepted. Whoever serves a stream asks from time to time.
func (t *Tokens) Valid(id Identity) error {
	now, err := t.find(id.hash)
	if err == nil && (now.Name != id.Name || now.Scope != id.Scope || now.Session != id.Session) {
		err = errUnauthorized()
	}
	return err
}

func (t *Tokens) find(h hash) (Identity, error) {
	found := -1
	t.mu.Lock()
	defer t.mu.Unlock()
	list, err := t.load()
	for i, s := range list { // all of them, whichever matches
		if subtle.ConstantTimeCompare(s.Hash[:], h[:]) == 1 {
			found = i
		}
	}
	switch {
	case subtle.ConstantTimeCompare(t.admin[:], h[:]) == 1:
		return Identity{Name: adminName, Scope: Admin, hash: h}, nil
	case err != nil:
		return Identity{}, terret.Errorf(terret.CodeInternal, "the list of tokens cannot be read; `terret token ls` on the server's machine says why")
	case found < 0 || list[found].expired(time.Now()):
		return Identity{}, errUnauthorized()
	}
	s := list[found]
	t.noteUse(s.Token)
	return Identity{Name: s.Name, Scope: s.Scope, Session: s.Session, Device: s.Device, hash: h}, nil
}

// newSecret returns n random bytes in base64url.
func newSecret(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}
