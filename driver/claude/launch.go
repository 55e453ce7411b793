package claude

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// launch is everything that is fixed when a process starts. The session to resume, the
// model and the permission mode are not.
type launch struct {
	args    []string
	env     []string
	dir     string
	append  string      // to the system prompt
	servers terret.JSON // MCP servers, in the form of a config file
	agents  terret.JSON
	gates   []terret.Gate // those with a hook of their own, see gateHooks
	// dropped lists setting sources that were asked for but are not used.
	dropped []string
}

// key identifies a launch.
func (l launch) key() string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode([]any{l.args, l.env, l.dir, l.append, l.servers, l.agents, l.gates})
	return hex.EncodeToString(h.Sum(nil))
}

// serves reports whether a process started with l can do what one started with other
// would do. Asking at more gates than anybody wants is fine.
func (l launch) serves(other launch) bool {
	return slices.Equal(l.args, other.args) && slices.Equal(l.env, other.env) && l.dir == other.dir && l.append == other.append &&
		bytes.Equal(l.servers, other.servers) && bytes.Equal(l.agents, other.agents) &&
		!slices.ContainsFunc(other.gates, func(g terret.Gate) bool { return !slices.Contains(l.gates, g) })
}

// launchOf is the launch for turns with those settings. The environment is that of
// environ; it is the same for all turns of a session.
func (d *Driver) launchOf(r terret.OpenRequest, env []string, in terret.Settings) launch {
	s := r.Session
	sources, dropped := settingSources(in.SettingSources, r.Trusted)
	l := launch{
		env: env, dir: s.Cwd, dropped: dropped,
		append: in.SystemAppend, servers: in.MCP, agents: in.Agents, gates: hookedGates(in.Gates),
	}
	flag := func(name, value string) {
		if value != "" {
			l.args = append(l.args, name+"="+value)
		}
	}
	list := func(name string, values []string) {
		l.args = append(l.args, name+"="+strings.Join(values, ","))
	}
	list("--setting-sources", sources)
	flag("--fallback-model", in.FallbackModel)
	flag("--effort", in.Effort)
	if in.Tools != nil {
		list("--tools", in.Tools)
	}
	if len(in.RemovedTools) > 0 {
		list("--disallowedTools", in.RemovedTools)
	}
	if len(in.ApprovedTools) > 0 {
		list("--allowedTools", in.ApprovedTools)
	}
	for _, dir := range in.AddDirs {
		flag("--add-dir", dir)
	}
	flag("--json-schema", string(in.OutputSchema))
	if s.PermissionMode == bypass { // and only then
		l.args = append(l.args, "--allow-dangerously-skip-permissions")
	}
	if in.MaxTurns > 0 {
		flag("--max-turns", strconv.Itoa(in.MaxTurns))
	}
	l.args = append(l.args, d.cfg.Args...)
	return l
}

// bypass is the mode in which nothing is asked.
const bypass = "bypassPermissions"

// settingSources chooses which settings the agent reads. Those of a folder may hold
// hooks and servers, which run programs, so they count only if the folder is trusted.
// The same flag keeps the agent from the folder's .mcp.json, memory, commands, skills
// and subagents.
func settingSources(asked []string, trusted bool) (use, dropped []string) {
	if asked == nil {
		asked = []string{"user"}
		if trusted {
			asked = []string{"user", "project", "local"}
		}
	}
	for _, s := range asked {
		if s == "user" || trusted {
			use = append(use, s)
		} else {
			dropped = append(dropped, s)
		}
	}
	return use, dropped
}

// droppedSettings warns about settings that were asked for but are not used.
func droppedSettings(l launch) []terret.Event {
	if len(l.dropped) == 0 {
		return nil
	}
	return []terret.Event{{Data: terret.DiagWarning{
		Text: fmt.Sprintf("the folder is not trusted, so these of its settings are ignored: %s; run `terret trust` to use them", strings.Join(l.dropped, ", ")),
	}}}
}

// sessionEnv is the environment of a session's processes.
func (d *Driver) sessionEnv(r terret.OpenRequest) []string { return d.environ(r.Env, r.Session.Cwd) }

// environ is what the process sees: what programs usually need, its own variables, what
// a person added, and nothing that an agent around us has set.
func (d *Driver) environ(env []string, dir string) []string {
	return seat.Variables{
		Allow: append(ownVariables(env), d.cfg.Env...),
		// It would think that it is a child of the agent that has set these.
		Hide: []string{
			"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SSE_PORT", "CLAUDE_ENV_FILE",
		},
		Set: []string{"PWD=" + dir, "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1", "DISABLE_AUTOUPDATER=1"},
	}.Of(env)
}

// ownVariables are Claude Code's: who is signed in, where, and its settings.
func ownVariables(env []string) []string {
	names := []string{
		"ANTHROPIC_*", "CLAUDE_*", "DISABLE_*", "ENABLE_TOOL_SEARCH", "API_TIMEOUT_MS", "BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_*", "MCP_TIMEOUT", "MCP_TOOL_TIMEOUT",
		"MAX_THINKING_TOKENS", "MAX_MCP_OUTPUT_TOKENS", "USE_BUILTIN_RIPGREP", "IS_SANDBOX",
	}
	for provider, more := range map[string][]string{
		"CLAUDE_CODE_USE_BEDROCK": {"AWS_*"},
		"CLAUDE_CODE_USE_VERTEX":  {"GOOGLE_*", "CLOUD_ML_REGION", "VERTEX_*"},
		"CLAUDE_CODE_USE_FOUNDRY": {"AZURE_*"},
	} {
		if slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, provider+"=") }) {
			names = append(names, more...)
		}
	}
	return names
}

// checkSession rejects what the agent would misread.
func checkSession(s terret.Session) error {
	if s.NativeID != "" {
		if _, err := parseNative(string(s.NativeID)); err != nil {
			return err
		}
	}
	if s.PermissionMode != "" {
		if err := checkMode(s.PermissionMode, s); err != nil {
			return err
		}
	}
	return terret.CheckWord("model", s.Model)
}

// checkSettings rejects what the agent would misread.
func checkSettings(in terret.Settings, s terret.Session) error {
	if in.PermissionMode != "" {
		if err := checkMode(in.PermissionMode, s); err != nil {
			return err
		}
	}
	for _, source := range in.SettingSources {
		if !slices.Contains([]string{"user", "project", "local"}, source) {
			return terret.Invalid("setting_sources", "there is no source %q; use user, project or local", source)
		}
	}
	err := seat.CheckWords(map[string][]string{
		"model": {in.Model}, "fallback_model": {in.FallbackModel}, "effort": {in.Effort}, "tools": in.Tools,
		"disallowed_tools": in.RemovedTools, "auto_approve_tools": in.ApprovedTools, "add_dirs": in.AddDirs,
	})
	if err != nil {
		return err
	}
	return seat.CheckObjects(map[string]terret.JSON{"mcp": in.MCP, "agents": in.Agents, "output_schema": in.OutputSchema})
}

// checkMode rejects modes that the agent does not know, because it would accept them,
// and bypass unless the session was created with it.
func checkMode(mode string, s terret.Session) error {
	switch {
	case !validMode(mode):
		return terret.Invalid("permission_mode", "Claude Code has no permission mode %q; use one of %s", mode, strings.Join(permissionModes, ", "))
	case mode == bypass && s.PermissionMode != bypass:
		return terret.Invalid("permission_mode", "bypass can only be chosen at creation; start a session with --permission-mode %s", bypass)
	}
	return nil
}

// native says how to resume a session of the agent. Its text is the id, or "ID@MESSAGE"
// for a copy of the session up to that message, which the agent makes at the next
// prompt, or "ID@" for a copy of all of it; "ID@0" is an empty copy.
type native struct {
	id   string
	copy bool
	at   string // message; empty for all
}

// fromNothing is the message before the first.
const fromNothing = "0"

func parseNative(s string) (native, error) {
	id, at, isCopy := strings.Cut(s, "@")
	if !terret.ValidID("", strings.ToLower(id)) || at != "" && at != fromNothing && !terret.ValidID("", strings.ToLower(at)) {
		return native{}, terret.Invalid("native_id", "%q is not a session id of Claude Code; it must be a UUID", s)
	}
	return native{id: id, copy: isCopy, at: at}, nil
}

func (n native) String() string {
	if n.copy {
		return n.id + "@" + n.at
	}
	return n.id
}

// args are the arguments that resume it, or start a session if there is none, and what
// a translator must know about that.
func (n native) args() ([]string, options) {
	if n.id != "" && !n.copy {
		return []string{"--resume=" + n.id}, options{source: "resume", nativeID: n.id}
	}
	o := options{source: "new", nativeID: n.String(), expect: terret.NewSessionID()}
	args := []string{"--session-id=" + o.expect}
	if n.copy && n.at != fromNothing {
		o.source = "fork"
		args = append(args, "--resume="+n.id, "--fork-session")
		if n.at != "" {
			args = append(args, "--resume-session-at="+n.at)
		}
	}
	return args, o
}

// anew starts another session in place of one that the agent has lost.
func (n native) anew(why string) ([]string, options) {
	args, o := native{}.args()
	o.nativeID, o.reason, o.failed = n.String(), "stale", why
	return args, o
}

// lineID is a prompt's id in the agent's own record: the message's own id if it is a
// UUID, or else a UUID made from it.
func lineID(messageID string) string {
	if id, ok := strings.CutPrefix(messageID, terret.PrefixMessage); ok && terret.ValidID("", id) {
		return id
	}
	return terret.DerivedID("", "terret message "+messageID)
}
