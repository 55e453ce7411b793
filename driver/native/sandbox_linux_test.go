package native_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// boxes are a fixture with sandboxes, and a folder outside.
func boxes(t *testing.T, scenario string, more ...func(*setup)) (f *fixture, got *requests, outside string) {
	t.Helper()
	outside = t.TempDir()
	temp := t.TempDir()
	f, got = simulated(t, strings.ReplaceAll(scenario, "OUTSIDE", outside), append(more, func(s *setup) {
		s.native.SandboxHelper = []string{os.Args[0], sandboxHelper}
		s.native.Home = t.TempDir()
		before := s.config
		s.config = func(c *engine.Config) {
			if before != nil {
				before(c)
			}
			c.Env = append(c.Env, "TMPDIR="+temp)
		}
	})...)
	return f, got, outside
}

func inSandbox(box terret.Sandbox) func(*terret.Session) {
	return func(s *terret.Session) { s.Options.Sandbox = box }
}

// TestSandbox runs commands that stay inside, such that do not, and such that ask to
// leave, under a policy that approves everything.
func TestSandbox(t *testing.T) {
	t.Parallel()
	f, got, outside := boxes(t, `
steps:
  - answer:
      tools:
        - {name: Bash, input: {command: "echo in > inside && cat inside && mktemp && cd / && pwd"}}
        - {name: Bash, input: {command: "echo out > OUTSIDE/one"}}
        - {name: Bash, input: {command: "exec 3<>/dev/tcp/127.0.0.1/1"}}
        - {name: Write, input: {file_path: plain, content: words}}
  - answer: {tools: [{name: Bash, input: {command: "echo out > OUTSIDE/two", outside_sandbox: true, reason: "it belongs there"}}]}
  - {match: {tool_result: nobody allowed it}, answer: {tools: [{name: Write, input: {file_path: OUTSIDE/three, content: out}}]}}
  - {match: {tool_result: nobody allowed it}, answer: {tools: [{name: Bash, input: {command: "echo out > OUTSIDE/four", outside_sandbox: true}}]}}
  - {match: {tool_result: no output}, answer: {text: Done.}}
`)
	id := f.session(claude, inSandbox(terret.SandboxWrite))
	turn, after := f.prompt(id, "go").ID, int64(0)
	for _, c := range []struct{ says, choice string }{
		{"outside its sandbox (workspace-write): Run `echo out > " + outside + "/two`\nIts reason: it belongs there", "Keep the sandbox"},
		{"outside its sandbox (workspace-write): Write " + outside + "/three", "Keep the sandbox"},
		{outside + "/four", "Run it outside"},
	} {
		events := f.until(id, func(ev terret.Event) bool { return ev.Kind() == terret.KindQuestionRequest && ev.Seq > after })
		request := events[len(events)-1]
		after = request.Seq
		q, ok := request.Data.(terret.QuestionRequest)
		if !ok || len(q.Questions) != 1 || !strings.Contains(q.Questions[0].Text, c.says) {
			t.Fatalf("asked %+v, want %q", request.Data, c.says)
		}
		f.decide(request, terret.Decision{Gate: terret.GateQuestion, Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{q.Questions[0].ID: {c.choice}}})
	}
	if end := last[terret.TurnComplete](t, f.end(id, turn)); end.Text != "Done." || len(end.Denials) != 2 {
		t.Errorf("%+v", end)
	}
	said := strings.Join(spoken(got.nth(t, 1)), "\n")
	for _, want := range []string{"in\n", "OUTSIDE/one", "/dev/tcp/127.0.0.1/1"} {
		if want = strings.ReplaceAll(want, "OUTSIDE", outside); !strings.Contains(said, want) {
			t.Errorf("the model was not told %q in %s", want, said)
		}
	}
	if strings.Contains(said, "refused") {
		t.Errorf("a command tried to reach the network: %s", said)
	}
	for name, there := range map[string]bool{"one": false, "two": false, "three": false, "four": true} {
		if _, err := os.Stat(filepath.Join(outside, name)); (err == nil) != there || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want it there: %v", name, err, there)
		}
	}
	if d := got.nth(t, 0).Tools[0]; d.Name != "Bash" || !strings.Contains(d.Description, "sandbox") || d.InputSchema["properties"].(map[string]any)["outside_sandbox"] == nil {
		t.Errorf("%+v", d)
	}
}

func TestReadOnlySandbox(t *testing.T) {
	t.Parallel()
	f, got, _ := boxes(t, `
steps:
  - answer: {tools: [{name: Bash, input: {command: "echo x > x"}}, {name: Bash, input: {command: "mktemp"}}, {name: Bash, input: {command: "cat there > /dev/null && echo read it"}}]}
  - {answer: {text: Done.}}
`)
	f.write("there", "words")
	id := f.session(claude, inSandbox(terret.SandboxReadOnly))
	if text := f.says(id, "go"); text != "Done." {
		t.Error(text)
	}
	said := strings.Join(spoken(got.nth(t, 1)), "\n")
	if strings.Count(said, "exit code 1") != 2 || !strings.Contains(said, "read it") {
		t.Error(said)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestSandboxOfServers has an MCP server that cannot write its log outside, and so fails
// to start.
func TestSandboxOfServers(t *testing.T) {
	t.Parallel()
	f, _, outside := boxes(t, "steps: [{answer: {text: Done.}}]")
	id := f.session(claude, inSandbox(terret.SandboxWrite), func(s *terret.Session) {
		s.Options.MCP = terret.JSON(`{"mcpServers": {"a": {"command": "sh", "args": ["-c", "echo x > inside; echo x > ` + outside + `/log"]}}}`)
	})
	if text := f.says(id, "go"); text != "Done." {
		t.Error(text)
	}
	if f.file("inside") != "x\n" {
		t.Error("it was not started")
	}
	if _, err := os.Stat(filepath.Join(outside, "log")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestSandboxOfPlugins has a plugin that writes inside and tries to write outside.
func TestSandboxOfPlugins(t *testing.T) {
	t.Parallel()
	f, _, outside := boxes(t, "steps: [{answer: {text: Done.}}]", trusting(t.TempDir(), true))
	script(t, filepath.Join(f.dir, ".terret/plugins/one"), "#!/bin/sh\necho x > inside; echo x > "+outside+"/log\n")
	if text := f.says(f.session(claude, inSandbox(terret.SandboxWrite)), "go"); text != "Done." {
		t.Error(text)
	}
	if f.file("inside") != "x\n" {
		t.Error("it was not started")
	}
	if _, err := os.Stat(filepath.Join(outside, "log")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestNoSandbox refuses a session that asks for what cannot be.
func TestNoSandbox(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session(inSandbox(terret.SandboxWrite))
	if e := last[terret.TurnError](t, f.run(id, "go")); e.Error.Code != terret.CodeUnsupported || !strings.Contains(e.Error.Message, "start the session without it") {
		t.Errorf("%+v", e)
	}
}
