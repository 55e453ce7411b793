package engine_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// Other processes of the tests: this test binary again, with childRole in its
// environment.
const (
	childRole    = "TERRET_ENGINE_CHILD"
	childPath    = "TERRET_ENGINE_PATH"
	childSession = "TERRET_ENGINE_SESSION"
)

// childMain does the work of another process and exits, if this is one.
func childMain() {
	role := os.Getenv(childRole)
	if role == "" {
		return
	}
	if err := runChild(context.Background(), role, os.Getenv(childPath), os.Getenv(childSession)); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func recoveryScript() mock.Script {
	return mock.Script{Turns: [][]mock.Step{
		{used(3, 4, terret.USD), {Text: "one"}, ask("make"), {Text: "never"}},
		{{Text: "two"}},
		{{Text: "three"}},
	}}
}

func runChild(ctx context.Context, role, path, session string) error {
	if role == "talk" || role == "silence" {
		return talk(ctx, path, session, role == "silence")
	}
	if role == "drill" {
		return drill(ctx, path, session)
	}
	store, err := openStore(ctx, path)
	if err != nil {
		return err
	}
	e, err := engine.New(ctx, engine.Config{Store: store, Drivers: []terret.Driver{mock.New(recoveryScript())}})
	if err != nil {
		return err
	}
	switch role {
	case "decide":
		page, err := store.ListRequests(ctx, terret.RequestFilter{Session: session, State: terret.RequestOpen})
		if err != nil {
			return err
		}
		for _, r := range page.Items {
			if err := e.Decide(ctx, terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorAllow, By: "child"}); err != nil {
				return err
			}
		}
		if err := e.Close(ctx); err != nil {
			return err
		}
		return store.Close()
	case "work":
		if _, err := e.Prompt(ctx, engine.PromptRequest{Session: session, Prompt: text("go")}); err != nil {
			return err
		}
		for entry, err := range e.Events(ctx, engine.EventQuery{Session: session, Follow: true}) {
			if err != nil {
				return err
			}
			if entry.Kind == "permission.request" {
				break
			}
		}
		if _, err := e.Prompt(ctx, engine.PromptRequest{Session: session, Prompt: text("queued"), When: engine.WhenQueue}); err != nil {
			return err
		}
		fmt.Println("ready")
		select {} // until we are killed
	}
	return fmt.Errorf("no role %q", role)
}

// startChild starts another process and returns a function that kills it as kill -9
// does.
func startChild(t *testing.T, role, path, session string, through ...string) (cmd *exec.Cmd, out *bufio.Scanner) {
	t.Helper()
	command := append(slices.Clone(through), os.Args[0])
	cmd = exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env = append(unsetenv(childRole), childRole+"="+role, childPath+"="+path, childSession+"="+session)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(pipe)
}

// killed runs a process until it has a turn that waits for a decision, and a queued
// prompt, and kills it there.
func killed(t *testing.T, path, session string) {
	t.Helper()
	cmd, out := startChild(t, "work", path, session)
	if !out.Scan() || strings.TrimSpace(out.Text()) != "ready" {
		t.Fatalf("the child said %q", out.Text())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child was not killed")
	}
}

// offline is a session in a file that no engine has open.
func offline(t *testing.T) (path, session string) {
	t.Helper()
	path = t.TempDir() + "/terret.db"
	s, err := openStore(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := s.Create(t.Context(), terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: t.TempDir(), Policy: terret.PolicyAsk})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, n.ID
}

// After kill -9 the next engine to start puts everything in order.
func TestRecovery(t *testing.T) {
	t.Parallel()
	path, id := offline(t)
	killed(t, path, id)
	f := fileFixture(t, path, mock.New(recoveryScript()))
	events := f.until(id, 0, isKind("turn.error"))
	d := last[terret.PermissionDecision](t, events)
	if d.Source != terret.ByAgentExit || d.Behavior != terret.BehaviorDeny {
		t.Errorf("decision %+v", d)
	}
	e := last[terret.TurnError](t, events).Error
	if e.Code != terret.CodeProcessFailed || !e.Retryable {
		t.Errorf("end %+v", e)
	}
	if c := last[terret.TurnError](t, events).CostUSD; c != terret.USD {
		t.Errorf("what the dead turn cost is lost: %s", c)
	}
	if n := len(all[terret.SessionResumed](events)); n == 0 {
		t.Error("nobody said that the session has another owner")
	}
	// The agent goes on where it was: its script is at the second turn. The queue
	// goes on too, once somebody works with the session again.
	events = f.run(id, "more")
	if c := last[terret.TurnComplete](t, events); c.Text != "two" {
		t.Errorf("the next turn said %q", c.Text)
	}
	events = f.until(id, events[len(events)-1].Seq, isKind("turn.complete"))
	if c := last[terret.TurnComplete](t, events); c.Text != "three" {
		t.Errorf("the queued turn said %q", c.Text)
	}
	f.close()
	checkLog(t, f.store, id)
}

// A request that a person answered before its process died gets that answer.
func TestRecoveryOfAnAnswer(t *testing.T) {
	t.Parallel()
	path, id := offline(t)
	killed(t, path, id)
	s, err := openStore(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	page, err := s.ListRequests(t.Context(), terret.RequestFilter{Session: id, State: terret.RequestOpen})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	r := page.Items[0]
	if err := s.Answer(t.Context(), terret.Decision{RequestID: r.RequestID, Gate: r.Gate, Behavior: terret.BehaviorAllow, Source: terret.ByUser, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f := fileFixture(t, path, mock.New(recoveryScript()))
	events := f.until(id, 0, isKind("turn.error"))
	if d := last[terret.PermissionDecision](t, events); d.By != "ann" || d.Behavior != terret.BehaviorAllow {
		t.Errorf("decision %+v", d)
	}
	f.close()
	checkLog(t, f.store, id)
}

// An answer from another process reaches the agent.
func TestDecideFromAnotherProcess(t *testing.T) {
	t.Parallel()
	f := fileFixture(t, "", mock.New(recoveryScript()))
	id := f.session()
	turn := f.prompt(id, "go")
	f.request(id, 1)
	cmd, out := startChild(t, "decide", f.path, id)
	for out.Scan() {
		t.Log(out.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	events := f.ended(id, turn.ID)
	if d := last[terret.PermissionDecision](t, events); d.By != "child" {
		t.Errorf("decision %+v", d)
	}
	f.close()
	checkLog(t, f.store, id)
}

// Somebody answers in the moment in which the new owner decides that nobody did.
func TestRecoveryRace(t *testing.T) {
	t.Parallel()
	path, id := offline(t)
	killed(t, path, id)
	var other Store
	once := false
	f := openFixture(t, path, mock.New(recoveryScript()), func(c *engine.Config) {
		other = c.Store.(Store)
		c.Store = &faults{Store: other, before: func(ctx context.Context) {
			page, err := other.ListRequests(ctx, terret.RequestFilter{Session: id, State: terret.RequestOpen})
			if err != nil || once || len(page.Items) == 0 {
				return
			}
			once = true
			r := page.Items[0]
			if err := other.Answer(ctx, terret.Decision{RequestID: r.RequestID, Gate: r.Gate, Behavior: terret.BehaviorDeny, Source: terret.ByUser, By: "ann"}); err != nil {
				t.Error(err)
			}
		}}
	})
	events := f.until(id, 0, isKind("turn.error"))
	if d := last[terret.PermissionDecision](t, events); d.By != "ann" {
		t.Errorf("decision %+v", d)
	}
	f.close()
	checkLog(t, f.store, id)
}
