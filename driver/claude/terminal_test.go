package claude

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

// inputs are what the hooks of a real agent got, one a line, as recorded.
func inputs(t *testing.T, agent string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "terminals", agent+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		out = append(out, string(line))
	}
	return out
}

// story is the log, a word or two for each event, a line for each turn.
func story(events []terret.Event) string {
	var out strings.Builder
	ids := map[string]int{}
	call := func(id string) int {
		if ids[id] == 0 {
			ids[id] = len(ids) + 1
		}
		return ids[id]
	}
	for _, ev := range events {
		switch d := ev.Data.(type) {
		case terret.MessageDelta:
			fmt.Fprintf(&out, "+%q ", d.Text)
		case terret.MessageComplete:
			fmt.Fprintf(&out, "%q ", terret.TextOf(d.Blocks))
		case terret.UserPrompt:
			fmt.Fprintf(&out, "\n> %s: ", terret.TextOf(d.Blocks))
		case terret.ToolPre:
			fmt.Fprintf(&out, "call %d of %s (%s, %s) ", call(d.ToolID), d.Name, d.Class, d.Title)
		case terret.ToolPost:
			fmt.Fprintf(&out, "result %d of %s: %q ", call(d.ToolID), d.Name, terret.TextOf(d.Content))
			if d.Diff != "" {
				fmt.Fprintf(&out, "diff %q ", d.Diff)
			}
		case terret.ToolFailure:
			fmt.Fprintf(&out, "failure %d: %.24s, denied %t ", call(d.ToolID), d.Error, d.Denied)
		case terret.FileChanged:
			fmt.Fprintf(&out, "%s %s ", d.Change, d.Path)
		case terret.TurnError:
			fmt.Fprintf(&out, "%s: %s ", d.Error.Code, d.Error.Message)
		case terret.Notification, terret.SessionUpdated:
		default:
			fmt.Fprintf(&out, "%s ", ev.Kind())
		}
	}
	return strings.TrimSpace(out.String())
}

// TestTerminalQwen feeds what the hooks of the real Qwen Code got. Nobody is waited for.
func TestTerminalQwen(t *testing.T) {
	t.Parallel()
	want := `session.start 
> round 0.: +"Round " "Round 0 begins." call 1 of run_shell_command (execute, Run ` + "`echo 0 >> effects`" + `) hook.decision result 1 of run_shell_command: "" "Round 0 is over." turn.complete 
> round 1.: "Round 1 begins." call 2 of write_file (edit, Write a.txt) hook.decision result 2 of write_file: "Successfully created and wrote to new file: /home/dev/project/a.txt." diff "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+hello\n" created /home/dev/project/a.txt "Round 1 is over." turn.complete 
> round 2.: "Round 2 begins." call 3 of run_shell_command (execute, Run ` + "`echo 2 >> effects`" + `) hook.decision failure 3: it did not end, denied false interrupted: stopped in the terminal 
> go on: "Round 2 is over." turn.complete 
> round 3.: "Round 3 begins." model_error: 400 no answer 
> round 0.: +"Round " "Round 0 begins." call 4 of run_shell_command (execute, Run ` + "`tail -f model`" + `) failure 4: The tool had already com, denied false interrupted: stopped in the terminal session.end`
	synctest.Test(t, func(t *testing.T) {
		var w *watching
		w = watch(t, "qwen", func(ctx context.Context, q terret.Ask) (terret.Decision, error) {
			if q.Gate != terret.GatePreTool {
				t.Errorf("somebody is asked at %s", q.Gate)
			}
			return terret.Decision{Gate: q.Gate, Behavior: terret.BehaviorAllow, Source: terret.ByRule}, w.host.Emit(ctx, []terret.Event{q.Event}, nil)
		})
		for _, line := range inputs(t, "qwen") {
			if out := w.report(line); out != "" {
				t.Errorf("at %.200s: the hook says %s", line, out)
			}
			if strings.Contains(line, `"idle_prompt"`) {
				time.Sleep(2 * lookEvery) // its person reads
			}
		}
		if got := story(w.host.said()); got != want {
			t.Errorf("the log has\n%s\nwant\n%s", got, want)
		}
	})
}

// TestTerminalGemini feeds what the hooks of the real Gemini CLI got, and what it wrote into
// its own record meanwhile.
func TestTerminalGemini(t *testing.T) {
	t.Parallel()
	want := `session.start 
> round 0.: "Round 0 begins." call 1 of run_shell_command (execute, Run ` + "`echo 0 >> effects; echo done`" + `) hook.decision result 1 of run_shell_command: "Output: done\nProcess Group PGID: 21320" "Round 0 is over." turn.complete 
> round 1.: "Round 1 begins." call 2 of write_file (edit, Write b.txt) hook.decision result 2 of write_file: "Successfully created and wrote to new file: /home/dev/project/b.txt. Here is the updated code:\nhello\n" diff "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+hello\n" created /home/dev/project/b.txt "Round 1 is over." turn.complete 
> round 2.: "Round 2 begins." call 3 of run_shell_command (execute, Run ` + "`echo 2 >> effects`" + `) hook.decision failure 3: it did not end, denied false interrupted: stopped in the terminal 
> go on: interrupted: stopped in the terminal 
> round 3.: model_error: [API Error: {"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}] session.end`
	path := filepath.Join(t.TempDir(), "record.jsonl")
	record, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer record.Close()
	synctest.Test(t, func(t *testing.T) {
		var w *watching
		w = watch(t, "gemini", func(ctx context.Context, q terret.Ask) (terret.Decision, error) {
			return terret.Decision{Gate: q.Gate, Behavior: terret.BehaviorAllow, Source: terret.ByRule}, w.host.Emit(ctx, []terret.Event{q.Event}, nil)
		})
		for _, line := range inputs(t, "gemini") {
			if !strings.Contains(line, `"hook_event_name"`) {
				if _, err := record.WriteString(line); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(line, "Request cancelled.") && !slices.Contains(w.kinds(), "turn.error") {
					time.Sleep(2 * lookEvery) // its person reads
				}
				continue
			}
			if out := w.report(strings.Replace(line, "{", fmt.Sprintf(`{"transcript_path":%q,`, path), 1)); out != "" {
				t.Errorf("at %.200s: the hook says %s", line, out)
			}
		}
		if got := story(w.host.said()); got != want {
			t.Errorf("the log has\n%s\nwant\n%s", got, want)
		}
	})
}

// TestTerminalDenies holds that a rule that denies is heeded before the dialog is shown, and
// that nothing else is.
func TestTerminalDenies(t *testing.T) {
	t.Parallel()
	before := strings.Replace(asked, "PermissionRequest", "BeforeTool", 1)
	for _, d := range []terret.Decision{
		{Behavior: terret.BehaviorDeny, Source: terret.ByRule, Reason: "not here"},
		{Behavior: terret.BehaviorDeny, Source: terret.ByTimeout},
		{Behavior: terret.BehaviorAllow, Source: terret.ByUser},
		{Behavior: terret.BehaviorAsk, Source: terret.ByRule},
		{Behavior: terret.BehaviorPassthrough, Source: terret.ByPolicy},
	} {
		for agent, c := range map[string]struct{ input, deny string }{
			"qwen":   {asked, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"not here"}}}`},
			"gemini": {before, `{"decision":"deny","reason":"not here"}`},
		} {
			w := watch(t, agent, func(_ context.Context, q terret.Ask) (terret.Decision, error) {
				d := d
				d.Gate = q.Gate
				return d, nil
			})
			want, denied := "", d.Source == terret.ByRule && d.Behavior == terret.BehaviorDeny
			if denied {
				want = c.deny
			}
			if out := w.report(c.input); out != want {
				t.Errorf("%s, %+v: the hook says %s", agent, d, out)
			}
			if slices.Contains(w.kinds(), "tool.failure") != denied {
				t.Errorf("%s, %+v: %v", agent, d, w.kinds())
			}
		}
	}
}

// TestTerminalFailure holds that a tool of Gemini CLI that failed is told apart.
func TestTerminalFailure(t *testing.T) {
	t.Parallel()
	w := watch(t, "gemini", nil)
	w.report(strings.Replace(done, "PostToolUse", "AfterTool", 1))
	w.report(`{"session_id":"n","hook_event_name":"AfterTool","tool_name":"read_file","tool_input":{},"tool_response":{"llmContent":"no","error":{"message":"no such file","type":"x"}}}`)
	if got := story(w.host.said()); !strings.Contains(got, "result 1 of Bash") || !strings.HasSuffix(got, "failure 2: no such file, denied false") {
		t.Errorf("the log has %s", got)
	}
}

// TestTerminalIdle holds that a turn whose end another hook tells late does not count as
// stopped.
func TestTerminalIdle(t *testing.T) {
	t.Parallel()
	idle := `{"session_id":"n","hook_event_name":"Notification","notification_type":"idle_prompt"}`
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, "qwen", nil)
		w.report(prompted)
		w.report(idle)
		time.Sleep(lookEvery / 2)
		w.report(stopped)
		time.Sleep(2 * lookEvery)
		if kinds := w.kinds(); slices.Contains(kinds, "turn.error") || kinds[len(kinds)-1] != "turn.complete" {
			t.Errorf("%v", kinds)
		}
	})
}
