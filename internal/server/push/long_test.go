package push_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret/internal/server/push"
)

// TestLongest holds that three notes, the most that the server puts into a message, fit
// whatever they are made of.
func TestLongest(t *testing.T) {
	t.Parallel()
	for _, char := range []string{"<", "&", `"`, `\`, "\u00fc", "\U0001f680"} {
		t.Run(char, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				b := f.subscribe("a")
				id := strings.Repeat("0", 36)
				note := push.Note{Title: strings.Repeat(char, 80), Body: strings.Repeat(char, 160), Tag: "ended-" + id, Path: "/s/" + id}
				f.queue.Notes = func(context.Context, push.Subscription, []push.Topic) ([]push.Note, error) {
					return []push.Note{note, note, note}, nil
				}
				defer f.run()()
				f.need("x")
				f.want("three notes", after(4*time.Second, b), note.Title+"+"+note.Title+"+"+note.Title)
			})
		})
	}
}

// TestTooLong holds that what cannot be sent is not tried again, and that what comes later
// does not wait for it.
func TestTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		log := f.logged()
		b := f.subscribe("a")
		defer f.run()()
		f.need(strings.Repeat("x", 5000))
		f.want("too long", after(4*time.Second, b))
		f.wantLines(log, 1)
		f.need("y")
		f.want("the next", after(4*time.Second, b), "y")
		f.want("later", after(time.Hour, b))
	})
}
