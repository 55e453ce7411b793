package journal

import (
	"testing"

	"github.com/terret-dev/terret"
)

// TestHoldsMore holds which batches have to be on disk at once.
func TestHoldsMore(t *testing.T) {
	t.Parallel()
	piece := terret.Event{Data: terret.MessageDelta{Text: "piece"}}
	asks := terret.Event{Data: terret.MessageDelta{Text: "piece"}, Expects: &terret.Expects{Gate: terret.GateStop}}
	for name, c := range map[string]struct {
		batch terret.Batch
		more  bool
	}{
		"a piece":         {terret.Batch{Events: []terret.Event{piece}}, false},
		"and a message":   {terret.Batch{Events: []terret.Event{piece, {Data: terret.MessageComplete{}}}}, true},
		"that asks":       {terret.Batch{Events: []terret.Event{piece, asks}}, true},
		"and a cursor":    {terret.Batch{Events: []terret.Event{piece}, Cursor: []byte("c")}, true},
		"from the inbox":  {terret.Batch{Events: []terret.Event{piece}, Taken: []string{"i"}}, true},
		"and a delivery":  {terret.Batch{Events: []terret.Event{piece}, Delivered: []string{"r"}}, true},
		"and a rule used": {terret.Batch{Events: []terret.Event{piece}, Hits: map[string]int64{"r": 1}}, true},
	} {
		if got := holdsMore(c.batch); got != c.more {
			t.Errorf("%s: %t, want %t", name, got, c.more)
		}
	}
}
