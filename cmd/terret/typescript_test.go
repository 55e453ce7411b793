package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret/test/sim"
	"github.com/terret-dev/terret/view"
)

// typescript is the folder of the TypeScript SDK.
func typescript(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../sdk/typescript")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// node runs Node.js in a folder of its own, with a terret in the PATH, and returns what
// it prints. It must end by itself.
func node(t *testing.T, env []string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("Node.js is missing")
		}
		t.Skip("Node.js is missing: the TypeScript SDK is not tested")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "GORACE=" + noRaceSleep}, env...)
	if err := os.WriteFile(filepath.Join(cmd.Dir, "package.json"), []byte(`{"name":"example"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, &stderr)
	}
	return string(out)
}

// TestTypeScript runs the SDK's own tests with the demo model.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	out := node(t, nil, "--test", "--test-reporter=tap", filepath.Join(typescript(t), "test", "sdk.test.mjs"))
	if strings.Contains(out, "# SKIP") || !regexp.MustCompile(`(?m)^# pass [1-9]\d`).MatchString(out) {
		t.Error(out)
	}
}

// TestTypeScriptExamples runs the three examples of the Neovate document, which differ
// from it only in the import, with a scripted model of the name that they use.
func TestTypeScriptExamples(t *testing.T) {
	t.Parallel()
	for example, want := range map[string]string{
		"string": `Assistant: [
  { type: 'text', text: 'I will look.' },
  {
    type: 'tool_use',
    tool_id: 'ID',
    name: 'Bash',
    input: { command: 'ls' }
  }
]
Assistant: [ { type: 'text', text: 'There is package.json.' } ]
Done: success
`,
		"threaded": "Done: success\n",
		"prompt":   "Success: true\n",
	} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			scenario, err := sim.Parse("scenario", []byte(`steps:
  - match: {user: List files in current directory}
    answer:
      text: I will look.
      tools: [{name: Bash, input: {command: ls}}]
  - match: {tool_result: package.json}
    answer: {text: There is package.json.}
  - match: {user: What is in the package.json?}
    answer: {text: A name.}
`))
			if err != nil {
				t.Fatal(err)
			}
			srv, err := sim.NewServer(scenario, sim.Options{})
			if err != nil {
				t.Fatal(err)
			}
			running, err := srv.Start(t.Context(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer running.Close()
			out := node(t, []string{"ANTHROPIC_API_KEY=not-a-key", "ANTHROPIC_BASE_URL=" + running.URL()}, filepath.Join(typescript(t), "dist", "examples", example+".js"))
			out = regexp.MustCompile(`tool_id: '[^']+'`).ReplaceAllString(out, "tool_id: 'ID'")
			if example == "threaded" {
				out = out[max(strings.Index(out, "Done:"), 0):]
			}
			if diff := cmp.Diff(want, out); diff != "" {
				t.Error(diff)
			}
			if left := srv.Player().Unmatched(); len(left) > 0 {
				t.Error(left)
			}
		})
	}
}

// TestTypeScriptProductName holds that the product's name reaches the model: N11.
func TestTypeScriptProductName(t *testing.T) {
	t.Parallel()
	scenario, err := sim.Parse("scenario", []byte("steps:\n  - match: {user: Who are you?, system: Acme Coder}\n    answer: {text: Acme Coder.}\n"))
	if err != nil {
		t.Fatal(err)
	}
	srv, err := sim.NewServer(scenario, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	running, err := srv.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	program := `import { prompt } from "` + filepath.Join(typescript(t), "dist", "esm", "index.js") + `";
const result = await prompt("Who are you?", { model: "anthropic/claude-sonnet-4-20250514", productName: "Acme Coder" });
console.log(result.content);`
	out := node(t, []string{"ANTHROPIC_API_KEY=not-a-key", "ANTHROPIC_BASE_URL=" + running.URL()}, "--input-type=module", "-e", program)
	if out != "Acme Coder.\n" {
		t.Errorf("the answer is %q; not expected: %v", out, srv.Player().Unmatched())
	}
}

// TestTypeScriptIsBuilt fails when dist was built from other sources: run sdk/typescript/build.sh.
func TestTypeScriptIsBuilt(t *testing.T) {
	t.Parallel()
	dir := typescript(t)
	sum := sha256.New()
	for _, pattern := range []string{"package.json", "tsconfig.json", "src/*.ts", "test/examples/*.ts", "test/examples/tsconfig.json"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = sum.Write(body)
		}
	}
	recorded, err := os.ReadFile(filepath.Join(dir, "dist", "sources.sha256"))
	if got := hex.EncodeToString(sum.Sum(nil)); err != nil || got != strings.TrimSpace(string(recorded)) {
		t.Errorf("dist was not built from these sources (%v); run sdk/typescript/build.sh", err)
	}
}

// TestTypeScriptMessages compares the SDK's types of messages with what the view sends.
func TestTypeScriptMessages(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join(typescript(t), "src", "messages.ts"))
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]any{
		"NormalizedMessage": view.NormalizedMessage{}, "SDKSystemMessage": view.SystemMessage{}, "SDKResultMessage": view.ResultMessage{},
	} {
		body := regexp.MustCompile(`(?s)export type ` + name + ` = \{\n(.*?)\n\};`).FindSubmatch(source)
		if body == nil {
			t.Errorf("there is no type %s", name)
			continue
		}
		var got []string
		for _, m := range regexp.MustCompile(`(?m)^  (\w+\??):`).FindAllSubmatch(body[1], -1) {
			got = append(got, string(m[1]))
		}
		want := []string{"type"}
		for field := range reflect.TypeOf(of).Fields() {
			tag, omit, _ := strings.Cut(field.Tag.Get("json"), ",")
			if omit != "" {
				tag += "?"
			}
			want = append(want, tag)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
