package claude

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

func TestControls(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.open()
	models, err := a.Models(t.Context())
	if diff := cmp.Diff([]terret.Model{{ID: "opus", Name: "Opus", Efforts: []string{"low", "high"}}}, models); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	commands, err := a.Commands(t.Context())
	if diff := cmp.Diff([]terret.Command{{Name: "compact", Description: "Make it short", Hint: "<what>"}}, commands); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	usage, err := a.Context(t.Context())
	if diff := cmp.Diff(terret.ContextUsage{Used: 10, Max: 100, Parts: []terret.ContextPart{{Name: "Messages", Tokens: 7}}}, usage); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if err := a.Rename(t.Context(), "A title"); err != nil {
		t.Error(err)
	}
	if err := a.Rename(t.Context(), "refuse"); kindOf(err) != terret.CodeConflict || strings.Contains(err.Error(), canary) {
		t.Errorf("%v", err)
	}
	if err := a.Compact(t.Context(), "t", "the colours", terret.Settings{}); err != nil {
		t.Error(err)
	}
	s.complete(s.end(0), "You said /compact the colours")
	if err := a.Command(t.Context(), "t", "no such name", "", terret.Settings{}); kindOf(err) != terret.CodeInvalidRequest {
		t.Errorf("%v", err)
	}
	s.says(a, "clear", "cleared")
	ids := all[terret.SessionNativeID](s.host.said())
	if len(ids) != 2 || ids[1].Reason != "clear" {
		t.Errorf("%+v", ids)
	}
	s.says(s.reopen(a), "session", ids[1].New)
}

type calculator struct{}

func (calculator) Serve(_ context.Context, message json.RawMessage) (json.RawMessage, error) {
	if strings.Contains(string(message), "tools/list") {
		return json.RawMessage(`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`), nil
	}
	return nil, nil
}

// TestUntestedVersion holds that a session says at its start that its agent's version was
// not tested, once, and works.
func TestUntestedVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"": "", newestTested: "", oldestTested: "", "9.1.0": "9.1.0 is newer", "2.1.9": "2.1.9 is older",
	} {
		s := newSetup(t, "talk", func(s *setup) { s.req.Env = append(s.req.Env, versionEnv+"="+version) })
		a := s.open()
		s.says(a, "hello", "You said hello ")
		s.says(a, "again", "You said again ")
		warned := all[terret.DiagWarning](s.host.said())
		if want == "" && len(warned) != 0 || want != "" && (len(warned) != 1 || !strings.Contains(warned[0].Text, want)) {
			t.Errorf("version %q: %+v", version, warned)
		}
	}
}

// TestRedoIsOurs holds that Claude Code is not said to go forward again itself: the
// driver remembers where it was. The other seven things that Hive asks of an agent it does.
func TestRedoIsOurs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name terret.Capability
		want terret.Provider
	}{
		{terret.CanUndo, terret.ByAgent},
		{terret.CanRedo, terret.ByDriver},
		{terret.CanCommands, terret.ByAgent},
		{terret.CanPermissions, terret.ByAgent},
		{terret.CanQuestions, terret.ByAgent},
		{terret.CanSelectModel, terret.ByAgent},
		{terret.CanReconnect, terret.ByAgent},
		{terret.CanStream, terret.ByAgent},
	} {
		if got := capabilities().Abilities[c.name]; !got.OK || got.By != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "servers", inForce(func(in *terret.Settings) {
		in.MCP = terret.JSON(`{"mcpServers":{"web":{"type":"http","url":"http://x","headers":{"Authorization":"` + canary + `"}}}}`)
	}))
	s.d.cfg.Servers = map[string]MCPServer{"calc": calculator{}}
	a := s.open()
	s.says(a, "servers", `[{"request_id":"mcp-calc","response":{"mcp_response":{"id":1,"jsonrpc":"2.0","result":{"tools":[]}}},"subtype":"success"},`+
		`{"error":"there is no server \"unknown\"","request_id":"mcp-unknown","subtype":"error"},`+
		`{"request_id":"too-soon","response":{"behavior":"deny","message":"the session has not begun"},"subtype":"success"}]`)
	st := s.starts()[0]
	want := `{"mcpServers":{"calc":{"name":"calc","type":"sdk"},"web":{"type":"http","url":"http://x","headers":{"Authorization":"` + canary + `"}}}}`
	if st.Config != want || st.Secret != 0o600 {
		t.Errorf("%s, %v", st.Config, st.Secret)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	a := s.open()
	if _, err := a.Fork(t.Context(), ""); kindOf(err) != terret.CodeNotFound {
		t.Errorf("fork of nothing: %v", err)
	}
	prompts := []terret.Prompt{words("one"), words("two"), words("three")}
	for _, p := range prompts {
		s.turn(a, p)
	}
	trunk := all[terret.SessionNativeID](s.host.said())[0].New
	line := func(i int) string { return strings.TrimPrefix(prompts[i].MessageID, terret.PrefixMessage) }
	spoken := all[terret.MessageComplete](s.host.said())[1].MessageID
	for message, want := range map[string]string{
		"": trunk + "@", prompts[1].MessageID: trunk + "@" + line(1), spoken: trunk + "@" + strings.TrimPrefix(spoken, "msg_api_"),
		spoken + "#2": trunk + "@" + strings.TrimPrefix(spoken, "msg_api_"),
	} {
		if got, err := a.Fork(t.Context(), message); err != nil || got != want {
			t.Errorf("fork at %q is %q, not %q: %v", message, got, want, err)
		}
	}
	if _, err := a.Fork(t.Context(), "msg_unknown"); kindOf(err) != terret.CodeNotFound {
		t.Errorf("%v", err)
	}
	if err := a.Forward(t.Context()); kindOf(err) != terret.CodeConflict {
		t.Errorf("forward from the end: %v", err)
	}
	// Back over two turns, forward over one, over a restart.
	for _, i := range []int{2, 1} {
		if err := a.Rewind(t.Context(), prompts[i].MessageID); err != nil {
			t.Fatal(err)
		}
	}
	a = s.reopen(a)
	if err := a.Forward(t.Context()); err != nil {
		t.Fatal(err)
	}
	a = s.reopen(a)
	end := s.turn(a, words("session"))
	branch := s.newest()
	s.complete(end, branch)
	if branch == trunk {
		t.Fatalf("it is the same session")
	}
	if got := s.uuids(branch); len(got) < 4 || got[0] != line(0) || got[2] != line(1) || slices.Contains(got, line(2)) {
		t.Errorf("the copy holds %q, not %q and %q", got, line(0), line(1))
	}
	if got := s.uuids(trunk); len(got) != 6 {
		t.Errorf("the trunk was changed: %q", got)
	}
	if err := a.Forward(t.Context()); kindOf(err) != terret.CodeConflict {
		t.Errorf("forward after a prompt: %v", err)
	}
	// A prompt of the trunk, in the copy; and all of it.
	if err := a.Rewind(t.Context(), prompts[0].MessageID); err != nil {
		t.Fatal(err)
	}
	if s.newest() != branch+"@0" {
		t.Errorf("went back to %s", s.newest())
	}
	if got, err := a.Fork(t.Context(), ""); err != nil || got != branch+"@0" {
		t.Errorf("fork of nothing left: %q, %v", got, err)
	}
	s.complete(s.turn(a, words("session")), s.newest())
	if got := s.uuids(s.newest()); len(got) != 2 {
		t.Errorf("it does not begin anew: %q", got)
	}
	if err := a.Rewind(t.Context(), "msg_unknown"); kindOf(err) != terret.CodeNotFound {
		t.Errorf("%v", err)
	}
}

// newest is the agent's own session as the log knows it.
func (s *setup) newest() string {
	ids := all[terret.SessionNativeID](s.host.said())
	return ids[len(ids)-1].New
}

// uuids are those of the lines in the record of a session.
func (s *setup) uuids(id string) (out []string) {
	s.t.Helper()
	home := filepath.Dir(s.record)
	b, err := os.ReadFile(filepath.Join(home, ".claude", "projects", "folder", id+".jsonl"))
	if err != nil {
		s.t.Error(err)
	}
	for line := range strings.Lines(string(b)) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			s.t.Fatal(err)
		}
		out = append(out, r.UUID)
	}
	return out
}

func TestBefore(t *testing.T) {
	t.Parallel()
	at := func(kind, id, parent string) record { return record{Type: kind, UUID: id, Parent: parent} }
	tests := map[string]struct {
		records []record
		want    string
	}{
		"first":      {[]record{at("user", "p", "")}, fromNothing},
		"answer":     {[]record{at("assistant", "a", ""), at("attachment", "x", "a"), at("user", "p", "x")}, "a"},
		"compacted":  {[]record{at("assistant", "a", ""), at("system", "b", ""), at("user", "summary", "b"), at("user", "p", "summary")}, "summary"},
		"circle":     {[]record{at("attachment", "x", "y"), at("attachment", "y", "x"), at("user", "p", "y")}, fromNothing},
		"lost":       {[]record{at("user", "p", "gone")}, fromNothing},
		"itself":     {[]record{at("user", "p", "p")}, "p"},
		"no parents": {[]record{at("summary", "", ""), at("user", "p", "")}, fromNothing},
	}
	for name, tt := range tests {
		prompt, ok := find(tt.records, "p")
		if got := before(tt.records, prompt); !ok || got != tt.want {
			t.Errorf("%s: %q, not %q", name, got, tt.want)
		}
	}
}
