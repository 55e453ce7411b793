package workflow_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/archive"
	"github.com/terret-dev/terret/store/sqlite"
	"github.com/terret-dev/terret/work/team"
	"github.com/terret-dev/terret/work/workflow"
)

func TestMain(m *testing.M) {
	childMain()
	goleak.VerifyTestMain(m)
}

// three is a workflow of three steps, in which each uses the answer before.
const three = `name: three
steps:
  - {id: one, prompt: "first {{input}}"}
  - {id: two, prompt: "second {{one}}", check: "test -e one.txt"}
  - {id: three, prompt: "third {{two}}"}
`

// works answers a prompt with its first word, and leaves a file with the step's name for
// each time it was asked.
func works(dir string, hold string) mock.Talker {
	return func(ctx context.Context, name, prompt string) (string, error) {
		f, err := os.OpenFile(filepath.Join(dir, name+".txt"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		first, _, _ := strings.Cut(prompt, " ")
		if _, err := fmt.Fprintln(f, first); err != nil {
			return "", err
		}
		if name == hold {
			fmt.Println("holding")
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		return "answer of " + name, nil
	}
}

type fixture struct {
	*workflow.Runner
	store *sqlite.Store
	dir   string
}

func open(ctx context.Context, home, dir string, d terret.Driver) (*fixture, func() error, error) {
	store, err := sqlite.Open(ctx, filepath.Join(home, "terret.db"), sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	e, err := engine.New(ctx, engine.Config{Store: store, Drivers: []terret.Driver{d}, CloseGrace: 10 * time.Second, InterruptGrace: 10 * time.Second})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	host := team.Host{Engine: e, Store: store}
	r := &workflow.Runner{
		Log: workflow.Log{Host: host, List: store.ListSessions, Home: home}, Providers: team.FromDrivers(host, []terret.Driver{d}), Env: os.Environ(),
		Default: func(context.Context, string) string { return "talker" },
	}
	return &fixture{r, store, dir}, func() error { return errors.Join(e.Close(context.Background()), store.Close()) }, nil
}

func newFixture(t *testing.T, home, dir string, d terret.Driver) *fixture {
	t.Helper()
	f, done, err := open(t.Context(), home, dir, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := done(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fixture) start(t *testing.T, file string) workflow.Run {
	t.Helper()
	run, err := f.Start(t.Context(), "ann", "three.yaml", []byte(file), f.dir, "go")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// finish works on a run until it does not go on.
func (f *fixture) finish(t *testing.T, id string, want workflow.State) workflow.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run, err := f.Run(ctx, "ann", id)
	if err != nil || run.State != want {
		t.Fatalf("it is %s, want %s: %s %v", run.State, want, run.Detail, err)
	}
	return run
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRun runs three steps, and looks at the run while it is and when it is done.
func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var prompts []string
	f := newFixture(t, t.TempDir(), dir, mock.Talker(func(ctx context.Context, name, prompt string) (string, error) {
		prompts = append(prompts, prompt)
		return works(dir, "")(ctx, name, prompt)
	}))
	run := f.start(t, three)
	if run.State != workflow.Interrupted || run.Steps[0].State != workflow.Pending || run.Name != "three" {
		t.Errorf("%+v", run)
	}
	var seen []string
	f.Progress = func(r workflow.Run) {
		line := string(r.State)
		for _, s := range r.Steps {
			line += " " + string(s.State)
		}
		seen = append(seen, line)
	}
	run = f.finish(t, run.ID, workflow.Completed)
	want := []string{"first go", "second <answer step=\"one\">\nanswer of one\n</answer>", "third <answer step=\"two\">\nanswer of two\n</answer>"}
	if diff := cmp.Diff(want, prompts); diff != "" {
		t.Errorf("prompts: -want +got\n%s", diff)
	}
	if run.Steps[2].Output != "answer of three" || run.CostUSD != 3*terret.USD/10 || run.Steps[0].Agent != "talker" {
		t.Errorf("%+v", run)
	}
	if seen[0] != "running pending pending pending" || seen[1] != "running running pending pending" || seen[len(seen)-1] != "completed completed completed completed" {
		t.Errorf("progress %q", seen)
	}
	if s, err := f.store.Session(t.Context(), run.Steps[1].Session); err != nil || s.Title != run.Name+": two" {
		t.Errorf("the step's session is %+v: %v", s, err)
	}
	if err := f.Host.Engine.OpenLog(t.Context(), team.LogSession, "team"); err != nil { // another log
		t.Fatal(err)
	}
	if all, err := f.All(t.Context()); err != nil || len(all) != 1 || all[0].ID != run.ID {
		t.Errorf("%+v: %v", all, err)
	}
	if again := f.finish(t, run.ID, workflow.Completed); len(prompts) != 3 || again.State != run.State {
		t.Errorf("it ran again")
	}
}

// TestStep holds that what a step says is what its agent works with, and that an agent
// that is to try again is told what went wrong.
func TestStep(t *testing.T) {
	t.Parallel()
	var prompts []string
	d := mock.Talker(func(_ context.Context, _, prompt string) (string, error) {
		prompts = append(prompts, prompt)
		return "ok", nil
	})
	f := newFixture(t, t.TempDir(), t.TempDir(), d)
	f.Providers.Register("other", func() team.Provider { return team.FromDriver(f.Host, d, "other") })
	run := f.start(t, "steps: [{id: one, prompt: first, agent: other, model: large, instructions: Be kind., tools: [Read, Bash], permission_mode: odd, "+
		"setting_sources: [project], max_cost_usd: 0.5, check: 'echo too bad; false', on_failure: retry, retries: 1}]")
	step := f.finish(t, run.ID, workflow.Failed).Steps[0]
	s, err := f.store.Session(t.Context(), step.Session)
	if err != nil || step.Agent != "other" || s.Model != "large" || s.PermissionMode != "odd" || s.Cwd != f.dir {
		t.Errorf("%+v in %+v: %v", step, s, err)
	}
	options := terret.SessionOptions{
		SystemAppend: "Be kind.", Tools: []string{"Read", "Bash"}, AutoApproveTools: []string{"Read", "Bash"}, SettingSources: []string{"project"}, MaxCostUSD: terret.USD / 2,
	}
	if diff := cmp.Diff(options, s.Options); diff != "" {
		t.Errorf("options: -want +got\n%s", diff)
	}
	again := "Your last attempt failed: the check `echo too bad; false` failed with exit code 1:\ntoo bad\n\nTry again. The task was:\n\nfirst"
	if diff := cmp.Diff([]string{"first", again}, prompts); diff != "" {
		t.Errorf("prompts: -want +got\n%s", diff)
	}
}

// TestFailures holds what happens when steps fail.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, step string
		decision   string
		want       workflow.State // before a decision
		then       workflow.State
		asked      int
		detail     string
	}{
		{name: "stop", step: "check: 'echo too bad; false'", want: workflow.Failed, asked: 1, detail: "step one failed: the check `echo too bad; false` failed with exit code 1:\ntoo bad"},
		{name: "retry in vain", step: "check: 'false', on_failure: retry", want: workflow.Failed, asked: 3, detail: "step one failed"},
		{name: "retry", step: "check: 'test $(wc -l <one.txt) = 2', on_failure: retry, retries: 5", want: workflow.Completed, asked: 2},
		{name: "ask and retry", step: "check: 'test $(wc -l <one.txt) = 2', on_failure: ask", decision: "retry", want: workflow.Waiting, then: workflow.Completed, asked: 2},
		{name: "ask and skip", step: "check: 'false', on_failure: ask", decision: "skip", want: workflow.Waiting, then: workflow.Completed, asked: 1},
		{name: "ask and stop", step: "check: 'false', on_failure: ask", decision: "stop", want: workflow.Waiting, then: workflow.Stopped, asked: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f := newFixture(t, t.TempDir(), dir, works(dir, ""))
			id := f.start(t, "steps: [{id: one, prompt: first, "+c.step+"}, {id: two, prompt: second}]").ID
			run := f.finish(t, id, c.want)
			if run.Name != "three" { // as the file
				t.Errorf("it is called %q", run.Name)
			}
			if !strings.Contains(run.Detail, c.detail) {
				t.Errorf("it says %q", run.Detail)
			}
			if err := f.Decide(t.Context(), "ann", id, "maybe"); err == nil {
				t.Error("it took a decision that makes no sense")
			}
			if c.decision != "" {
				if err := f.Decide(t.Context(), "ann", id, c.decision); err != nil {
					t.Fatal(err)
				}
				f.finish(t, id, c.then)
			}
			if err := f.Decide(t.Context(), "ann", id, "retry"); !errors.Is(err, terret.ErrConflict) {
				t.Errorf("it took a decision that it does not wait for: %v", err)
			}
			if got := strings.Count(read(t, filepath.Join(dir, "one.txt")), "\n"); got != c.asked {
				t.Errorf("the agent was asked %d times, want %d", got, c.asked)
			}
		})
	}
}

// TestDecidedEarly decides while the runner that made the run wait still has its lock:
// whoever decides cannot go on then, so that runner does.
func TestDecidedEarly(t *testing.T) {
	t.Parallel()
	for decision, want := range map[string]workflow.State{"skip": workflow.Completed, "stop": workflow.Stopped} {
		t.Run(decision, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f := newFixture(t, t.TempDir(), dir, works(dir, ""))
			id := f.start(t, "steps: [{id: one, prompt: first, check: 'false', on_failure: ask}, {id: two, prompt: second}]").ID
			other, decided := *f.Runner, false
			f.Progress = func(run workflow.Run) {
				if run.State != workflow.Waiting || decided {
					return
				}
				decided = true
				if err := other.Decide(t.Context(), "ben", id, decision); err != nil {
					t.Error(err)
				}
				if _, err := other.Run(t.Context(), "ben", id); !errors.Is(err, terret.ErrConflict) {
					t.Errorf("two work on it: %v", err)
				}
			}
			f.finish(t, id, want)
		})
	}
}

// TestTimeout stops an agent that takes too long.
func TestTimeout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFixture(t, t.TempDir(), dir, works(dir, "one"))
	run := f.finish(t, f.start(t, "steps: [{id: one, prompt: first, timeout: 20ms}]").ID, workflow.Failed)
	if !strings.Contains(run.Detail, "took longer than 20ms") {
		t.Errorf("it says %q", run.Detail)
	}
}

// TestTimeoutOfCheck holds that the time of a step is also that of its check.
func TestTimeoutOfCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFixture(t, t.TempDir(), dir, works(dir, ""))
	run := f.finish(t, f.start(t, "steps: [{id: one, prompt: first, timeout: 2s, check: sleep 1000}]").ID, workflow.Failed)
	if !strings.Contains(run.Detail, "took longer than 2s") || run.CostUSD == 0 {
		t.Errorf("it says %q and costs %s", run.Detail, run.CostUSD)
	}
}

// TestTimeoutThenRetry holds that an agent which was stopped has ended before it is asked
// again: otherwise the next attempt waits behind it, or is the one that is stopped.
func TestTimeoutThenRetry(t *testing.T) {
	t.Parallel()
	var f *fixture
	var id string
	var asked atomic.Int32
	overtaken := false
	f = newFixture(t, t.TempDir(), t.TempDir(), mock.Talker(func(ctx context.Context, _, _ string) (string, error) {
		if asked.Add(1) > 1 {
			return "done", nil
		}
		<-ctx.Done()
		for range 5 { // takes its time to stop
			run, err := f.Get(context.Background(), id)
			overtaken = overtaken || err != nil || run.Steps[0].Attempts > 1
		}
		return "", context.Cause(ctx)
	}))
	id = f.start(t, "steps: [{id: one, prompt: first, timeout: 1s, on_failure: retry, retries: 9}]").ID
	f.finish(t, id, workflow.Completed)
	if overtaken {
		t.Error("it was asked again before it had stopped")
	}
}

// TestNoAgent holds that each step must have an agent.
func TestNoAgent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFixture(t, t.TempDir(), dir, works(dir, ""))
	f.Default = nil
	if _, err := f.Start(t.Context(), "ann", "three.yaml", []byte(three), dir, ""); !errors.Is(err, terret.ErrInvalid) || !strings.Contains(err.Error(), "step one names no agent") {
		t.Error(err)
	}
	f.finish(t, f.start(t, "name: one\nsteps:\n  - {id: one, prompt: first, agent: talker}\n").ID, workflow.Completed)
}

// TestBadFiles holds that errors say where they are.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"":                        "f.yaml:1:1: the file must hold exactly one YAML document",
		"steps: []":               "f.yaml:1:8: a workflow needs steps",
		"steps:\n  - promt: x":    `f.yaml:2:5: unknown field "promt"`,
		"steps:\n  - prompt: x":   "f.yaml:2:5: a step needs an id",
		"steps:\n  - id: a b\n":   `f.yaml:2:9: "a b" cannot be an id`,
		"steps:\n  - id: a\n":     "f.yaml:2:5: a step needs a prompt",
		"steps:\n  - id: input\n": `f.yaml:2:9: "input" is taken`,
		"steps:\n  - {id: a, prompt: x}\n  - {id: a, prompt: x}":           `f.yaml:3:10: "a" is taken`,
		"steps:\n  - id: a\n    prompt: use {{b}}\n  - {id: b, prompt: x}": "f.yaml:3:13: {{b}} is neither an earlier step nor input; use one of input",
		"steps:\n  - {id: a, prompt: x, on_failure: panic}":                `f.yaml:2:36: "panic" is not possible; use retry, ask or stop`,
		"steps:\n  - {id: a, prompt: x, retries: 2}":                       "f.yaml:2:33: it is only for on_failure: retry or ask",
		"steps:\n  - {id: a, prompt: x, timeout: soon}":                    `f.yaml:2:33: "soon" is not a duration`,
		"steps:\n  - {id: a, prompt: x, tools: 3}":                         "f.yaml:2:31: ",
		"steps:\n  - {id: a, prompt: &x y}":                                "anchors, aliases and tags are not allowed",
		"steps:\n  - {id: a, prompt: x, max_cost_usd: -1}":                 "must not be negative",
	} {
		if _, err := workflow.Parse("f.yaml", []byte(file)); err == nil || !strings.Contains(err.Error(), want) || terret.AsError(err).Code != terret.CodeInvalidRequest {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
	f := newFixture(t, t.TempDir(), t.TempDir(), works("", ""))
	if _, err := f.Start(t.Context(), "ann", "f.yaml", []byte("steps: [{id: a, agent: nobody, prompt: x}]"), f.dir, ""); terret.AsError(err).Code != terret.CodeAgentNotFound {
		t.Error(err)
	}
}

// Another process of the tests is this test binary again.
const (
	childHome = "TERRET_WORKFLOW_HOME"
	childDir  = "TERRET_WORKFLOW_DIR"
	childRun  = "TERRET_WORKFLOW_RUN"
	childHold = "TERRET_WORKFLOW_HOLD" // the step in which the agent hangs
)

// childMain works on a run until it is killed, if this is a child.
func childMain() {
	home, dir := os.Getenv(childHome), os.Getenv(childDir)
	if home == "" {
		return
	}
	ctx := context.Background()
	f, _, err := open(ctx, home, dir, works(dir, os.Getenv(childHold)))
	if err == nil {
		f.Progress = func(r workflow.Run) {
			for _, s := range r.Steps {
				fmt.Println(s.ID, s.State)
			}
		}
		_, err = f.Run(ctx, "ann", os.Getenv(childRun))
	}
	fmt.Println("ended:", err)
	os.Exit(1)
}

// killedAt works on a run in another process until it says that line, and kills it.
func killedAt(t *testing.T, env map[string]string, line string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = os.Environ()
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found := false
	for out := bufio.NewScanner(pipe); !found && out.Scan(); {
		found = out.Text() == line
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !found {
		t.Fatalf("the child did not say %q: %v", line, err)
	}
}

// TestKilled kills the process in each step, in the middle of the agent's work and after
// it, and goes on each time. What was done is not done again.
func TestKilled(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	f, done, err := open(t.Context(), home, dir, works(dir, ""))
	if err != nil {
		t.Fatal(err)
	}
	id := f.start(t, three).ID
	if err := done(); err != nil {
		t.Fatal(err)
	}
	for _, at := range [][2]string{{"one", "holding"}, {"two", "holding"}, {"two", "holding"}, {"", "two completed"}, {"three", "holding"}} {
		killedAt(t, map[string]string{childHome: home, childDir: dir, childRun: id, childHold: at[0]}, at[1])
	}
	f = newFixture(t, home, dir, works(dir, ""))
	if run, err := f.Get(t.Context(), id); err != nil || run.State != workflow.Interrupted || run.Steps[1].State != workflow.Completed || run.Steps[2].State != workflow.Running {
		t.Errorf("%+v: %v", run, err)
	}
	run := f.finish(t, id, workflow.Completed)
	got := map[string]string{}
	for _, s := range run.Steps {
		got[s.ID] = read(t, filepath.Join(dir, s.ID+".txt"))
	}
	// Each attempt after one that was cut off begins with "You were interrupted".
	want := map[string]string{"one": "first\nYou\n", "two": "second\nYou\nYou\n", "three": "third\nYou\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("prompts: -want +got\n%s", diff)
	}
	if left, err := filepath.Glob(filepath.Join(home, "workflows", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestImported holds that the log of a run from elsewhere can be read and not continued:
// what it would run is somebody else's.
func TestImported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFixture(t, t.TempDir(), dir, works(dir, ""))
	run := f.start(t, three)
	s, err := f.store.Session(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := archive.Write(&file, s, f.Host.Engine.Events(t.Context(), engine.EventQuery{Session: s.ID, Raw: true})); err != nil {
		t.Fatal(err)
	}
	made, err := archive.Read(t.Context(), f.store, &file, func(*terret.Session) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Run(t.Context(), "ann", made.ID); !errors.Is(err, terret.ErrNotFound) {
		t.Errorf("it was continued: %+v, %v", got, err)
	}
	if all, err := f.All(t.Context()); err != nil || len(all) != 1 || all[0].ID != run.ID {
		t.Errorf("runs %+v, %v", all, err)
	}
	said := ""
	for entry, err := range f.Host.Engine.Events(t.Context(), engine.EventQuery{Session: made.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		said += string(entry.AppendJSON(nil))
	}
	if !strings.Contains(said, "first {{input}}") {
		t.Errorf("it cannot be read: %s", said)
	}
}
