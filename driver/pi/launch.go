package pi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// launch is all that is fixed when a process is started, but for the session.
type launch struct {
	args    []string
	env     []string
	dir     string
	session []string // how the session is opened
}

// key tells launches apart, whatever session they open.
func (l launch) key() string {
	sum := sha256.Sum256(seat.Encode([]any{l.args, l.env, l.dir}))
	return hex.EncodeToString(sum[:])
}

// launchOf is the launch for turns with those settings, in a session with that model.
func (d *Driver) launchOf(r terret.OpenRequest, model string, in terret.Settings) (launch, error) {
	l := launch{dir: r.Session.Cwd, env: d.environ(r.Env, r.Session.Cwd)}
	l.args = append([]string{"--mode", "rpc"}, d.cfg.Args...)
	if in.Model != "" {
		model = in.Model
	}
	if model != "" {
		l.args = append(l.args, "--model", model)
	}
	if in.Effort != "" {
		l.args = append(l.args, "--thinking", efforts[in.Effort])
	}
	if r.Trusted {
		return l, nil
	}
	if _, err := os.Lstat(filepath.Join(l.dir, ".pi", "settings.json")); err == nil {
		return l, terret.Errorf(terret.CodeStartupRefused,
			"Pi follows .pi/settings.json (settings of Pi), which you have not trusted, and cannot be told to ignore it; "+
				"look at it and run `terret trust` in %s, or choose another agent", l.dir)
	}
	l.args = append(l.args, usersOwn(l.env)...)
	return l, nil
}

// usersOwn are the arguments with which Pi loads what is the user's, and nothing of the
// folder.
func usersOwn(env []string) []string {
	out := []string{"--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes"}
	home := agentDir(env)
	for _, each := range [][2]string{{"--skill", "skills"}, {"--prompt-template", "prompts"}} {
		if path := filepath.Join(home, each[1]); isDir(path) {
			out = append(out, each[0], path)
		}
	}
	for _, pattern := range []string{"*.ts", "*.js", "*/index.ts", "*/index.js"} {
		found, _ := filepath.Glob(filepath.Join(home, "extensions", pattern)) // the pattern is well-formed
		for _, path := range found {
			out = append(out, "-e", path)
		}
	}
	return out
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// agentDir is Pi's own folder.
func agentDir(env []string) string {
	home := seat.Lookup(env, "HOME")
	dir := seat.Lookup(env, "PI_CODING_AGENT_DIR")
	switch {
	case dir == "":
		return filepath.Join(home, ".pi", "agent")
	case dir == "~" || strings.HasPrefix(dir, "~/"):
		return filepath.Join(home, dir[1:])
	}
	return dir
}

// sessionArg names a session in the way in which Pi finds it soonest. By its id Pi reads
// all sessions of the folder.
func (l launch) sessionArg(id string) string {
	folder := "--" + strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimPrefix(l.dir, "/")) + "--"
	found, _ := filepath.Glob(filepath.Join(agentDir(l.env), "sessions", folder, "*_"+id+".jsonl")) // an id has no stars
	if len(found) == 1 {
		return found[0]
	}
	return id
}

// ownVariables are its own, and those in which providers of models keep their keys;
// others are for Config.Env.
var ownVariables = []string{
	"PI_*", "ANTHROPIC_*", "OPENAI_*", "AZURE_OPENAI_*", "GEMINI_API_KEY", "DEEPSEEK_API_KEY", "GROQ_API_KEY", "CEREBRAS_API_KEY", "XAI_API_KEY",
	"FIREWORKS_API_KEY", "OPENROUTER_API_KEY", "AI_GATEWAY_API_KEY", "ZAI_API_KEY", "MISTRAL_API_KEY", "MINIMAX_API_KEY", "MOONSHOT_API_KEY",
	"OPENCODE_API_KEY", "KIMI_API_KEY", "HF_TOKEN",
}

// environ is what the process sees: what programs usually need, its own variables and
// what a person added. It looks for no updates.
func (d *Driver) environ(env []string, dir string) []string {
	return seat.Variables{
		Allow: slices.Concat(ownVariables, d.cfg.Env),
		Set:   []string{"PWD=" + dir, "PI_SKIP_VERSION_CHECK=1", "PI_TELEMETRY=0"},
	}.Of(env)
}

// efforts are Pi's words for how much the model thinks, and those of others.
var efforts = map[string]string{
	"": "", "off": "off", "none": "off", "minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "xhigh",
}

// checkRequest refuses what Pi would misread.
func checkRequest(r terret.OpenRequest) error {
	if r.Session.NativeID != "" {
		if _, err := parseNative(string(r.Session.NativeID)); err != nil {
			return err
		}
	}
	if r.Session.PermissionMode != "" {
		return noModes(r.Session.PermissionMode)
	}
	if err := terret.CheckWord("model", r.Session.Model); err != nil {
		return err
	}
	return checkSettings(r.Settings)
}

func checkSettings(in terret.Settings) error {
	if in.PermissionMode != "" {
		return noModes(in.PermissionMode)
	}
	if _, ok := efforts[in.Effort]; !ok {
		return terret.Invalid("effort", "Pi does not know the effort %q; use off, minimal, low, medium, high or xhigh", in.Effort)
	}
	if err := terret.CheckWord("model", in.Model); err != nil {
		return err
	}
	return seat.CheckObjects(map[string]terret.JSON{"output_schema": in.OutputSchema})
}

func noModes(mode string) error {
	return terret.Invalid("permission_mode", "Pi has no permission modes, so not %q; leave it out", mode)
}

// unused are the options that Pi has nothing for.
func unused(in terret.Settings) []terret.Event {
	var names []string
	for _, each := range []struct {
		name string
		set  bool
	}{
		{"fallback_model", in.FallbackModel != ""},
		{"mcp", len(in.MCP) > 0},
		{"agents", len(in.Agents) > 0},
		{"setting_sources", in.SettingSources != nil},
	} {
		if each.set {
			names = append(names, each.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []terret.Event{{Data: terret.DiagWarning{
		Text: fmt.Sprintf("Pi has nothing for these options, so they are not used: %s", strings.Join(names, ", ")),
	}}}
}

// native says how a session is gone on with. Its text is the session's id, or
// "ID@MESSAGE" for a copy of it up to and including that message, which is made when it is
// opened, or "ID@" for a copy of all of it.
type native struct {
	id   string
	copy bool
	last string // message; empty for all
}

func parseNative(s string) (native, error) {
	id, last, isCopy := strings.Cut(s, "@")
	if !terret.ValidID("", strings.ToLower(id)) || strings.ContainsAny(last, "/ \n") {
		return native{}, terret.Invalid("native_id", "%q is not the id of a session of Pi, which is a UUID", s)
	}
	return native{id: id, copy: isCopy, last: last}, nil
}
