package claude_test

import (
	"slices"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/claude"
)

func TestByHand(t *testing.T) {
	t.Parallel()
	want := []string{"claude", "-p", "what's up?", "--output-format=stream-json", "--verbose", "--append-system-prompt-file=.terret/prompts/x.txt"}
	d := claude.New(claude.Config{})
	if got := d.ByHand(terret.Session{}, "what's up?", ".terret/prompts/x.txt"); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	want = append(want, "--resume=n1")
	if got := d.ByHand(terret.Session{NativeID: "n1"}, "what's up?", ".terret/prompts/x.txt"); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
