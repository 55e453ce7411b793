package claude

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

// watching is a session in a terminal, and the host that it reports to.
type watching struct {
	t    *testing.T
	d    *Watched
	host *host
	ag   terret.Agent
}

func watch(t *testing.T, agent string, decide func(context.Context, terret.Ask) (terret.Decision, error)) *watching {
	t.Helper()
	w := &watching{t: t, d: NewWatched()[agent], host: &host{changed: make(chan struct{}), decide: decide}}
	var err error
	w.ag, err = w.d.Open(t.Context(), terret.OpenRequest{Session: terret.Session{ID: "s", Cwd: "/home/dev/project"}, Host: w.host, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.ag.Close(context.Background()) })
	return w
}

func (w *watching) report(input string) string {
	w.t.Helper()
	out, err := w.d.Report(w.t.Context(), "s", []byte(input))
	if err != nil {
		w.t.Fatalf("%.200s: %v", input, err)
	}
	return string(out)
}

func (w *watching) kinds() (out []string) {
	for _, ev := range w.host.said() {
		out = append(out, string(ev.Kind()))
	}
	return out
}

// asks waits until somebody has been asked so often.
func (w *watching) asks(n int) {
	for {
		w.host.mu.Lock()
		got, changed := len(w.host.asked), w.host.changed
		w.host.mu.Unlock()
		if got >= n {
			return
		}
		<-changed
	}
}

// TestWatchedAnswers feeds what the hooks of interactive sessions got, and compares what
// they are told with what decided there.
func TestWatchedAnswers(t *testing.T) {
	t.Parallel()
	by := func(d terret.Decision) func(context.Context, terret.Ask) (terret.Decision, error) {
		return func(_ context.Context, q terret.Ask) (terret.Decision, error) {
			d := d
			d.Gate, d.Source = q.Gate, terret.ByUser
			if q.Gate == terret.GateStop {
				d.Behavior = terret.BehaviorPassthrough
			}
			return d, nil
		}
	}
	turn := "session.start hook.event session.updated user.prompt tool.pre message.complete permission.decision notification tool.post hook.event message.complete stop.decision turn.complete session.end"
	for _, c := range []struct {
		name, kinds string
		decision    terret.Decision
	}{
		{"interactive_hooks_permission_allow_late", turn, terret.Decision{Behavior: terret.BehaviorAllow}},
		{"interactive_hooks_permission_deny", "session.start session.updated user.prompt hook.event tool.pre message.complete permission.decision tool.failure hook.event message.complete stop.decision turn.complete session.end", terret.Decision{
			Behavior: terret.BehaviorDeny, Reason: "Denied remotely.",
		}},
		{"interactive_hooks_ask_permissionrequest", strings.NewReplacer("permission.decision notification", "question.decision").Replace(turn), terret.Decision{
			Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"q1": {"Blue"}},
		}},
	} {
		w := watch(t, "claude", by(c.decision))
		var got, want []any
		for _, r := range rowsOf(t, c.name) {
			var said any
			if r.Dir == "in" {
				if err := json.Unmarshal(r.Line, &said); err != nil {
					t.Fatal(err)
				}
				want = append(want, said)
			} else if out := w.report(string(r.Line)); out != "" {
				if err := json.Unmarshal([]byte(out), &said); err != nil {
					t.Fatal(err)
				}
				got = append(got, said)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the hooks are told %v, want %v", c.name, got, want)
		}
		if kinds := strings.Join(w.kinds(), " "); kinds != c.kinds {
			t.Errorf("%s: the log has\n%s\nwant\n%s", c.name, kinds, c.kinds)
		}
	}
}

func rowsOf(t *testing.T, name string) []row {
	t.Helper()
	for _, r := range loadRecordings(t) {
		if strings.TrimSuffix(r.name, ".ndjson") == name {
			return r.rows
		}
	}
	t.Fatalf("there is no recording %s", name)
	return nil
}

const (
	prompted = `{"session_id":"n","cwd":"/home/dev/project","hook_event_name":"UserPromptSubmit","prompt":"go","prompt_id":"p"}`
	used     = `{"session_id":"n","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"t1"}`
	asked    = `{"session_id":"n","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"make"}}`
	done     = `{"session_id":"n","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"t1","tool_response":{"stdout":"ok"}}`
	stopped  = `{"session_id":"n","hook_event_name":"Stop","last_assistant_message":"Done."}`
	ended    = `{"session_id":"n","hook_event_name":"SessionEnd","reason":"other"}`
)

// TestWatchedTerminalFirst holds that a request that the terminal has answered waits no
// longer, and that the hook says nothing then: however the terminal shows its answer.
func TestWatchedTerminalFirst(t *testing.T) {
	t.Parallel()
	until := func(ctx context.Context, q terret.Ask) (terret.Decision, error) {
		if q.Gate == terret.GateStop {
			return terret.Decision{Gate: q.Gate, Behavior: terret.BehaviorPassthrough, Source: terret.ByTimeout}, nil
		}
		<-ctx.Done()
		return terret.Decision{Gate: q.Gate, Behavior: terret.BehaviorDeny, Source: terret.ByAgentExit}, ctx.Err()
	}
	for name, answer := range map[string]string{
		"the call ended": done, "the turn ended": stopped, "another prompt": strings.Replace(prompted, "go", "on", 1), "the session ended": ended,
	} {
		w := watch(t, "claude", until)
		w.report(prompted)
		w.report(used)
		told := make(chan string)
		go func() {
			out, err := w.d.Report(t.Context(), "s", []byte(asked))
			if err != nil {
				out = []byte(err.Error())
			}
			told <- string(out)
		}()
		w.asks(1)
		if q, ok := w.host.asked[0].Event.Data.(terret.PermissionRequest); !ok || q.ToolID != "t1" {
			t.Errorf("%s: asked about %+v", name, w.host.asked[0].Event.Data)
		}
		w.report(answer)
		if out := <-told; out != "" {
			t.Errorf("%s: the hook says %s", name, out)
		}
	}
}

// TestWatchedNobody holds that the hook says nothing if nobody decided, so that the dialog
// of the terminal stays.
func TestWatchedNobody(t *testing.T) {
	t.Parallel()
	for _, source := range []terret.DecisionSource{terret.ByTimeout, terret.ByAgentExit, terret.ByInterrupt} {
		w := watch(t, "claude", func(_ context.Context, q terret.Ask) (terret.Decision, error) {
			return terret.Decision{Gate: q.Gate, Behavior: terret.BehaviorDeny, Source: source}, nil
		})
		w.report(used)
		if out := w.report(asked); out != "" {
			t.Errorf("%s: the hook says %s", source, out)
		}
	}
}

// TestWatchedGoesOn holds that a stop can be answered with what to do next, and that the
// turn then goes on.
func TestWatchedGoesOn(t *testing.T) {
	t.Parallel()
	block := true
	w := watch(t, "claude", func(_ context.Context, q terret.Ask) (terret.Decision, error) {
		d := terret.Decision{Gate: q.Gate, Behavior: terret.BehaviorPassthrough, Source: terret.ByUser}
		if block {
			d.Behavior, d.Reason = terret.BehaviorBlock, "test it, too"
		}
		return d, nil
	})
	w.report(prompted)
	if out := w.report(stopped); out != `{"decision":"block","reason":"test it, too"}` {
		t.Errorf("the hook says %s", out)
	}
	if slices.Contains(w.kinds(), "turn.complete") {
		t.Error("the turn is over")
	}
	block = false
	if out := w.report(stopped); out != "" {
		t.Errorf("the hook says %s", out)
	}
	if n := len(w.kinds()); w.kinds()[n-1] != "turn.complete" {
		t.Errorf("%v", w.kinds())
	}
}

// TestWatchedStopped holds that a turn ends when its person stops it, which only the
// agent's own record tells.
func TestWatchedStopped(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "n.jsonl")
	interrupted := `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}` + "\n"
	if err := os.WriteFile(record, []byte(interrupted), 0o600); err != nil { // an older turn's
		t.Fatal(err)
	}
	said := func(text string) {
		f, err := os.OpenFile(record, os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, "claude", nil)
		path, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		w.report(strings.Replace(prompted, `{`, `{"transcript_path":`+string(path)+`,`, 1))
		w.report(used)
		said(`{"type":"assistant","message":{"content":[{"type":"text","text":"\"[Request interrupted by user\""}]}}` + "\n" + interrupted[:40])
		time.Sleep(3 * lookEvery)
		if slices.Contains(w.kinds(), "turn.error") {
			t.Fatal("it ended too early")
		}
		said(interrupted[40:])
		time.Sleep(3 * lookEvery)
		if kinds := strings.Join(w.kinds(), " "); !strings.HasSuffix(kinds, "tool.pre tool.failure turn.error") {
			t.Errorf("the log has %s", kinds)
		}
	})
}

// TestWatchedGarbage holds that odd input is refused or kept, and begins no turn.
func TestWatchedGarbage(t *testing.T) {
	t.Parallel()
	w := watch(t, "claude", nil)
	for _, input := range []string{"", "[]", "null x", `"x"`, `{"hook_event_name":7}`} {
		if out, err := w.d.Report(t.Context(), "s", []byte(input)); err == nil || out != nil {
			t.Errorf("%q: %s, %v", input, out, err)
		}
	}
	if _, err := w.d.Report(t.Context(), "another", []byte(prompted)); !errors.Is(err, terret.ErrNotFound) {
		t.Errorf("an unknown session: %v", err)
	}
	w.report(`{"session_id":"n","hook_event_name":"Novel","x":1}`)
	w.report(`{"session_id":"n","hook_event_name":"MessageDisplay","message_id":"m","delta":"late","final":true}`)
	w.report(stopped)
	if kinds := w.kinds(); !slices.Equal(kinds, []string{"hook.event"}) {
		t.Errorf("%v", kinds)
	}
}
