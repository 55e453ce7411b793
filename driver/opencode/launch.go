package opencode

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// launch is all that is fixed when a server is started. Sessions with the same launch
// share one.
type launch struct {
	argv []string
	env  []string
}

func (l launch) key() string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode([]any{l.argv, l.env})
	return hex.EncodeToString(h.Sum(nil))
}

// launchOf is the launch for turns with those settings. Most are the same: only MCP
// servers, subagents and untrusted folders need a server of their own kind.
func (d *Driver) launchOf(r terret.OpenRequest, in terret.Settings) (launch, error) {
	env, err := d.environ(r.Env, r.Trusted, in)
	if err != nil {
		return launch{}, err
	}
	argv := append([]string{d.cfg.Path, "serve", "--hostname", "127.0.0.1", "--port", "0"}, d.cfg.Args...)
	return launch{argv: argv, env: env}, nil
}

// providers are its own variables, and those in which providers of models keep their
// keys; others are for Config.Env.
var providers = []string{
	"OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "AZURE_*", "OPENROUTER_*", "GEMINI_*", "GOOGLE_GENERATIVE_AI_API_KEY", "GROQ_*", "MISTRAL_*",
	"XAI_*", "DEEPSEEK_*", "CEREBRAS_*", "TOGETHER_*", "FIREWORKS_*", "MOONSHOT_*", "ZHIPU_*", "VERCEL_*", "HF_TOKEN",
}

// Variables of ours.
const (
	configVar     = "OPENCODE_CONFIG_CONTENT"
	permissionVar = "OPENCODE_PERMISSION"
	passwordVar   = "OPENCODE_SERVER_PASSWORD"
	userVar       = "OPENCODE_SERVER_USERNAME"
	projectVar    = "OPENCODE_DISABLE_PROJECT_CONFIG"
)

// environ is what the server sees: what programs usually need, its own variables, what a
// person added, and our settings. A folder that is not trusted has no say.
func (d *Driver) environ(env []string, trusted bool, in terret.Settings) ([]string, error) {
	content, err := config(seat.Lookup(env, configVar), in)
	if err != nil {
		return nil, err
	}
	permission, err := extend(seat.Lookup(env, permissionVar))
	if err != nil {
		return nil, err
	}
	ours := []string{
		"PWD=/", configVar + "=" + content, permissionVar + "=" + permission, userVar + "=" + userName,
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_TERMINAL_TITLE=1",
	}
	if !trusted {
		ours = append(ours, projectVar+"=1")
	}
	return seat.Variables{Allow: slices.Concat(providers, d.cfg.Env), Hide: []string{passwordVar}, Set: ours}.Of(env), nil
}

// extend adds our permissions to those of the environment. Ours are the last.
func extend(theirs string) (string, error) {
	theirs = strings.TrimSpace(theirs)
	if theirs == "" {
		return "{" + askAlways + "}", nil
	}
	inner, ok := strings.CutPrefix(theirs, "{")
	inner, end := strings.CutSuffix(inner, "}")
	if !ok || !end || !json.Valid([]byte(theirs)) {
		return "", terret.Errorf(terret.CodeInvalidRequest, "the variable %s is not a JSON object", permissionVar)
	}
	if strings.TrimSpace(inner) == "" {
		return "{" + askAlways + "}", nil
	}
	return "{" + inner + "," + askAlways + "}", nil
}

// config adds our settings to those of the environment. Files are recorded by us, not
// by the agent: one of the two must say what undo does.
func config(theirs string, in terret.Settings) (string, error) {
	object := map[string]json.RawMessage{}
	if strings.TrimSpace(theirs) != "" {
		if json.Unmarshal([]byte(theirs), &object) != nil || object == nil {
			return "", terret.Errorf(terret.CodeInvalidRequest, "the variable %s is not a JSON object", configVar)
		}
	}
	object["snapshot"] = json.RawMessage("false")
	object["autoupdate"] = json.RawMessage("false")
	servers, err := mcpServers(in.MCP)
	if err != nil {
		return "", err
	}
	agents, err := subagents(in.Agents)
	if err != nil {
		return "", err
	}
	for name, add := range map[string]map[string]any{"mcp": servers, "agent": agents} {
		if len(add) == 0 {
			continue
		}
		all := map[string]json.RawMessage{}
		seat.Decode(object[name], &all)
		for k, v := range add {
			all[k] = seat.Encode(v)
		}
		object[name] = seat.Encode(all)
	}
	return string(seat.Encode(object)), nil
}

// mcpServers gives MCP servers in the agent's form.
func mcpServers(asked terret.JSON) (map[string]any, error) {
	all, err := seat.Servers(asked)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for name, s := range all {
		switch {
		case s.Command != "":
			out[name] = map[string]any{"type": "local", "enabled": true, "command": append([]string{s.Command}, s.Args...), "environment": orEmpty(s.Env)}
		case s.URL != "":
			out[name] = map[string]any{"type": "remote", "enabled": true, "url": s.URL, "headers": orEmpty(s.Headers)}
		default:
			return nil, terret.Invalid("mcp", "the server %q has neither a command nor a url", name)
		}
	}
	return out, nil
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// subagents gives subagents in the agent's form.
func subagents(asked terret.JSON) (map[string]any, error) {
	if len(asked) == 0 {
		return nil, nil
	}
	var all map[string]struct {
		Description string `json:"description"`
		Prompt      string `json:"prompt"`
		Model       string `json:"model"`
	}
	if json.Unmarshal(asked, &all) != nil {
		return nil, terret.Invalid("agents", "it is not an object of agents by name")
	}
	out := map[string]any{}
	for name, a := range all {
		one := map[string]any{"mode": "subagent", "description": a.Description, "prompt": a.Prompt}
		if strings.Contains(a.Model, "/") { // other agents' short names mean nothing here
			one["model"] = a.Model
		}
		out[name] = one
	}
	return out, nil
}

// checkSettings refuses what the agent cannot do, rather than to leave it out in
// silence, and what it would misread.
func checkSettings(in terret.Settings) error {
	if in.FallbackModel != "" {
		return terret.Errorf(terret.CodeUnsupported, "OpenCode has no fallback model; leave fallback_model out")
	}
	if err := seat.CheckWords(map[string][]string{"model": {in.Model}, "effort": {in.Effort}, "permission_mode": {in.PermissionMode}}); err != nil {
		return err
	}
	return seat.CheckObjects(map[string]terret.JSON{"mcp": in.MCP, "agents": in.Agents, "output_schema": in.OutputSchema})
}

// checkSession refuses what the agent would misread.
func checkSession(s terret.Session) error {
	if s.NativeID != "" && !isSession(string(s.NativeID)) {
		return terret.Invalid("native_id", "%q is not the id of a session of OpenCode, which begins with ses_", s.NativeID)
	}
	if err := terret.CheckWord("permission_mode", s.PermissionMode); err != nil {
		return err
	}
	return terret.CheckWord("model", s.Model)
}
