package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// TestBranch holds that the header says where the branch stands, as far as there is room,
// and that the server is asked again after each turn.
func TestBranch(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 140, 30, "none", story().events[:5])
	s := connectedTo(t, m)
	s.reply = map[string]string{"GET /v1/sessions/s1/branch": `{"branch":"fix/\u001b[31mlogin","upstream":{"branch":"origin/fix","ahead":2,"behind":1},"operation":"rebase"}`}
	m.live = &stream{out: make(chan arrival)}
	close(m.live.out)
	asked := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.ContainsFunc(s.said, func(x string) bool { return strings.HasPrefix(x, "GET /v1/sessions/s1/branch") })
	}
	heard := func(d terret.Data) {
		perform(m, m.update(batch{stream: m.live, events: []terret.Event{{Seq: m.conv.seq + 1, Session: "s1", Turn: "t1", Actor: terret.ActorRoot, Data: d}}}))
	}
	if heard(terret.ToolPost{ToolID: "x"}); asked() {
		t.Error("git is asked in the middle of a turn")
	}
	if heard(terret.TurnComplete{}); !asked() {
		t.Error("git is not asked after a turn")
	}
	head, _, _ := strings.Cut(seen(t, m), "\n")
	if want := "fix flaky login  api  fix/␛[31mlogin ↑2 ↓1 rebase  "; !strings.Contains(head, want) {
		t.Errorf("the header is %q, without %q", head, want)
	}
	m.width = 80
	if head, _, _ := strings.Cut(seen(t, m), "\n"); strings.Contains(head, "api") || !strings.Contains(head, "fix flaky login") {
		t.Errorf("on a narrow terminal: %q", head)
	}
	m.width, m.branch = 140, client.Branch{Head: "0123456789abcdef"}
	if head, _, _ := strings.Cut(seen(t, m), "\n"); !strings.Contains(head, "api  at 0123456 ") {
		t.Errorf("without a branch: %q", head)
	}
}
