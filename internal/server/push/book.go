package push

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/document"
)

// Limits of a book.
const (
	maxOwn      = 10  // subscriptions of one token; the oldest makes room
	maxAll      = 200 // of all tokens
	bookVersion = 1
)

const (
	bookName = "push" // of the file, without .json
	bookFile = bookName + ".json"
)

// Book keeps the server's key and the subscriptions: in push.json, which only its owner may
// read, or in the database of a fleet. It is safe for concurrent use, even by several
// processes.
type Book struct {
	Home   string
	Shared document.Shared // nil: the book is a file in Home
}

// Subscription is a browser that wants to be told.
type Subscription struct {
	Endpoint string `json:"endpoint"`
	P256DH   string `json:"p256dh"`
	Auth     string `json:"auth"`
	// Owner is the mark of the token that it belongs to, Name the token's name, and Node
	// the node that knows the token if others do not. SeenAt is about when that node was
	// last there; zero if nobody has looked.
	Owner     string      `json:"owner"`
	Name      string      `json:"name"`
	Node      string      `json:"node,omitempty"`
	SeenAt    terret.Time `json:"seen_at,omitzero"`
	CreatedAt terret.Time `json:"created_at"`
}

// ID names a subscription without telling its endpoint, which is a secret: one can send to
// a browser whose endpoint one knows.
func (s Subscription) ID() string {
	sum := sha256.Sum256([]byte(s.Endpoint))
	return hex.EncodeToString(sum[:])
}

// page is what a book holds. The keys are those of RFC 8292, in base64url.
type page struct {
	Version       int            `json:"version"`
	PublicKey     string         `json:"public_key"`
	PrivateKey    string         `json:"private_key"`
	Subscriptions []Subscription `json:"subscriptions"`
}

func parse(raw []byte) (page, error) {
	var p page
	if raw == nil {
		return p, nil
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, terret.Errorf(terret.CodeStartupRefused, "%s, which keeps who wants notifications, is damaged (%w); remove it, and turn notifications on again on each device", bookFile, err)
	}
	if p.Version != bookVersion {
		return p, terret.Errorf(terret.CodeStartupRefused, "%s has version %d, but this terret supports version %d; use the terret that wrote it", bookFile, p.Version, bookVersion)
	}
	return p, nil
}

func (b *Book) document() document.Document {
	return document.Document{Name: bookName, What: "who wants notifications", Home: b.Home, Shared: b.Shared}
}

// read returns what the book holds. An empty book has no key.
func (b *Book) read(ctx context.Context) (page, error) {
	raw, err := b.document().Read(ctx)
	if err != nil {
		return page{}, err
	}
	return parse(raw)
}

// change replaces what the book holds by what fn makes of it, with nobody in between, and
// gives it a key if it has none.
func (b *Book) change(ctx context.Context, fn func(*page) error) (out page, err error) {
	err = b.document().Change(ctx, func(old []byte) ([]byte, error) {
		p, err := parse(old)
		if err != nil {
			return nil, err
		}
		if p.PrivateKey == "" {
			key, err := ecdh.P256().GenerateKey(rand.Reader)
			if err != nil {
				return nil, err
			}
			encode := base64.RawURLEncoding.EncodeToString
			p.Version, p.PublicKey, p.PrivateKey = bookVersion, encode(key.PublicKey().Bytes()), encode(key.Bytes())
		}
		p.Subscriptions = slices.Clone(p.Subscriptions)
		if err := fn(&p); err != nil {
			return nil, err
		}
		out = p
		return json.Marshal(p)
	})
	return out, err
}

// Own returns the public key, which is made when it is first asked for, and the
// subscriptions of one token, the oldest first.
func (b *Book) Own(ctx context.Context, owner string) (key string, own []Subscription, err error) {
	p, err := b.read(ctx)
	if err == nil && p.PublicKey == "" {
		p, err = b.change(ctx, func(*page) error { return nil })
	}
	return p.PublicKey, slices.DeleteFunc(p.Subscriptions, func(s Subscription) bool { return s.Owner != owner }), err
}

// Any reports whether there is a subscription.
func (b *Book) Any(ctx context.Context) (bool, error) {
	p, err := b.read(ctx)
	return len(p.Subscriptions) > 0, err
}

// Put adds a subscription, or renews it. A caller with all of a browser's secrets is that
// browser, which may have signed in again. One that knows only the endpoint is refused.
func (b *Book) Put(ctx context.Context, s Subscription) error {
	_, err := b.put(ctx, s)
	return err
}

func (b *Book) put(ctx context.Context, s Subscription) (full bool, err error) {
	if err := s.check(); err != nil {
		return false, err
	}
	_, err = b.change(ctx, func(p *page) error {
		at := slices.IndexFunc(p.Subscriptions, func(o Subscription) bool { return o.Endpoint == s.Endpoint })
		if at >= 0 {
			old := p.Subscriptions[at]
			if old.P256DH != s.P256DH || old.Auth != s.Auth {
				return terret.Errorf(terret.CodeConflict, "another browser has subscribed with this endpoint")
			}
			if old.Owner == s.Owner {
				s.CreatedAt = old.CreatedAt
			}
			p.Subscriptions[at] = s
			return nil
		}
		own := func(o Subscription) bool { return o.Owner == s.Owner }
		for count(p.Subscriptions, own) >= maxOwn {
			oldest := slices.IndexFunc(p.Subscriptions, own)
			p.Subscriptions = slices.Delete(p.Subscriptions, oldest, oldest+1)
		}
		if full = len(p.Subscriptions) >= maxAll; full {
			return terret.Errorf(terret.CodeConflict, "there are already %d browsers that get notifications, the maximum; turn them off on one of them, or sign it out", maxAll)
		}
		p.Subscriptions = append(p.Subscriptions, s)
		return nil
	})
	return full, err
}

func count(list []Subscription, which func(Subscription) bool) (n int) {
	for _, s := range list {
		if which(s) {
			n++
		}
	}
	return n
}

// Remove forgets subscriptions, and reports how many.
func (b *Book) Remove(ctx context.Context, which func(Subscription) bool) (removed int, err error) {
	_, err = b.change(ctx, func(p *page) error {
		before := len(p.Subscriptions)
		p.Subscriptions = slices.DeleteFunc(p.Subscriptions, which)
		removed = before - len(p.Subscriptions)
		return nil
	})
	return removed, err
}
