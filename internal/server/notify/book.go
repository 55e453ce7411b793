package notify

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/document"
)

const (
	bookName    = "notify" // of the file, without .json
	bookFile    = bookName + ".json"
	bookVersion = 1
)

// Book keeps the channels: in notify.json, which only its owner may read, or in the database
// of a fleet. It is safe for concurrent use, even by several processes.
type Book struct {
	Home   string
	Shared document.Shared // nil: the book is a file in Home
}

// Page is what a book holds.
type Page struct {
	Version int `json:"version"`
	// Base is where people reach the server, for links; empty if nobody said.
	Base     string    `json:"base_url,omitempty"`
	Channels []Channel `json:"channels"`
	// Since holds by channel the position in the log after which it is told.
	Since map[string]int64 `json:"since"`
	Key   []byte           `json:"key,omitempty"` // signs answers
}

// Enabled returns the channels that are told, in their order.
func (p Page) Enabled() []Channel {
	return slices.DeleteFunc(slices.Clone(p.Channels), func(c Channel) bool { return c.Disabled })
}

// Channel returns a channel that is told.
func (p Page) Channel(id string) (Channel, bool) {
	i := slices.IndexFunc(p.Channels, func(c Channel) bool { return c.ID == id && !c.Disabled })
	if i < 0 {
		return Channel{}, false
	}
	return p.Channels[i], true
}

func parse(raw []byte) (Page, error) {
	var p Page
	if raw == nil {
		return p, nil
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, terret.Errorf(terret.CodeStartupRefused, "%s, which keeps the channels of notifications, is damaged (%w); remove it, and make them again", bookFile, err)
	}
	if p.Version != bookVersion {
		return p, terret.Errorf(terret.CodeStartupRefused, "%s has version %d, but this terret supports version %d; use the terret that wrote it", bookFile, p.Version, bookVersion)
	}
	return p, nil
}

func (b *Book) document() document.Document {
	return document.Document{Name: bookName, What: "the channels of notifications", Home: b.Home, Shared: b.Shared}
}

// Read returns what the book holds, with its secrets.
func (b *Book) Read(ctx context.Context) (Page, error) {
	raw, err := b.document().Read(ctx)
	if err != nil {
		return Page{}, err
	}
	return parse(raw)
}

// Put replaces all channels. Those that are new, or were disabled, are told what comes after
// the position pos.
func (b *Book) Put(ctx context.Context, base string, channels []Channel, pos int64) error {
	return b.document().Change(ctx, func(old []byte) ([]byte, error) {
		was, err := parse(old)
		if err != nil {
			return nil, err
		}
		next := Page{Version: bookVersion, Base: base, Channels: slices.Clone(channels), Since: map[string]int64{}, Key: was.Key}
		if len(next.Key) == 0 {
			next.Key = make([]byte, 32)
			_, _ = rand.Read(next.Key) // which never fails
		}
		if err := next.check(was); err != nil {
			return nil, err
		}
		for _, c := range next.Channels {
			next.Since[c.ID] = pos
			if _, ok := was.Channel(c.ID); ok {
				next.Since[c.ID] = was.Since[c.ID]
			}
		}
		return json.Marshal(next)
	})
}
