package drivertest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	codexdriver "github.com/terret-dev/terret/driver/codex"
	"github.com/terret-dev/terret/driver/drivertest"
)

// codex is Codex, through its app server.
func codex() drivertest.Target {
	tool := func(name string, input map[string]any) drivertest.Call {
		return drivertest.Call{Name: name, Input: input}
	}
	config := func(p drivertest.Place) string { return filepath.Join(p.Home, ".codex") }
	patch := func(format string, args ...any) drivertest.Call {
		return tool("apply_patch", map[string]any{"input": "*** Begin Patch\n" + fmt.Sprintf(format, args...) + "*** End Patch"})
	}
	env := func(p drivertest.Place) []string {
		out := []string{"CODEX_HOME=" + config(p)}
		if p.Key != "" {
			out = append(out, "OPENAI_API_KEY="+p.Key)
		}
		return out
	}
	return drivertest.Target{
		Name: codexdriver.Name, Program: program("codex"),
		Model: "gpt-5.5", Other: "gpt-5.4",
		Env: env,
		Driver: func(p drivertest.Place) terret.Driver {
			if err := codexSettings(config(p), p.URL); err != nil {
				panic(err) // the folder is the test's own
			}
			return codexdriver.New(codexdriver.Config{
				Path: p.Program, Environ: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.Home}, env(p)...),
			})
		},
		Forget: func(p drivertest.Place) error { return os.RemoveAll(filepath.Join(config(p), "sessions")) },
		Command: func(p drivertest.Place, name, text string) error {
			dir := filepath.Join(config(p), "skills", name)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			skill := "---\nname: " + name + "\ndescription: A command.\n---\n" + text + "\n"
			return os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(skill), 0o600)
		},
		ArgsApart: true,
		Poison: func(dir, command string) error {
			if err := os.Mkdir(filepath.Join(dir, ".codex"), 0o700); err != nil {
				return err
			}
			settings := "[mcp_servers.poison]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"" + command + "\"]\n"
			return os.WriteFile(filepath.Join(dir, ".codex", "config.toml"), []byte(settings), 0o600)
		},
		StructuredText: true,
		Lacks: drivertest.Lacks{
			ToolChoice:  "its tool for patches is always offered; in a session without it, each use is denied",
			LongPrompts: "it takes prompts of at most 1048576 characters",
		},
		PlanMode: "plan",
		PlanText: func(plan string) string { return "<proposed_plan>\n" + plan + "\n</proposed_plan>" },
		Await: func(agent string) drivertest.Call {
			return tool("multi_agent_v1/wait_agent", map[string]any{"targets": []string{agent}})
		},
		AwaitID: `/"agent_id":"(?P<agent>[^"]+)"/`,
		Tools: drivertest.Tools{
			Shell: func(command string) drivertest.Call { return tool("exec_command", map[string]any{"cmd": command}) },
			Write: func(path, content string) drivertest.Call {
				return patch("*** Add File: %s\n%s", path, marked("+", content))
			},
			Edit: func(path, old, replacement string) drivertest.Call {
				return patch("*** Update File: %s\n@@\n%s%s", path, marked("-", old), marked("+", replacement))
			},
			Read: func(path string) drivertest.Call {
				return tool("exec_command", map[string]any{"cmd": "cat '" + path + "'"})
			},
			Ask: func(question string, options ...string) drivertest.Call {
				var labels []map[string]any
				for _, o := range options {
					labels = append(labels, map[string]any{"label": o, "description": "The colour " + o})
				}
				return tool("request_user_input", map[string]any{"questions": []map[string]any{
					{"id": "colour", "question": question, "header": "Colour", "options": labels},
				}})
			},
			Subagent: func(prompt string) drivertest.Call {
				return tool("multi_agent_v1/spawn_agent", map[string]any{"message": prompt})
			},
			MCP: func(server, name string, input map[string]any) drivertest.Call {
				return tool("mcp__"+server+"/"+name, input)
			},
		},
	}
}

// marked puts a mark before each line.
func marked(mark, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
	return out.String()
}

// codexSettings tells Codex where the model is. It tries again at once, and not for long.
func codexSettings(dir, url string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.toml"), []byte(`
model_provider = "fake"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "`+url+`/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 2
[analytics]
enabled = false
`), 0o600)
}

func TestCodex(t *testing.T) { run(t, codex()) }
