package drivertest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/acp"
	"github.com/terret-dev/terret/driver/drivertest"
)

// acpAgent is what tests must know of an agent that speaks ACP.
type acpAgent struct {
	program string
	// settings writes what the agent reads into its home, and returns its environment.
	settings     func(p drivertest.Place) []string
	model, other string
	idle         time.Duration            // how long it may say nothing; zero means as long as usual
	target       func(*drivertest.Target) // says the rest
}

// acpTarget makes the target of the profile of that name.
func acpTarget(name string, a acpAgent) drivertest.Target {
	var profile acp.Profile
	for _, p := range acp.Profiles() {
		if p.Name == name {
			profile = p
		}
	}
	profile.Idle = a.idle
	bin := filepath.Dir(program(a.program))
	env := func(p drivertest.Place) []string {
		// Most of them need the Node that is installed with them.
		return append([]string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "NO_COLOR=1"}, a.settings(p)...)
	}
	t := drivertest.Target{
		Name: name, Program: program(a.program), Model: a.model, Other: a.other, Env: env,
		Driver: func(p drivertest.Place) terret.Driver {
			return acp.New(profile, acp.Config{Path: p.Program, Environ: append(env(p), "HOME="+p.Home)})
		},
		Lacks: drivertest.Lacks{
			ToolNames: true, DenialReason: true, ToolChoice: "ACP has no way to take tools away",
		},
	}
	a.target(&t)
	return t
}

// put writes a file into a home folder.
func put(p drivertest.Place, name, content string) {
	path := filepath.Join(p.Home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		panic(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		panic(err)
	}
}

// poison writes a file of a folder in which COMMAND stands for the command to run.
func poison(file, content string) func(dir, command string) error {
	return func(dir, command string) error {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(strings.ReplaceAll(content, "COMMAND", command)), 0o600)
	}
}

// hooks run a command when a session starts, and at each prompt.
const hooks = `{"hooks": {
	"SessionStart": [{"matcher": "*", "hooks": [{"type": "command", "command": "COMMAND"}]}],
	"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "COMMAND"}]}]
}}`

// tool makes calls of a tool, whose first inputs are given in that order.
func tool(name string, inputs ...string) func(values ...string) drivertest.Call {
	return func(values ...string) drivertest.Call {
		in := map[string]any{}
		for i, v := range values {
			in[inputs[i]] = v
		}
		return drivertest.Call{Name: name, Input: in}
	}
}

func acpGemini() drivertest.Target {
	return acpTarget("gemini", acpAgent{
		program: "gemini", model: "gemini-2.5-pro", other: "gemini-2.5-flash",
		settings: func(p drivertest.Place) []string {
			put(p, ".gemini/settings.json", `{
				"security": {"auth": {"selectedType": "gemini-api-key"}},
				"privacy": {"usageStatisticsEnabled": false},
				"general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 2}
			}`)
			env := []string{"GOOGLE_GEMINI_BASE_URL=" + p.URL}
			if p.Key != "" {
				env = append(env, "GEMINI_API_KEY="+p.Key)
			}
			return env
		},
		target: func(t *drivertest.Target) {
			nodeTools(t, "replace")
			t.Lacks.ToolOutput, t.Lacks.ToolFailure, t.Lacks.UntrustedMCP = true, true, true
			t.Lacks.SeveralAsks = "it asks for one thing at a time"
			t.Lacks.AskOutside = true
			t.Lacks.Retries = "it does not tell that it asks the model again"
			t.Lacks.Statuses = map[int]terret.ErrorCode{404: terret.CodeModelError}
			edit := t.Tools.Edit
			t.Tools.Edit = func(path, old, replacement string) drivertest.Call {
				c := edit(path, old, replacement)
				c.Input["instruction"] = "Change it."
				return c
			}
			t.Tools.MCP = func(server, name string, input map[string]any) drivertest.Call {
				return drivertest.Call{Name: "mcp_" + server + "_" + name, Input: input}
			}
			t.Forget = func(p drivertest.Place) error { return os.RemoveAll(filepath.Join(p.Home, ".gemini", "tmp")) }
			t.Poison = poison(".gemini/settings.json", `{"mcpServers":{"poison":{"command":"/bin/sh","args":["-c","COMMAND"]}}}`)
		},
	})
}

// node is the setting of agents that are derived from Gemini CLI.
func nodeTools(t *drivertest.Target, edit string) {
	shell, write := tool("run_shell_command", "command"), tool("write_file", "file_path", "content")
	change, read := tool(edit, "file_path", "old_string", "new_string"), tool("read_file", "file_path")
	t.Tools = drivertest.Tools{
		Shell: func(command string) drivertest.Call {
			c := shell(command)
			c.Input["is_background"] = false
			return c
		},
		Write: func(path, content string) drivertest.Call { return write(path, content) },
		Edit:  func(path, old, replacement string) drivertest.Call { return change(path, old, replacement) },
		Read:  func(path string) drivertest.Call { return read(path) },
	}
}

func acpQwen() drivertest.Target {
	return acpTarget("qwen", acpAgent{
		idle:    20 * time.Second, // it asks a model that fails for minutes
		program: "qwen", model: "fake-model", other: "other-model",
		settings: func(p drivertest.Place) []string {
			put(p, ".qwen/settings.json", `{
				"security": {"auth": {"selectedType": "openai"}},
				"privacy": {"usageStatisticsEnabled": false},
				"general": {"enableAutoUpdate": false},
				"modelProviders": {"openai": [
					{"id": "fake-model", "name": "fake-model", "envKey": "OPENAI_API_KEY", "baseUrl": "`+p.URL+`/v1"},
					{"id": "other-model", "name": "other-model", "envKey": "OPENAI_API_KEY", "baseUrl": "`+p.URL+`/v1"}
				]}
			}`)
			env := []string{"OPENAI_BASE_URL=" + p.URL + "/v1", "OPENAI_MODEL=fake-model", "QWEN_CODE_SUPPRESS_YOLO_WARNING=1"}
			if p.Key != "" {
				env = append(env, "OPENAI_API_KEY="+p.Key)
			}
			return env
		},
		target: func(t *drivertest.Target) {
			nodeTools(t, "edit")
			t.Tools.MCP = func(server, name string, input map[string]any) drivertest.Call {
				return drivertest.Call{Name: "mcp__" + server + "__" + name, Input: input}
			}
			t.Lacks.DenialGoesOn = true
			t.Lacks.SeveralAsks = "it asks for one thing at a time"
			t.Lacks.LongPrompts = "it refuses what does not fit into the model's context"
			t.Command = func(p drivertest.Place, name, _ string) error {
				put(p, ".qwen/commands/"+name+".md", "Greet {{args}} politely.\n")
				return nil
			}
			t.Lacks.Retries = "it does not tell that it asks the model again"
			t.Lacks.Statuses = map[int]terret.ErrorCode{
				0: terret.CodeTimeout, 429: terret.CodeTimeout, 500: terret.CodeTimeout, 529: terret.CodeTimeout,
			}
			t.Forget = func(p drivertest.Place) error { return os.RemoveAll(filepath.Join(p.Home, ".qwen", "projects")) }
			t.Poison, t.Lacks.HeedsTrust = poison(".qwen/settings.json", hooks), true
		},
	})
}

// acpClaude is Claude Code behind an adapter: its tools and settings are the same.
func acpClaude() drivertest.Target {
	own := claude()
	return acpTarget("claude-acp", acpAgent{
		program: "claude-agent-acp", model: "sonnet", other: "haiku", settings: own.Env,
		target: func(t *drivertest.Target) {
			t.Tools = own.Tools
			t.Tools.Subagent, t.Tools.Structured, t.Tools.Background = nil, nil, nil
			t.Lacks.PlanGoesOn, t.Lacks.DenialStops = true, true
			t.Lacks.LongPrompts = "it refuses what does not fit into the model's context"
			t.Lacks.Retries = "it does not tell that it asks the model again"
			t.Lacks.Statuses = map[int]terret.ErrorCode{404: terret.CodeModelNotFound}
			t.Wire = func(name string) string {
				return map[string]string{"sonnet": "claude-sonnet-5-5", "haiku": "claude-haiku-5-5"}[name]
			}
			t.Forget, t.Command, t.Poison, t.PlanMode, t.PlanFile = own.Forget, own.Command, own.Poison, own.PlanMode, own.PlanFile
		},
	})
}

// acpOpenCode is OpenCode as it speaks ACP by itself: its tools and settings are the same.
func acpOpenCode() drivertest.Target {
	own := opencode()
	return acpTarget("opencode-acp", acpAgent{
		program: "opencode", model: own.Model, other: own.Other, settings: own.Env,
		idle: 20 * time.Second, // it asks a model that cannot be reached for minutes
		target: func(t *drivertest.Target) {
			t.Tools = own.Tools
			t.Tools.Subagent, t.Tools.Structured, t.Tools.Ask = nil, nil, nil
			t.Wire, t.Forget, t.Command, t.Poison = own.Wire, own.Forget, own.Command, own.Poison
			t.Lacks.DenialGoesOn = true
			t.Lacks.SeveralAsks = "it asks for one thing at a time"
			t.Lacks.Retries = "it does not tell that it asks the model again"
			t.Lacks.Statuses = map[int]terret.ErrorCode{0: terret.CodeTimeout}
			for _, status := range []int{400, 401, 402, 403, 404, 429, 500, 529} {
				t.Lacks.Statuses[status] = terret.CodeModelError
			}
		},
	})
}

func acpCodex() drivertest.Target {
	return acpTarget("codex-acp", acpAgent{
		idle:    20 * time.Second, // it asks a model that cannot be reached for minutes
		program: "codex-acp", model: "gpt-5.5", other: "fake-model",
		settings: func(p drivertest.Place) []string {
			put(p, ".codex/config.toml", `
model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "`+p.URL+`/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
`)
			if p.Key == "" {
				return nil
			}
			return []string{"OPENAI_API_KEY=" + p.Key}
		},
		target: func(t *drivertest.Target) {
			shell, patch := tool("exec_command", "cmd"), tool("apply_patch", "input")
			t.Tools = drivertest.Tools{
				Shell: func(command string) drivertest.Call {
					c := shell(command)
					// Else it runs in a sandbox that can only read, and nobody is asked.
					c.Input["sandbox_permissions"], c.Input["justification"] = "require_escalated", "It must write."
					return c
				},
				Write: func(path, content string) drivertest.Call {
					return patch("*** Begin Patch\n*** Add File: " + path + "\n+" + strings.ReplaceAll(strings.TrimSuffix(content, "\n"), "\n", "\n+") + "\n*** End Patch")
				},
				Edit: func(path, old, replacement string) drivertest.Call {
					return patch("*** Begin Patch\n*** Update File: " + path + "\n@@\n-" + old + "\n+" + replacement + "\n*** End Patch")
				},
				Read: func(path string) drivertest.Call { return shell("cat '" + path + "'") },
			}
			t.Lacks.DenialGoesOn = true
			t.Lacks.SeveralAsks = "it asks for one thing at a time"
			t.Lacks.Retries = "it is told not to ask the model again"
			t.Lacks.Statuses = map[int]terret.ErrorCode{
				0: terret.CodeTimeout, 400: terret.CodeExecutionError, 401: terret.CodeNotAuthenticated, 404: terret.CodeExecutionError, 500: terret.CodeExecutionError,
			}
			t.Lacks.SeveralAsks = "it reads in a sandbox, and does not ask"
			t.Lacks.LongPrompts = "it takes 1048576 characters at most"
			t.Lacks.ModelSwitch = "it lists only one model that the scripted one can stand for"
			t.Poison, t.Lacks.HeedsTrust = codex().Poison, true
			t.Forget = func(p drivertest.Place) error {
				all, err := filepath.Glob(filepath.Join(p.Home, ".codex", "*"))
				for _, path := range all {
					if filepath.Base(path) != "config.toml" {
						err = errors.Join(err, os.RemoveAll(path))
					}
				}
				return err
			}
		},
	})
}

func acpCopilot() drivertest.Target {
	return acpTarget("copilot", acpAgent{
		idle:    20 * time.Second, // it asks a model that limits it for minutes
		program: "copilot", model: "fake-model", other: "other-model",
		settings: func(p drivertest.Place) []string {
			cache := "XDG_CACHE_HOME=" + filepath.Join(filepath.Dir(filepath.Dir(program("copilot"))), ".cache") // where it has unpacked itself
			if p.Key == "" {
				return []string{cache}
			}
			return []string{
				cache, "COPILOT_PROVIDER_BASE_URL=" + p.URL + "/v1", "COPILOT_MODEL=fake-model", "COPILOT_OFFLINE=true", "COPILOT_PROVIDER_API_KEY=" + p.Key,
			}
		},
		target: func(t *drivertest.Target) {
			shell, write := tool("bash", "command"), tool("create", "path", "file_text")
			edit, read := tool("edit", "path", "old_str", "new_str"), tool("view", "path")
			t.Tools = drivertest.Tools{
				Shell: func(command string) drivertest.Call {
					c := shell(command)
					c.Input["description"] = "Run it"
					return c
				},
				Write: func(path, content string) drivertest.Call { return write(path, content) },
				Edit:  func(path, old, replacement string) drivertest.Call { return edit(path, old, replacement) },
				Read:  func(path string) drivertest.Call { return read(path) },
			}
			t.Lacks.DenialGoesOn = true
			t.Lacks.LongPrompts = "it refuses what does not fit into the model's context"
			t.Lacks.Statuses = map[int]terret.ErrorCode{429: terret.CodeTimeout}
			t.Lacks.Retries = "it does not tell which error made it ask the model again"
			t.Forget = func(p drivertest.Place) error { return os.RemoveAll(filepath.Join(p.Home, ".copilot")) }
			t.Poison = poison(".github/hooks/hooks.json", `{"version": 1, "hooks": {"sessionStart": [{"type": "command", "bash": "COMMAND"}]}}`)
			t.Lacks.HeedsTrust = true
		},
	})
}

func acpGoose() drivertest.Target {
	return acpTarget("goose", acpAgent{
		program: "goose", model: "fake-model", other: "other-model",
		settings: func(p drivertest.Place) []string {
			env := []string{
				"OPENAI_HOST=" + p.URL, "GOOSE_MODEL=fake-model", "GOOSE_MODE=auto", "GOOSE_DISABLE_KEYRING=1", "GOOSE_TELEMETRY_ENABLED=false",
			}
			if p.Key != "" {
				env = append(env, "OPENAI_API_KEY="+p.Key, "GOOSE_PROVIDER=openai")
			}
			return env
		},
		target: func(t *drivertest.Target) {
			shell, write := tool("shell", "command"), tool("write", "path", "content")
			edit := tool("edit", "path", "before", "after")
			t.Tools = drivertest.Tools{
				Shell: func(command string) drivertest.Call { return shell(command) },
				Write: func(path, content string) drivertest.Call { return write(path, content) },
				Edit:  func(path, old, replacement string) drivertest.Call { return edit(path, old, replacement) },
				Read:  func(path string) drivertest.Call { return shell("cat '" + path + "'") },
				MCP: func(server, name string, input map[string]any) drivertest.Call {
					return drivertest.Call{Name: server + "__" + name, Input: input}
				},
			}
			t.Lacks.Retries = "it does not tell that it asks the model again"
			t.Lacks.SeveralAsks = "it asks for one thing at a time"
			t.Lacks.NewIDs, t.Lacks.ExactText = true, true
			t.Lacks.Statuses = map[int]terret.ErrorCode{
				401: terret.CodeNotAuthenticated, 403: terret.CodeNotAuthenticated, 429: terret.CodeRateLimited,
			}
			t.Forget = func(p drivertest.Place) error { return os.RemoveAll(filepath.Join(p.Home, ".local")) }
			plugin := poison(".agents/plugins/x/plugin.json", `{"name": "x", "version": "1.0.0", "description": "x"}`)
			t.Poison = func(dir, command string) error {
				return errors.Join(plugin(dir, command), poison(".agents/plugins/x/hooks/hooks.json", hooks)(dir, command))
			}
			t.Lacks.HeedsTrust = true
		},
	})
}

func TestGemini(t *testing.T) { run(t, acpGemini()) }

func TestQwen(t *testing.T) { run(t, acpQwen()) }

func TestClaudeACP(t *testing.T) { run(t, acpClaude()) }

func TestOpenCodeACP(t *testing.T) { run(t, acpOpenCode()) }

func TestCodexACP(t *testing.T) { run(t, acpCodex()) }

func TestCopilot(t *testing.T) { run(t, acpCopilot()) }

func TestGoose(t *testing.T) { run(t, acpGoose()) }
