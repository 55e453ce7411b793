package push_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret/internal/server/push"
	"github.com/terret-dev/terret/internal/test/pushtest"
)

// TestRetire holds that the subscriptions of a node stay for 30 days after it was last
// there, and those of tokens that all nodes know for ever.
func TestRetire(t *testing.T) {
	t.Parallel()
	service := pushtest.New(t)
	browsers := []*pushtest.Browser{service.Browser(), service.Browser(), service.Browser()}
	synctest.Test(t, func(t *testing.T) {
		fleet := &documents{all: map[string][]byte{}}
		book := &push.Book{Shared: fleet}
		for i, node := range []string{"", "a", "b"} {
			s := subscription(browsers[i], "of "+node)
			s.Node = node
			if err := book.Put(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		there := []string{"a", "b"}
		step := func(after time.Duration, want ...string) {
			t.Helper()
			time.Sleep(after)
			if err := book.Retire(t.Context(), func(node string) bool { return slices.Contains(there, node) }); err != nil {
				t.Fatal(err)
			}
			for _, node := range []string{"", "a", "b"} {
				if _, own, err := book.Own(t.Context(), "of "+node); err != nil || (len(own) == 1) != slices.Contains(want, node) {
					t.Errorf("after %s node %q has %d, %v", after, node, len(own), err)
				}
			}
		}
		const day = 24 * time.Hour
		there = []string{"a"} // nobody has noted b yet, which was there until now
		step(100*day, "", "a", "b")
		there = []string{"a", "b"}
		step(40*day, "", "a", "b")
		there = []string{"a"}
		step(30*day-1, "", "a", "b")
		before := string(fleet.all["push"])
		step(0, "", "a", "b")
		if string(fleet.all["push"]) != before {
			t.Error("what is noted already is written again")
		}
		step(1, "", "a")
		there = nil
		step(29*day, "", "a")
		step(day, "")
	})
}
