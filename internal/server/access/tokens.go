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
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/terret-dev/terret"
)

// Token limits.
const (
	maxTokens  = 1000
	maxName    = 64  // characters
	maxSecret  = 512 // bytes; longer ones are ignored
	minSecret  = 32  // bytes, for an admin token that a person wrote
	deviceLife = 90 * 24 * time.Hour
	usedEvery  = time.Minute // how often LastUsedAt is updated
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

// Token is what we know about a token, except the token itself.
type Token struct {
	Name       string      `json:"name"`
	Scope      Scope       `json:"scope"`
	Session    string      `json:"session,omitempty"` // the only one it is valid for
	Device     bool        `json:"device,omitempty"`  // made in exchange for a code
	CreatedAt  terret.Time `json:"created_at"`
	LastUsedAt terret.Time `json:"last_used_at,omitzero"` // to the minute
	ExpiresAt  terret.Time `json:"expires_at,omitzero"`
}

func (t Token) expired(now time.Time) bool {
	return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt.Time)
}

// Tokens are the tokens of one Terret home. It is safe for concurrent use, even by
// several processes. It holds no open files and needs no closing.
type Tokens struct {
	dir    string
	shared Shared // nil: the list is a file
	admin  hash

	changes atomic.Int64 // of the shared list, made by this process

	mu    sync.Mutex // guards file and codes
	file  cached
	codes codes // of this process
}

// Open reads the tokens of a Terret home and creates the admin token if there is none.
// It refuses files that others could read, and says how to fix them.
func Open(home string) (*Tokens, error) {
	t := &Tokens{dir: home, codes: codes{}}
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

// Shared keeps documents that all nodes of a fleet see; see terret.Fleet.
type Shared interface {
	Document(ctx context.Context, name string) ([]byte, error)
	ChangeDocument(ctx context.Context, name string, fn func(old []byte) ([]byte, error)) error
}

// OpenShared is Open for a node of a fleet: all nodes share the tokens, except the admin
// token, which each has for itself.
func OpenShared(home string, s Shared) (*Tokens, error) {
	t, err := Open(home)
	if err == nil {
		t.shared, t.file = s, cached{} // which was the file's
	}
	return t, err
}

// AdminPath is the path of the admin token.
func (t *Tokens) AdminPath() string { return filepath.Join(t.dir, adminFile) }

// AdminToken reads the admin token.
func (t *Tokens) AdminToken() (string, error) { return readAdmin(t.AdminPath()) }

// Spec describes a token to create.
type Spec struct {
	Name    string        `json:"name"`
	Scope   Scope         `json:"scope"`
	Session string        `json:"session,omitempty"` // the only session it is valid for
	Life    time.Duration `json:"-"`                 // zero: until revoked
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
		return terret.Invalid("session", "an admin token is valid for all sessions; use view, prompt or decide for one session")
	case s.Life < 0:
		return terret.Invalid("life", "%s must not be negative", s.Life)
	}
	return nil
}

// checkName rejects names that could be misread.
func checkName(name string) error {
	switch {
	case name == "":
		return terret.Invalid("name", "a token needs a name, which the log uses for whoever uses the token")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return terret.Invalid("name", "%q contains unprintable characters", name)
	case utf8.RuneCountInString(name) > maxName:
		return terret.Invalid("name", "it must not be longer than %d characters", maxName)
	case terret.CheckWord("name", name) != nil || strings.TrimSpace(name) != name:
		return terret.Invalid("name", "%q begins with a dash, or begins or ends with a space", name)
	case strings.EqualFold(name, adminName):
		return terret.Invalid("name", "%q is reserved for the token in $TERRET_HOME/token; choose another name", name)
	}
	return nil
}

// Create makes a token. It returns the secret once and stores it nowhere. The error is
// a conflict if the name is taken.
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
			return nil, terret.Errorf(terret.CodeConflict, "there already is a token %q; choose another name, or remove it with `terret token rm`", made.Name)
		case len(list) >= maxTokens:
			return nil, terret.Errorf(terret.CodeConflict, "there are already %d tokens, the maximum; remove some with `terret token rm`", len(list))
		}
		return append(list, stored{Token: made, Hash: sha256.Sum256([]byte(secret))}), nil
	})
	if err != nil {
		return "", Token{}, err
	}
	return secret, made, nil
}

// freeName appends a number to a name that is taken.
func freeName(name string, taken func(string) bool) string {
	free := name
	for n := 2; taken(free); n++ {
		suffix := fmt.Sprintf(" %d", n)
		runes := []rune(name)
		free = strings.TrimSpace(string(runes[:min(len(runes), maxName-len(suffix))])) + suffix
	}
	return free
}

// List returns the tokens that have not expired, in the order they were made. The admin
// token is not among them.
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

// Revoke makes a token invalid, in all processes of this machine from now on, on other
// nodes of a fleet within a second. Its open streams end when their server next calls
// [Tokens.Valid].
func (t *Tokens) Revoke(ctx context.Context, name string) error {
	if name == adminName {
		return terret.Invalid("name", "the admin token cannot be revoked, only replaced: stop the server, remove %s, and start it again", t.AdminPath())
	}
	return t.change(ctx, func(list []stored) ([]stored, error) {
		left := slices.DeleteFunc(slices.Clone(list), func(s stored) bool { return s.Name == name })
		if len(left) == len(list) {
			return nil, terret.Errorf(terret.CodeNotFound, "there is no token %q; `terret token ls` lists them", name)
		}
		return left, nil
	})
}

// authenticate returns whose token it is. The time it takes does not depend on the
// token. The error is unauthorized for a token that is unknown, expired or revoked, and
// internal if the list cannot be read.
func (t *Tokens) authenticate(ctx context.Context, secret string) (Identity, error) {
	if len(secret) > maxSecret {
		return Identity{}, errUnauthorized()
	}
	return t.find(ctx, sha256.Sum256([]byte(secret)))
}

// Valid returns nil if the identity's token would still be accepted. The server
// of a stream calls it from time to time.
func (t *Tokens) Valid(ctx context.Context, id Identity) error {
	now, err := t.find(ctx, id.hash)
	if err == nil && (now.Name != id.Name || now.Scope != id.Scope || now.Session != id.Session) {
		err = errUnauthorized()
	}
	return err
}

func (t *Tokens) find(ctx context.Context, h hash) (Identity, error) {
	if subtle.ConstantTimeCompare(t.admin[:], h[:]) == 1 {
		return Identity{Name: adminName, Scope: Admin, hash: h}, nil
	}
	arrived := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	list, err := t.load()
	found := search(list, h)
	if err == nil && found < 0 && t.shared != nil && !t.file.read.After(arrived) {
		list, err = t.loadAfter(ctx, arrived)
		found = search(list, h)
	}
	switch {
	case err != nil:
		return Identity{}, terret.Errorf(terret.CodeInternal, "cannot read the list of tokens; run `terret token ls` on the server's machine to see why")
	case found < 0 || list[found].expired(time.Now()):
		return Identity{}, errUnauthorized()
	}
	s := list[found]
	t.noteUse(s.Token)
	return Identity{Name: s.Name, Scope: s.Scope, Session: s.Session, Device: s.Device, hash: h}, nil
}

// search compares with all tokens, even after a match.
func search(list []stored, h hash) (found int) {
	found = -1
	for i, s := range list {
		if subtle.ConstantTimeCompare(s.Hash[:], h[:]) == 1 {
			found = i
		}
	}
	return found
}

// newSecret returns n random bytes in base64url.
func newSecret(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}
