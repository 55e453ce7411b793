package handover_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/handover"
	"github.com/terret-dev/terret/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// account is the account of a session with these events.
func account(t *testing.T, files []handover.File, events ...terret.Event) string {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "terret.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := store.Create(t.Context(), terret.Session{ID: terret.NewSessionID(), Agent: "claude", Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := store.Claim(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	results, err := store.Commit(context.WithoutCancel(t.Context()), []terret.Batch{{Session: s.ID, Epoch: claim.Session.Epoch, After: claim.Session.LastSeq, Events: events}})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	text, err := handover.Account(t.Context(), store, s, files)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func in(turn string, data terret.Data) terret.Event {
	return terret.Event{Turn: turn, Time: terret.Now(), Data: data}
}

func said(id, text string) terret.Data {
	return terret.MessageComplete{MessageID: id, Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text(text)}}
}

func begin(text string) terret.Data {
	return terret.TurnStart{MessageID: text, Prompt: []terret.Block{terret.Text(text)}, Origin: terret.OriginUser}
}

// TestAccount holds what the next agent is told, and what not.
func TestAccount(t *testing.T) {
	t.Parallel()
	ask := func(turn, id, title string) terret.Event {
		data := terret.PermissionRequest{RequestID: id, Tool: "Bash", Title: title, Input: []byte(`{}`)}
		ev := in(turn, data)
		ev.Expects = &terret.Expects{RequestID: id, Gate: terret.GatePermission}
		return ev
	}
	sub := in("a", said("s", "a subagent's words"))
	sub.Actor = terret.SubActor("x")
	got := account(t, []handover.File{{Path: "a.go", Change: "created"}},
		in("a", begin("write a parser")),
		in("a", terret.UserPrompt{MessageID: "write a parser", Blocks: []terret.Block{terret.Text("write a parser")}}), // again
		in("a", terret.PlanUpdate{Entries: []terret.PlanEntry{{Text: "read", Status: "completed"}, {Text: "write", Status: "pending"}}}),
		sub,
		in("a", terret.ToolPre{ToolID: "t", Name: "Bash", Input: []byte(`{}`), Title: "go test"}),
		ask("a", "req_1", "rm old.go"),
		in("a", terret.Decision{RequestID: "req_1", Gate: terret.GatePermission, Behavior: terret.BehaviorDeny, Source: terret.ByUser, Reason: "keep it"}.Data()),
		ask("a", "req_2", "cat old.go"),
		in("a", terret.Decision{RequestID: "req_2", Gate: terret.GatePermission, Behavior: terret.BehaviorAllow, Source: terret.ByRule}.Data()),
		in("a", said("m", "I wrote </handover> half.")),
		in("a", terret.TurnComplete{}),
		in("b", begin("delete everything")),
		in("b", terret.TurnComplete{}),
		in("", terret.CheckpointCreated{CheckpointID: "c", OfTurn: "b", Phase: "after", Changed: true}),
		in("", terret.CheckpointRewound{CheckpointID: "c", Direction: "undo", Turns: []string{"b"}, Files: []string{}}),
		in("c", begin("go on")),
		ask("c", "req_3", "git push"),
	)
	for _, want := range []string{
		"You take over from another agent (claude, session ", "# What it began with\nwrite a parser\n", "- completed: read\n- pending: write\n",
		"- deny: rm old.go (keep it)", "in the old session, not in yours\n- git push\n", "- created: a.go", "Tool Bash: go test", "Agent: I wrote <\\/handover> half.",
		"1 turns were undone", "User: go on",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	for _, not := range []string{"subagent's", "delete everything", "cat old.go"} {
		if strings.Contains(got, not) {
			t.Errorf("it says %q:\n%s", not, got)
		}
	}
	if n := strings.Count(got, "User: write a parser"); n != 1 {
		t.Errorf("the first prompt is there %d times", n)
	}
	if strings.Count(got, "</handover>") != 1 || !strings.HasSuffix(got, "</handover>") {
		t.Errorf("it ends early:\n%s", got)
	}
}

// TestBounded holds that an account of a long session is bounded, keeps the beginning
// and the end, and says what it leaves out.
func TestBounded(t *testing.T) {
	t.Parallel()
	events := []terret.Event{in("a", begin("the task")), in("a", said("long", strings.Repeat("é", 50_000)))}
	var files []handover.File
	for n := range 2000 {
		events = append(events, in("a", said(fmt.Sprint(n), fmt.Sprintf("message %d: %s", n, strings.Repeat("x", 200)))))
		files = append(files, handover.File{Path: fmt.Sprint(n), Change: "modified"})
	}
	got := account(t, files, events...)
	if len(got) > 80_000 {
		t.Errorf("it has %d bytes", len(got))
	}
	for _, want := range []string{"# What it began with\nthe task\n", "earlier messages and tool uses are left out]", "message 1999: ", "[1800 more files are left out]"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if got := account(t, nil, events[:2]...); !strings.Contains(got, "[44000 characters are left out here]") || !strings.Contains(got, "not known which") {
		t.Errorf("it does not say what is missing: %.200s", got)
	}
}
