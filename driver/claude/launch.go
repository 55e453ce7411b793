package claude

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/proc"
)

// oneShotTurns is how many steps a one-shot turn may take if nobody says.
const oneShotTurns = 25

// launch is all that is fixed when a process is started. The session that it goes on
// with, the model and the permission mode are not.
type launch struct {
	args    []string
	env     []string
	dir     string
	append  string      // to the system prompt
	servers terret.JSON // MCP servers, in the form of a config file
	agents  terret.JSON
	// dropped are sources of settings that were asked for and are not used.
	dropped []string
}

// key tells launches apart.
func (l launch) key() string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode([]any{l.args, l.env, l.dir, l.append, l.servers, l.agents})
	return hex.EncodeToString(h.Sum(nil))
}

// launchOf is the launch for turns with those options.
func (d *Driver) launchOf(r terret.OpenRequest, o terret.TurnOptions) launch {
	s := r.Session
	sources, dropped := settingSources(s.Options.SettingSources, r.Trusted)
	l := launch{
		env: d.environ(r.Env, s.Cwd), dir: s.Cwd, dropped: dropped,
		append: join(s.Options.SystemAppend, o.SystemAppend), servers: s.Options.MCP, agents: s.Options.Agents,
	}
	flag := func(name, value string) {
		if value != "" {
			l.args = append(l.args, name+"="+value)
		}
	}
	list := func(name string, values []string) {
		if values != nil {
			l.args = append(l.args, name+"="+strings.Join(values, ","))
		}
	}
	tools, disallowed, approved := effectiveTools(s.Options, o)
	l.args = append(l.args, "--setting-sources="+strings.Join(sources, ","))
	flag("--fallback-model", s.Options.FallbackModel)
	flag("--effort", cmp.Or(o.Effort, s.Options.Effort))
	list("--tools", tools)
	if len(disallowed) > 0 {
		list("--disallowedTools", disallowed)
	}
	if len(approved) > 0 {
		list("--allowedTools", approved)
	}
	for _, dir := range s.Options.AddDirs {
		flag("--add-dir", dir)
	}
	flag("--json-schema", string(s.Options.OutputSchema))
	if s.PermissionMode == bypass { // and only then
		l.args = append(l.args, "--allow-dangerously-skip-permissions")
	}
	limit := cmp.Or(o.MaxTurns, s.Options.MaxTurns)
	if s.OneShot {
		limit = cmp.Or(limit, oneShotTurns)
	}
	if limit > 0 {
		flag("--max-turns", strconv.Itoa(limit))
	}
	l.args = append(l.args, d.cfg.Args...)
	return l
}

// bypass is the mode in which nothing is asked.
const bypass = "bypassPermissions"

// effectiveTools says which tools exist, which are taken away and which run without
// being asked for. What overrides beats the session's own, which beats the turn's.
func effectiveTools(s terret.SessionOptions, o terret.TurnOptions) (tools, disallowed, approved []string) {
	pick := func(override, own, turn []string) []string {
		switch {
		case override != nil:
			return override
		case own != nil:
			return own
		}
		return turn
	}
	return pick(o.ToolsOverride, s.Tools, o.Tools),
		pick(o.DisallowedToolsOverride, s.DisallowedTools, o.DisallowedTools),
		pick(o.AutoApproveToolsOverride, s.AutoApproveTools, o.AutoApproveTools)
}

// settingSources says which settings the agent reads. Those of a folder hold hooks
// and servers, which run programs, so they count only when the folder is trusted.
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

// droppedSettings warns of settings that were asked for and are not used.
func droppedSettings(l launch) []terret.Event {
	if len(l.dropped) == 0 {
		return nil
	}
	return []terret.Event{{Data: terret.DiagWarning{
		Text: fmt.Sprintf("the folder is not trusted, so these settings of it are not read: %s; run `terret trust` to read them", strings.Join(l.dropped, ", ")),
	}}}
}

// environ is what the process sees: what it needs to reach its model, nothing that
// looks like another secret, and none of what an agent around us has set.
func (d *Driver) environ(env []string, dir string) []string {
	allow := append([]string{"ANTHROPIC_*", "CLAUDE_*"}, d.cfg.Env...)
	for provider, names := range map[string][]string{
		"CLAUDE_CODE_USE_BEDROCK": {"AWS_*"},
		"CLAUDE_CODE_USE_VERTEX":  {"GOOGLE_*"},
		"CLAUDE_CODE_USE_FOUNDRY": {"AZURE_*"},
	} {
		if slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, provider+"=") }) {
			allow = append(allow, names...)
		}
	}
	ours := []string{
		"PWD=" + dir, "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1", "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true", "DISABLE_AUTOUPDATER=1",
	}
	kept := slices.DeleteFunc(proc.FilterEnv(env, allow...), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		switch name {
		case "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SSE_PORT", "CLAUDE_ENV_FILE":
			return true // it would take itself for a child of that one
		}
		return slices.ContainsFunc(ours, func(o string) bool { return strings.HasPrefix(o, name+"=") })
	})
	return append(kept, ours...)
}

// checkSession refuses what the agent would misread.
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
	o := s.Options
	for _, source := range o.SettingSources {
		if !slices.Contains([]string{"user", "project", "local"}, source) {
			return terret.Invalid("setting_sources", "there is no source %q; use user, project or local", source)
		}
	}
	err := checkWords(map[string][]string{
		"model": {s.Model}, "fallback_model": {o.FallbackModel}, "effort": {o.Effort}, "tools": o.Tools,
		"disallowed_tools": o.DisallowedTools, "auto_approve_tools": o.AutoApproveTools, "add_dirs": o.AddDirs,
	})
	if err != nil {
		return err
	}
	for field, v := range map[string]terret.JSON{"mcp": o.MCP, "agents": o.Agents, "output_schema": o.OutputSchema} {
		var object map[string]json.RawMessage
		if len(v) > 0 && (json.Unmarshal(v, &object) != nil || object == nil) {
			return terret.Invalid(field, "it is not a JSON object")
		}
	}
	return nil
}

// checkTurn refuses options of a turn that the agent would misread.
func checkTurn(o terret.TurnOptions, s terret.Session) error {
	if o.PermissionMode != "" {
		if err := checkMode(o.PermissionMode, s); err != nil {
			return err
		}
	}
	return checkWords(map[string][]string{
		"model": {o.Model}, "effort": {o.Effort}, "tools": slices.Concat(o.Tools, o.ToolsOverride),
		"disallowed_tools":   slices.Concat(o.DisallowedTools, o.DisallowedToolsOverride),
		"auto_approve_tools": slices.Concat(o.AutoApproveTools, o.AutoApproveToolsOverride),
	})
}

// checkMode refuses a mode that the agent does not know, which it would accept, and
// the one without questions, which must be chosen when the session begins.
func checkMode(mode string, s terret.Session) error {
	switch {
	case !validMode(mode):
		return terret.Invalid("permission_mode", "Claude Code has no permission mode %q; use one of %v", mode, permissionModes)
	case mode == bypass && s.PermissionMode != bypass:
		return terret.Invalid("permission_mode", "a session goes without questions only if it was begun so; begin one with --permission-mode %s", bypass)
	}
	return nil
}

func checkWords(fields map[string][]string) error {
	for field, values := range fields {
		for _, v := range values {
			if err := checkWord(field, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkWord refuses a value that could be read as a flag or that hides something.
func checkWord(field, v string) error {
	if strings.HasPrefix(v, "-") {
		return terret.Invalid(field, "%q begins with a dash and could be read as a flag", v)
	}
	if strings.ContainsFunc(v, unicode.IsControl) {
		return terret.Invalid(field, "%q holds a control character", v)
	}
	return nil
}

// native says how a session of the agent is gone on with. Its text is the id, or
// "ID@MESSAGE" for a copy of the session up to that message, which the agent makes
// with the next prompt, or "ID@" for a copy of all of it; "ID@0" is a copy of
// nothing.
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
		return native{}, terret.Invalid("native_id", "%q is not the id of a session of Claude Code, which is a UUID", s)
	}
	return native{id: id, copy: isCopy, at: at}, nil
}

func (n native) String() string {
	if n.copy {
		return n.id + "@" + n.at
	}
	return n.id
}

// args are the arguments that go on with it, or begin a session if there is none,
// and what a translator must know of that.
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

// anew begins another session in place of one that the agent has lost.
func (n native) anew(why string) ([]string, options) {
	args, o := native{}.args()
	o.nativeID, o.reason, o.failed = n.String(), "stale", why
	return args, o
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// lineID is the id that a prompt has in the agent's own record: that of the message
// if it is one, and else one made of it.
func lineID(messageID string) string {
	if id, ok := strings.CutPrefix(messageID, terret.PrefixMessage); ok && terret.ValidID("", id) {
		return id
	}
	sum := sha256.Sum256([]byte("terret message " + messageID))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of our own making
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
