package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/terret-dev/terret/cmd/terret/internal/tasks"
	"github.com/terret-dev/terret/test/sim"
)

type step map[string]any

// solving are the steps of a model that solves the task as its reference solution does.
func solving(t tasks.Task) []step {
	var look, do []step
	for _, name := range slices.Sorted(maps.Keys(t.Solution)) {
		look = append(look, step{"name": "Read", "input": step{"file_path": name}})
		do = append(do, step{"name": "Write", "input": step{"file_path": name, "content": strings.ReplaceAll(t.Solution[name], "{{", "{ {")}})
	}
	var out []step
	if len(do) > 0 {
		out = append(out, step{"answer": step{"tools": look}}, step{"answer": step{"tools": do}})
	}
	if t.Script != "" {
		out = append(out, step{"answer": step{"tools": []step{{"name": "Bash", "input": step{"command": t.Script}}}}})
	}
	return append(out, step{"answer": step{"text": "It is done.", "usage": step{"input": 100, "output": 10}}})
}

// playing is the environment of a native agent whose model follows these steps.
func playing(t *testing.T, steps []step) []string {
	t.Helper()
	text, err := json.Marshal(step{"steps": steps})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	url, err := scriptModel(t, path, "")
	if err != nil {
		t.Fatal(err)
	}
	return []string{"ANTHROPIC_API_KEY=sk-fake", "ANTHROPIC_BASE_URL=" + url, "TERRET_MODEL=", goCache(t)}
}

// goCache is the variable with the cache of Go, which a home of its own would not have.
func goCache(t *testing.T) string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return "GOCACHE=" + strings.TrimSpace(string(dir))
}

// benchArgs run the bench on a scripted model.
func benchArgs(more ...string) []string {
	return append([]string{"bench", "--agent", "native", "--model", "anthropic/claude-sonnet-4-5"}, more...)
}

// TestBench has a scripted model do every task as its reference solution does.
func TestBench(t *testing.T) {
	t.Parallel()
	all, err := tasks.All()
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	for _, task := range all {
		steps = append(steps, solving(task)...)
	}
	code, out, stderr := inProcess(t, "", playing(t, steps), benchArgs("--json")...)
	var got benchReport
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("code %d, %v:\n%s%s", code, err, out, stderr)
	}
	if got.Agent != "native" || got.Model != "anthropic/claude-sonnet-4-5" || got.Passed != len(all) || len(got.Runs) != len(all) || got.CostUSD <= 0 || got.Usage.Output < int64(len(all)) {
		t.Errorf("%+v", got)
	}
	for i, r := range got.Runs {
		if r.Task != all[i].Name || r.Run != 1 || !r.Pass || r.Error != "" || r.Session == "" || r.CostUSD <= 0 {
			t.Errorf("%+v", r)
		}
	}
}

// TestBenchTable has a model that solves a task only the second time, and one that fails.
func TestBenchTable(t *testing.T) {
	t.Parallel()
	list, err := tasks.Named("nil-map")
	if err != nil {
		t.Fatal(err)
	}
	lazy := []step{{"answer": step{"text": "I have done nothing."}}}
	steps := slices.Concat(lazy, solving(list[0]), []step{{"answer": step{"error": step{"status": 400, "message": "no such thing"}}}})
	code, out, stderr := inProcess(t, "", playing(t, steps), benchArgs("--task", "nil-map", "--runs", "3")...)
	if code != 0 {
		t.Fatalf("code %d:\n%s%s", code, out, stderr)
	}
	for _, want := range []string{"TASK", "nil-map  1/3", "all      1/3", "native anthropic/claude-sonnet-4-5"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table does not say %q:\n%s", want, out)
		}
	}
}

func TestBenchBadInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"task":    {[]string{"--task", "nothing"}, `there is no task "nothing"; ` + "`terret bench --list` lists them"},
		"runs":    {[]string{"--runs", "0"}, "0 is not a number from 1 to 1000"},
		"timeout": {[]string{"--timeout", "-1s"}, "limits must not be negative"},
		"sandbox": {[]string{"--sandbox=no"}, `there is no sandbox "no"`},
	} {
		if code, _, stderr := inProcess(t, "", nil, benchArgs(c.args...)...); code != 2 || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: %d %s", name, code, stderr)
		}
	}
	if code, out, _ := inProcess(t, "", nil, "bench", "--list"); code != 0 || strings.Count(out, "\n") < 20 || !strings.Contains(out, "merge-conflict       A merge of the branch") {
		t.Errorf("%d %s", code, out)
	}
	if code, out, stderr := inProcess(t, "", []string{"PATH=/nowhere"}, "bench", "--agent", "claude", "--task", "nil-map"); code == 0 || out != "" {
		t.Errorf("%d %s %s", code, out, stderr)
	}
}

// TestBenchInterrupted keeps the table of what was done.
func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	list, err := tasks.Named("bump-version")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(step{"steps": append(solving(list[0]), step{"answer": step{"text": "I am", "hold": "forever"}})})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := sim.Parse("model.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	seen := 0
	server, err := sim.NewServer(parsed, sim.Options{Record: func(sim.Recorded) error {
		if seen++; seen == len(solving(list[0]))+1 {
			close(asked)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	running, err := server.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = running.Close() }()
	program := filepath.Join(t.TempDir(), "terret") // by its name the test binary is the program
	if err := os.Symlink(os.Args[0], program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, benchArgs("--task", "bump-version", "--runs", "2")...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "TERRET_HOME="+home, "ANTHROPIC_API_KEY=sk-fake", "ANTHROPIC_BASE_URL="+running.URL())
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 130 || !strings.Contains(out.String(), "bump-version  1/1") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}
