package agenttest

import (
	_ "embed"
	"errors"
	"path/filepath"
	"slices"
)

// Model is the name of the model for agents that accept any.
const Model = "fake-model"

// The paths of the models' APIs.
const (
	Messages  = "/v1/messages"
	Chat      = "/v1/chat/completions"
	Responses = "/v1/responses"
	Gemini    = "/v1beta/models/"
)

// MCPServer is the reference MCP server, which has something of everything that a server can
// offer. Its first argument is its transport: stdio or streamableHttp.
func MCPServer() Agent {
	return Agent{Name: "MCP server", Program: "mcp-server-everything", settings: func(Place) ([]string, error) { return nil, nil }}
}

// All returns the agents, one of each kind.
func All() []Agent {
	once := func(args ...string) func(string) []string {
		return func(prompt string) []string { return append(slices.Clip(args), prompt) }
	}
	return []Agent{
		{
			Name: "claude", Program: "claude", Dialect: Messages, settings: claude,
			Once: once("--dangerously-skip-permissions", "--output-format", "stream-json", "--verbose", "-p"),
		},
		{
			Name: "opencode", Program: "opencode", Dialect: Chat, settings: opencode("fake/" + Model),
			Once: once("run", "--format", "json"), ACP: []string{"acp"},
		},
		{
			Name: "opencode-anthropic", Program: "opencode", Dialect: Messages, settings: opencode("anthropic/claude-sonnet-4-5"),
			Once: once("run", "--format", "json"), ACP: []string{"acp"},
		},
		{
			Name: "codex", Program: "codex", Dialect: Responses, settings: codex(Model),
			Once: once("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
		},
		{
			// A model that it knows, for which it offers its patch tool.
			Name: "codex-patch", Program: "codex", Dialect: Responses, settings: codex("gpt-5.5"),
			Once: once("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
		},
		{
			Name: "gemini", Program: "gemini", Dialect: Gemini, settings: gemini,
			Once: once("--approval-mode", "yolo", "--output-format", "stream-json", "-p"), ACP: []string{"--acp"},
		},
		{
			Name: "qwen", Program: "qwen", Dialect: Chat, settings: qwen,
			Once: once("--approval-mode", "yolo", "--output-format", "stream-json", "-p"), ACP: []string{"--acp"},
		},
		{
			Name: "copilot", Program: "copilot", Dialect: Chat, settings: copilot,
			Once: once("--allow-all-tools", "-p"), ACP: []string{"--acp"},
		},
		{
			Name: "goose", Program: "goose", Dialect: Chat, settings: goose, optional: true,
			Once: once("run", "--output-format", "stream-json", "-t"), ACP: []string{"acp"},
		},
		{
			Name: "pi", Program: "pi", Dialect: Messages, settings: pi,
			Once: once("--mode", "json", "-p"),
		},
		{Name: "claude-agent-acp", Program: "claude-agent-acp", Dialect: Messages, settings: claude, ACP: []string{}},
		{Name: "codex-acp", Program: "codex-acp", Dialect: Responses, settings: codex(Model), ACP: []string{}},
	}
}

func claude(p Place) ([]string, error) {
	return []string{
		"ANTHROPIC_API_KEY=fake", "ANTHROPIC_BASE_URL=" + p.URL, "IS_SANDBOX=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_MAX_RETRIES=2", // it would continue for minutes
	}, nil
}

func opencode(model string) func(Place) ([]string, error) {
	return func(p Place) ([]string, error) {
		quick, err := QuickOpenCode(p.Home)
		return append(quick,
			"OPENCODE_CONFIG_CONTENT="+p.fill(`{"provider":{`+
				`"fake":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"{url}/v1","apiKey":"fake"},"models":{"`+Model+`":{}}},`+
				`"anthropic":{"options":{"baseURL":"{url}/v1","apiKey":"fake"}}},`+
				`"model":"`+model+`","small_model":"`+model+`","enabled_providers":["fake","anthropic"],"share":"disabled","autoupdate":false}`),
			"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
			"OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_SHARE=1",
		), err
	}
}

//go:embed models.json
var openCodeModels []byte

// QuickOpenCode lets OpenCode start in that home in a fifth of the time, and returns
// the environment for it. By itself it installs 60 MB of packages for plugins in the
// background, and reads a list of all models that there are.
func QuickOpenCode(home string) (env []string, err error) {
	p := Place{Home: home}
	return []string{"OPENCODE_MODELS_PATH=" + filepath.Join(home, "models.json")},
		errors.Join(p.write(".npmrc", "registry=http://127.0.0.1:9/\nfetch-retries=0\n"), p.write("models.json", string(openCodeModels)))
}

func codex(model string) func(Place) ([]string, error) {
	return func(p Place) ([]string, error) {
		return []string{"FAKE_KEY=fake"}, p.write(".codex/config.toml", p.fill(`
model = "`+model+`"
model_provider = "fake"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects."{dir}"]
trust_level = "trusted"
[analytics]
enabled = false
`))
	}
}

func gemini(p Place) ([]string, error) {
	env := []string{"GEMINI_API_KEY=fake", "GOOGLE_GEMINI_BASE_URL=" + p.URL, "GEMINI_CLI_TRUST_WORKSPACE=true"}
	return env, p.write(".gemini/settings.json", `{
	"security": {"auth": {"selectedType": "gemini-api-key"}},
	"privacy": {"usageStatisticsEnabled": false},
	"general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false}
}`)
}

func qwen(p Place) ([]string, error) {
	env := []string{"OPENAI_API_KEY=fake", "OPENAI_BASE_URL=" + p.URL + "/v1", "OPENAI_MODEL=" + Model, "QWEN_CODE_SUPPRESS_YOLO_WARNING=1"}
	return env, p.write(".qwen/settings.json", `{
	"security": {"auth": {"selectedType": "openai"}},
	"privacy": {"usageStatisticsEnabled": false},
	"general": {"enableAutoUpdate": false}
}`)
}

func copilot(p Place) ([]string, error) {
	return []string{
		// It unpacks itself into a cache, which takes seconds. agents/install.sh has
		// done that.
		"XDG_CACHE_HOME=" + filepath.Join(filepath.Dir(filepath.Dir(p.Program)), ".cache"),
		"COPILOT_PROVIDER_BASE_URL=" + p.URL + "/v1", "COPILOT_PROVIDER_API_KEY=fake", "COPILOT_MODEL=" + Model, "COPILOT_OFFLINE=true",
	}, nil
}

func goose(p Place) ([]string, error) {
	return []string{
		"OPENAI_API_KEY=fake", "OPENAI_HOST=" + p.URL, "GOOSE_PROVIDER=openai", "GOOSE_MODEL=" + Model,
		"GOOSE_MODE=auto", "GOOSE_DISABLE_KEYRING=1", "GOOSE_TELEMETRY_ENABLED=false",
	}, nil
}

func pi(p Place) ([]string, error) {
	return PiEnv(p.Home, p.URL, "fake")
}

// PiEnv writes Pi's settings into that home, and returns the environment for a scripted
// model. Pi tries again by itself, soon and so that it tells; the library that it calls the
// model with would do so first, and tell nobody. It summarizes conversations however short
// they are.
func PiEnv(home, url, key string) (env []string, err error) {
	p := Place{Home: home, URL: url}
	env = []string{"PI_OFFLINE=1"}
	if key != "" {
		env = append(env, "ANTHROPIC_API_KEY="+key)
	}
	return env, errors.Join(
		p.write(".pi/agent/models.json", p.fill(`{"providers":{"anthropic":{"baseUrl":"{url}"}}}`)),
		p.write(".pi/agent/settings.json", `{
	"defaultProvider": "anthropic", "defaultModel": "claude-sonnet-4-5",
	"retry": {"maxRetries": 2, "baseDelayMs": 50, "provider": {"maxRetries": 0}},
	"compaction": {"keepRecentTokens": 1}
}`),
	)
}
