package push

import (
	"context"
	"slices"
	"time"

	"github.com/terret-dev/terret"
)

const (
	missingFor = 30 * 24 * time.Hour // then a node is not coming back
	noteSeen   = 24 * time.Hour      // how old a note may be that a node was there
)

// Retire forgets the subscriptions of nodes that have not been there for long, and notes
// that others are. Only a node itself could say that its token has ended.
func (b *Book) Retire(ctx context.Context, there func(node string) bool) error {
	now := terret.Now()
	since := func(s Subscription) time.Duration { return now.Sub(s.SeenAt.Time) }
	lost := func(s Subscription) bool {
		return s.Node != "" && !there(s.Node) && !s.SeenAt.IsZero() && since(s) >= missingFor
	}
	seen := func(s Subscription) bool {
		return s.Node != "" && (there(s.Node) || s.SeenAt.IsZero()) && since(s) >= noteSeen
	}
	p, err := b.read(ctx)
	if err != nil || !slices.ContainsFunc(p.Subscriptions, func(s Subscription) bool { return lost(s) || seen(s) }) {
		return err
	}
	_, err = b.change(ctx, func(p *page) error {
		p.Subscriptions = slices.DeleteFunc(p.Subscriptions, lost)
		for i, s := range p.Subscriptions {
			if seen(s) {
				p.Subscriptions[i].SeenAt = now
			}
		}
		return nil
	})
	return err
}
