package acp

import (
	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// Profiles are the agents that were tried, in the order in which one is chosen when
// none is named.
func Profiles() []Profile {
	return []Profile{gemini(), qwen(), copilot(), goose(), claudeACP(), codexACP(), opencodeACP()}
}

func gemini() Profile {
	return Profile{
		Name: "gemini", Title: "Gemini CLI", Argv: []string{"gemini", "--acp"},
		Env:     []string{"GEMINI_*", "GOOGLE_*"},
		Trusted: []string{"GEMINI_CLI_TRUST_WORKSPACE=true"},
		Files:   []terret.ProjectFile{{Path: ".gemini/", Why: "settings of Gemini"}},
		Mode:    "default",
		SignIn: SignIn{
			Variables: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"},
			Files:     []string{".gemini/oauth_creds.json"},
			Command:   "gemini",
		},
		Install: "npm install -g @google/gemini-cli@0.61.0", Tested: "0.61.0",
		Can: &Features{Resume: true, Images: true, Models: true, Reasoning: true, MCP: true},
		Why: map[terret.Capability]string{terret.CanCommands: "over ACP it knows its own commands, and not those of the user"},
		quirks: quirks{
			idName: "__", dirs: "--include-directories", heading: "****\n", beforeLoad: keepGeminiFile,
		},
	}
}

func qwen() Profile {
	return Profile{
		Name: "qwen", Title: "Qwen Code", Argv: []string{"qwen", "--acp"},
		Env:     []string{"OPENAI_*", "QWEN_*", "DASHSCOPE_*", "BAILIAN_*"},
		Files:   []terret.ProjectFile{{Path: ".qwen/", Why: "settings of Qwen Code, with hooks"}},
		Follows: []string{".qwen/"},
		Mode:    "default",
		SignIn: SignIn{
			Variables: []string{"OPENAI_API_KEY", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY"},
			Files:     []string{".qwen/oauth_creds.json"},
			Command:   "qwen",
		},
		Install: "npm install -g @qwen-code/qwen-code@0.24.4", Tested: "0.24.4",
		Can: &Features{Resume: true, Models: true, Reasoning: true, Commands: true, MCP: true},
		Why: map[terret.Capability]string{terret.CanAttachments: "it passes images on only to models that it knows"},
		quirks: quirks{
			ignore: []string{"craft/drainMidTurnQueue", "qwen/notify/*", "_qwencode/*"},
		},
	}
}

func copilot() Profile {
	return Profile{
		Name: "copilot", Title: "GitHub Copilot CLI", Argv: []string{"copilot", "--acp"},
		Env: []string{"COPILOT_*", "GH_TOKEN", "GH_HOST", "GITHUB_TOKEN"},
		Files: []terret.ProjectFile{
			{Path: ".github/hooks/", Why: "programs that GitHub Copilot runs"},
			{Path: ".github/copilot/", Why: "settings of GitHub Copilot"},
			{Path: ".github/mcp.json", Why: "servers that GitHub Copilot starts"},
		},
		Follows: []string{".github/hooks/", ".github/copilot/", ".github/mcp.json", ".mcp.json", ".claude/settings.json", ".claude/settings.local.json"},
		SignIn: SignIn{
			Variables: []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"},
			Files:     []string{".copilot/config.json"},
			Command:   "copilot login",
		},
		Install: "npm install -g @github/copilot@1.0.102", Tested: "1.0.102",
		Can: &Features{Resume: true, Images: true, Reasoning: true},
		Why: map[terret.Capability]string{terret.CanCommands: "over ACP it knows its own commands, and not those of the user"},
		quirks: quirks{
			usage:   usageOfSession,
			names:   map[string]string{"execute": "bash", "read": "view", "edit": "edit"},
			notice:  lazyregexp.New(`^Info: `),
			failure: lazyregexp.New(`^Error: `),
		},
	}
}

func goose() Profile {
	return Profile{
		Name: "goose", Title: "goose", Argv: []string{"goose", "acp"},
		Env:     []string{"GOOSE_*", "OPENAI_*", "ANTHROPIC_*", "GOOGLE_*"},
		Files:   []terret.ProjectFile{{Path: ".agents/", Why: "skills and plugins that agents read"}},
		Follows: []string{".agents/plugins/"},
		Mode:    "approve",
		SignIn: SignIn{
			Variables: []string{"GOOSE_PROVIDER"},
			Files:     []string{".config/goose/config.yaml"},
			Command:   "goose configure",
		},
		Install: "curl -fsSL https://github.com/block/goose/releases/download/stable/download_cli.sh | bash", Tested: "1.52.0",
		Can: &Features{Resume: true, Models: true, Reasoning: true, MCP: true},
		Why: map[terret.Capability]string{
			terret.CanAttachments: "it passes images on only to models that it knows",
			terret.CanCommands:    "its own commands work as prompts; those of the user are recipes, which it does not list",
		},
		quirks: quirks{
			failure:   lazyregexp.New(`^(?:Ran into this error: |Network error: )`),
			titleName: " · ",
			kinds:     map[string]string{"shell": "execute", "write": "edit", "edit": "edit", "read": "read", "tree": "search"},
		},
	}
}

func claudeACP() Profile {
	return Profile{
		Name: "claude-acp", Title: "Claude Code (ACP)", Argv: []string{"claude-agent-acp"},
		Env:  []string{"ANTHROPIC_*", "CLAUDE_*"},
		Set:  []string{"DISABLE_AUTOUPDATER=1"},
		Mode: "default",
		SignIn: SignIn{
			Variables: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
			Files:     []string{".claude/.credentials.json"},
			Command:   "claude auth login",
		},
		Install: "npm install -g @agentclientprotocol/claude-agent-acp@0.99.1", Tested: "0.99.1",
		Can: &Features{
			Resume: true, Fork: true, Images: true, Models: true, Reasoning: true, Commands: true, MCP: true, Cost: true, SystemPrompt: true, Questions: true, Plan: true,
		},
		quirks: quirks{
			ignore:   []string{"_auth/status_update", "_claude/*"},
			planTool: "ExitPlanMode",
			meta:     claudeMeta,
		},
	}
}

// claudeMeta is what the adapter passes on to Claude Code. The settings of a folder hold
// hooks and servers, so they count only when the folder is trusted.
func claudeMeta(l launch, trusted bool) object {
	options := object{"promptSuggestions": false}
	if !trusted {
		options["settingSources"] = []string{"user"}
	}
	out := object{"claudeCode": object{"options": options}}
	if l.append != "" {
		out["systemPrompt"] = object{"append": l.append}
	}
	return out
}

func codexACP() Profile {
	return Profile{
		Name: "codex-acp", Title: "Codex (ACP)", Argv: []string{"codex-acp"},
		Env:     []string{"OPENAI_*", "CODEX_*"},
		Follows: []string{".codex/"}, // it tells Codex that every folder is trusted
		Mode:    "read-only",
		SignIn: SignIn{
			Variables: []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
			Files:     []string{".codex/auth.json"},
			Command:   "codex login",
		},
		Install: "npm install -g @agentclientprotocol/codex-acp@2.6.0", Tested: "2.6.0",
		Can: &Features{Resume: true, Images: true, Models: true, Reasoning: true},
		Why: map[terret.Capability]string{
			terret.CanMCP:      "nobody has seen it use the servers of a session yet",
			terret.CanFork:     "a copy of a session lives only in the process that made it",
			terret.CanCommands: "over ACP it knows its own commands, and not those of the user",
		},
		quirks: quirks{
			names:     map[string]string{"execute": "exec_command", "edit": "apply_patch"},
			ignore:    []string{"_auth/status_update", "_codex/*"},
			anonymous: true, load: true, startAgain: true,
		},
	}
}

func opencodeACP() Profile {
	return Profile{
		Name: "opencode-acp", Title: "OpenCode (ACP)", Argv: []string{"opencode", "acp"},
		Env: []string{"OPENCODE_*", "ANTHROPIC_*", "OPENAI_*"},
		Set: []string{
			"OPENCODE_DISABLE_AUTOUPDATE=1",
			// It has no mode in which it asks.
			`OPENCODE_PERMISSION={"bash":"ask","edit":"ask","webfetch":"ask","websearch":"ask","task":"ask","external_directory":"ask"}`,
		},
		Untrusted: []string{"OPENCODE_DISABLE_PROJECT_CONFIG=1"},
		SignIn: SignIn{
			Variables: []string{"OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"},
			Files:     []string{".local/share/opencode/auth.json"},
			Command:   "opencode auth login",
		},
		Install: "npm install -g opencode-ai@1.18.33", Tested: "1.18.33",
		Can:    &Features{Resume: true, Fork: true, Images: true, Models: true, Reasoning: true, Commands: true, MCP: true, Cost: true},
		Why:    map[terret.Capability]string{terret.CanBudget: "it tells what a turn costs only when the turn is over"},
		quirks: quirks{usage: usageOfCall, titleName: " ", startAgain: true},
	}
}
