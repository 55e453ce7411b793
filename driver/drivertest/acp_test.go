package drivertest_test

import (
	"os"
	"path/filepath"
	"testing"

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
			shell, write := tool("run_shell_command", "command"), tool("write_file", "file_path", "content")
			edit, read := tool("replace", "file_path", "old_string", "new_string"), tool("read_file", "file_path")
			t.Lacks.ToolOutput = true
			t.Tools = drivertest.Tools{
				Shell: func(command string) drivertest.Call { return shell(command) },
				Write: func(path, content string) drivertest.Call { return write(path, content) },
				Edit: func(path, old, replacement string) drivertest.Call {
					c := edit(path, old, replacement)
					c.Input["instruction"] = "Change it."
					return c
				},
				Read: func(path string) drivertest.Call { return read(path) },
				MCP: func(server, name string, input map[string]any) drivertest.Call {
					return drivertest.Call{Name: "mcp_" + server + "_" + name, Input: input}
				},
			}
			t.Command = func(p drivertest.Place, name, text string) error {
				put(p, ".gemini/commands/"+name+".toml", `prompt = "Greet {{args}} politely."`)
				return nil
			}
			t.Forget = func(p drivertest.Place) error { return os.RemoveAll(filepath.Join(p.Home, ".gemini", "tmp")) }
		},
	})
}

func TestGemini(t *testing.T) { run(t, acpGemini()) }
