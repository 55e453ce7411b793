package opencode

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// sent is what the server was sent for a turn: the fake says it.
func (s *setup) sent(begin func() error) string {
	s.t.Helper()
	s.host.note(func() { s.host.events = nil })
	if err := begin(); err != nil {
		s.t.Fatal(err)
	}
	end, ok := s.ended().Data.(terret.TurnComplete)
	if !ok {
		s.t.Fatalf("the turn failed:\n%s", strings.Join(story(s.host.events), "\n"))
	}
	return end.Text
}

func TestSetPermissionMode(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	a := s.open()
	prompt := func() error {
		return a.Prompt(t.Context(), "trn_1", terret.Prompt{MessageID: "msg_1", Blocks: []terret.Block{terret.Text("body")}}, s.req.Settings)
	}
	for _, c := range []struct {
		mode string
		ok   bool
		want string
	}{{"none", false, "build"}, {"reckless", false, "build"}, {"plan", true, "plan"}, {"none", false, "plan"}, {"default", true, "build"}} {
		if err := a.SetPermissionMode(t.Context(), c.mode); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.mode, err)
		}
		if got := s.sent(prompt); !strings.Contains(got, `"agent":"`+c.want+`"`) {
			t.Errorf("after %s it works in another role than %s: %s", c.mode, c.want, got)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	a := s.open()
	for _, c := range []struct {
		name string
		in   terret.Settings
		want terret.ErrorCode
	}{
		{"greet", terret.Settings{FallbackModel: "other"}, terret.CodeUnsupported},
		{"greet", terret.Settings{Model: "unknown"}, terret.CodeModelNotFound},
		{"none", terret.Settings{}, terret.CodeNotFound},
		{"rush", terret.Settings{}, terret.CodeForbidden}, // its agent would not ask
	} {
		if err := a.Command(t.Context(), "trn_1", c.name, "", c.in); terret.AsError(err) == nil || terret.AsError(err).Code != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	for _, c := range []struct {
		name string
		in   terret.Settings
		want string
	}{
		{"greet", terret.Settings{}, `{"agent":"build","arguments":"a b","command":"greet"}`},
		{"greet", terret.Settings{Model: "m1", Effort: "high"}, `{"agent":"build","arguments":"a b","command":"greet","model":"fake/m1","variant":"high"}`},
		{"review", terret.Settings{}, `{"arguments":"a b","command":"review"}`}, // it names its agent itself
	} {
		if got := s.sent(func() error { return a.Command(t.Context(), "trn_1", c.name, "a b", c.in) }); got != c.want {
			t.Errorf("%s: the server was sent %s, want %s", c.name, got, c.want)
		}
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Command(t.Context(), "trn_2", "greet", "", terret.Settings{}); !errors.Is(err, terret.ErrClosed) {
		t.Errorf("a closed agent: %v", err)
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	a := s.open()
	if err := a.Compact(t.Context(), "trn_1", "", terret.Settings{}); !errors.Is(err, terret.ErrInvalid) {
		t.Errorf("without a model: %v", err)
	}
	for _, instructions := range []string{"", "keep the names"} {
		got := s.sent(func() error { return a.Compact(t.Context(), "trn_1", instructions, terret.Settings{Model: "m1"}) })
		if want := `{"modelID":"m1","providerID":"fake"}`; got != want {
			t.Errorf("the server was sent %s, want %s", got, want)
		}
		s.host.mu.Lock()
		warned := slices.ContainsFunc(s.host.events, func(ev terret.Event) bool {
			d, ok := ev.Data.(terret.DiagWarning)
			return ok && strings.Contains(d.Text, "keep the names")
		})
		s.host.mu.Unlock()
		if warned != (instructions != "") {
			t.Errorf("%q: it is told that they are not heeded: %v", instructions, warned)
		}
	}
}

func TestRename(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	a := s.open()
	at := a.Current()
	for _, title := range []string{"New", ""} { // the agent would take an empty one for none
		if err := a.Rename(t.Context(), title); err != nil {
			t.Fatal(err)
		}
		var info sessionInfo
		if err := at.c.get(t.Context(), "/session/ses_1", &info); err != nil || info.Title != "New" {
			t.Errorf("after %q the title is %q (%v)", title, info.Title, err)
		}
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Rename(t.Context(), "Newer"); err != nil {
		t.Errorf("an agent without a server: %v", err)
	}
}

// TestFork is where a copy of the session ends: after the message that was named, and
// never after what was taken back.
func TestFork(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	a := s.open()
	for _, text := range []string{"hello", "more"} {
		s.host.note(func() { s.host.events = nil })
		s.run(a, text)
	}
	all, err := a.Current().c.messages(t.Context(), "ses_1", 0)
	if err != nil || len(all) != 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	id := func(i int) string { return all[i].Info.ID }
	forks := func(when string, want map[string]string) {
		for message, before := range want {
			if got, err := a.Fork(t.Context(), message); err != nil || got != "ses_before_"+before {
				t.Errorf("%s, a copy up to %q: %s, want one that ends before %q (%v)", when, message, got, before, err)
			}
		}
	}
	forks("whole", map[string]string{"": "", id(0): id(1), id(2): id(3), id(3): ""})
	if _, err := a.Fork(t.Context(), "msg_none"); !errors.Is(err, terret.ErrNotFound) {
		t.Errorf("up to a message that is not known: %v", err)
	}
	if err := a.Rewind(t.Context(), id(2)); err != nil {
		t.Fatal(err)
	}
	forks("taken back", map[string]string{"": id(2), id(0): id(1), id(1): id(2), id(2): id(2), id(3): id(2)})
}
