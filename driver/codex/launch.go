package codex

import (
	"fmt"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// launch is all that is fixed when a process and its thread are started. The model is
// not.
type launch struct {
	env       []string
	dir       string
	args      []string
	sandbox   string
	developer string         // instructions beside the system prompt
	config    map[string]any // overrides of Codex's own settings
	gates     []terret.Gate  // that have a hook of their own
	ignored   []string       // options that Codex has nothing for
}

// serves reports whether a process that was started so can do what one started as other
// says would do. One that asks at more gates than anybody wants is good enough.
func (l launch) serves(other launch) bool {
	return l.key() == other.key() &&
		!slices.ContainsFunc(other.gates, func(g terret.Gate) bool { return !slices.Contains(l.gates, g) })
}

// key tells launches apart, but for their gates.
func (l launch) key() string {
	return string(seat.Encode([]any{l.env, l.dir, l.args, l.sandbox, l.developer, l.config}))
}

// The permission modes: Codex's sandboxes, and planning. The rules decide in all of them;
// a sandbox holds commands back besides.
const (
	noSandbox      = "danger-full-access"
	readOnly       = "read-only"
	workspaceWrite = "workspace-write"
	planMode       = "plan"
)

var permissionModes = []string{noSandbox, workspaceWrite, readOnly, planMode}

// The tools that Codex has, as the model calls them.
const (
	shellTool  = "exec_command"
	patchTool  = "apply_patch"
	imageTool  = "view_image"
	searchTool = "web_search"
	askTool    = "request_user_input"
)

var toolNames = []string{shellTool, patchTool, imageTool, searchTool, askTool}

// launchOf is the launch for turns with those settings.
func (d *Driver) launchOf(r terret.OpenRequest, mode string, in terret.Settings) launch {
	l := launch{
		env: d.environ(r.Env, r.Session.Cwd), dir: r.Session.Cwd, args: d.cfg.Args, sandbox: noSandbox,
		developer: in.SystemAppend, gates: hookedGates(in.Gates),
	}
	if mode != "" && mode != planMode {
		l.sandbox = mode
	}
	trust := "untrusted"
	if r.Trusted && (in.SettingSources == nil || slices.Contains(in.SettingSources, "project")) {
		trust = "trusted"
	}
	l.config = map[string]any{
		// Said each time, since Codex would remember the folder as trusted by itself.
		"projects": object{r.Session.Cwd: object{"trust_level": trust}},
		// Commands do not see the keys with which Codex reaches its model.
		"shell_environment_policy.ignore_default_excludes": false,
		"features.default_mode_request_user_input":         true,
		"suppress_unstable_features_warning":               true,
		"features.shell_tool":                              has(in, shellTool),
		// What is typed into a running command would pass neither hooks nor approvals.
		"features.unified_exec_tty": false,
		// Without a network a turn ends with an error; it would wait for one.
		"features.unbounded_connection_retries": false,
		"model_reasoning_summary":               "auto",
	}
	if !slices.Contains(in.ApprovedTools, searchTool) || !has(in, searchTool) {
		l.config["web_search"] = "disabled" // the provider runs it, so it does not pass us
	}
	if in.Effort != "" {
		l.config["model_reasoning_effort"] = in.Effort
	}
	if servers := mcpServers(in.MCP); len(servers) > 0 {
		l.config["mcp_servers"] = servers
	}
	if l.sandbox == workspaceWrite {
		// Without temporary folders: Codex leaves empty folders in what it protects.
		l.config["sandbox_workspace_write"] = object{
			"exclude_tmpdir_env_var": true, "exclude_slash_tmp": true, "writable_roots": append([]string{}, in.AddDirs...),
		}
	}
	if in.FallbackModel != "" {
		l.ignored = append(l.ignored, "fallback_model")
	}
	if len(in.Agents) > 0 {
		l.ignored = append(l.ignored, "agents")
	}
	return l
}

// has reports whether the tool exists in turns with those settings. Of others we can only
// see to it that they are denied.
func has(in terret.Settings, tool string) bool {
	return (in.Tools == nil || slices.Contains(in.Tools, tool)) && !slices.Contains(in.RemovedTools, tool)
}

// offered are the tools that we know to exist.
func (l launch) offered() []string {
	return slices.DeleteFunc(slices.Clone(toolNames), func(tool string) bool {
		return tool == shellTool && l.config["features.shell_tool"] == false || tool == searchTool && l.config["web_search"] == "disabled"
	})
}

// mcpServers are the servers of a config file, as Codex names their settings.
func mcpServers(config terret.JSON) map[string]any {
	all, _ := seat.Servers(config) // what can be read is read
	out := map[string]any{}
	for name, s := range all {
		// Our hook decides about its tools.
		server := object{"default_tools_approval_mode": "approve"}
		set := func(key string, value any, is bool) {
			if is {
				server[key] = value
			}
		}
		set("command", s.Command, s.Command != "")
		set("args", s.Args, len(s.Args) > 0)
		set("env", s.Env, len(s.Env) > 0)
		set("cwd", s.Cwd, s.Cwd != "")
		set("url", s.URL, s.URL != "")
		set("http_headers", s.Headers, len(s.Headers) > 0)
		out[name] = server
	}
	return out
}

// warnings are about what was asked for and is not done.
func (l launch) warnings() []terret.Event {
	if len(l.ignored) == 0 {
		return nil
	}
	return []terret.Event{{Data: terret.DiagWarning{
		Text: fmt.Sprintf("Codex has nothing for these options, so they are not used: %s", strings.Join(l.ignored, ", ")),
	}}}
}

// ownVariables are Codex's: who is signed in, where, and its settings.
var ownVariables = []string{"CODEX_*", "OPENAI_*", "AZURE_OPENAI_*"}

// environ is what the process sees: what programs usually need, its own variables, what
// a person added, and none of what an agent around us has set.
func (d *Driver) environ(env []string, dir string) []string {
	return seat.Variables{
		Allow: slices.Concat(ownVariables, d.cfg.Env),
		// It would take itself for a child of the agent that has set these.
		Hide: []string{"CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_MANAGED_BY_NPM", "CODEX_MANAGED_PACKAGE_ROOT"},
		Set:  []string{"PWD=" + dir},
	}.Of(env)
}

// checkSession refuses what Codex would misread.
func checkSession(s terret.Session, in terret.Settings) error {
	if s.NativeID != "" {
		if _, err := parseNative(string(s.NativeID)); err != nil {
			return err
		}
	}
	if err := checkMode(s.PermissionMode); err != nil {
		return err
	}
	if err := terret.CheckWord("model", s.Model); err != nil {
		return err
	}
	return checkSettings(in)
}

func checkSettings(in terret.Settings) error {
	if err := checkMode(in.PermissionMode); err != nil {
		return err
	}
	if err := seat.CheckWords(map[string][]string{"model": {in.Model}, "effort": {in.Effort}}); err != nil {
		return err
	}
	return seat.CheckObjects(map[string]terret.JSON{"mcp": in.MCP, "output_schema": in.OutputSchema})
}

func checkMode(mode string) error {
	if mode != "" && !slices.Contains(permissionModes, mode) {
		return terret.Invalid("permission_mode", "Codex has no permission mode %q; use one of %s", mode, strings.Join(permissionModes, ", "))
	}
	return nil
}

// native says how a thread is gone on with. Its text is the thread's id, or "ID@TURN" for
// a copy of it up to and including that turn, which is made when it is opened, or "ID@"
// for a copy of all of it.
type native struct {
	id   string
	copy bool
	last string // turn; empty for all
}

func parseNative(s string) (native, error) {
	id, last, isCopy := strings.Cut(s, "@")
	if !terret.ValidID("", strings.ToLower(id)) || last != "" && !terret.ValidID("", strings.ToLower(last)) {
		return native{}, terret.Invalid("native_id", "%q is not the id of a thread of Codex, which is a UUID", s)
	}
	return native{id: id, copy: isCopy, last: last}, nil
}

func (n native) String() string {
	if n.copy {
		return n.id + "@" + n.last
	}
	return n.id
}
