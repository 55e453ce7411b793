package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/all"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/installation"
	"github.com/terret-dev/terret/policy"
)

// sessionFlags are the flags that run and chat share.
type sessionFlags struct {
	agent, model, cwd, persona, mode, policy, permissionMode string
	effort, systemAppend, mcp, resume, sandbox               string
	allow, deny, ask, tools, disallowed, autoApprove, gates  []string
	sources, addDirs                                         []string
	maxTurns                                                 int
	maxCost                                                  float64
	branch                                                   string
	timeout                                                  time.Duration
	continued, oneShot, raw, unenforced, worktree, record    bool
	set                                                      func(string) bool
}

func (f *sessionFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.agent, "agent", "", "agent to use; 'terret agents' lists them")
	fl.StringVar(&f.model, "model", "", "model, by the agent's name for it")
	fl.StringVar(&f.cwd, "cwd", "", "folder to work in (default: this one)")
	fl.StringVar(&f.persona, "persona", "", "persona, from agents/AGENT_*.md")
	fl.StringVar(&f.mode, "mode", "", "workbench, pipeline or direct")
	fl.StringVar(&f.policy, "policy", "", "what to do if no rule decides: ask, accept-edits (or auto-edit), plan, auto-approve (or full-auto), rules, deny-unless-allowed (or allowed-only)")
	fl.StringVar(&f.permissionMode, "permission-mode", "", "the agent's own permission mode")
	fl.StringArrayVar(&f.allow, "allow", nil, "rule for tool uses to allow, such as 'Bash(git *)' (repeatable)")
	fl.StringArrayVar(&f.deny, "deny", nil, "rule for tool uses to deny (repeatable)")
	fl.StringArrayVar(&f.ask, "ask", nil, "rule for tool uses to ask a person about, even if another rule allows them (repeatable)")
	fl.StringSliceVar(&f.tools, "tools", nil, "the agent's tools (default: all)")
	fl.StringSliceVar(&f.disallowed, "disallowed-tools", nil, "tools to remove")
	fl.StringSliceVar(&f.autoApprove, "auto-approve-tools", nil, "tools that run without asking")
	fl.StringSliceVar(&f.gates, "gate", nil, "where the agent waits for a decision: pre_tool, prompt, stop, subagent_stop or compact (repeatable)")
	fl.StringSliceVar(&f.sources, "setting-sources", nil, "which of its own settings the agent reads")
	fl.StringArrayVar(&f.addDirs, "add-dir", nil, "additional folder the agent may work in (repeatable)")
	fl.StringVar(&f.effort, "effort", "", "how much the model thinks")
	fl.IntVar(&f.maxTurns, "max-turns", 0, "maximum number of steps per turn")
	fl.Float64Var(&f.maxCost, "max-cost", 0, "maximum cost of the session, in dollars")
	fl.DurationVar(&f.timeout, "timeout", 0, "maximum time for a turn")
	fl.StringVar(&f.resume, "resume", "", "resume this session")
	fl.BoolVar(&f.continued, "continue", false, "resume the last session of this folder")
	fl.BoolVar(&f.oneShot, "one-shot", false, "use a new agent process for each turn")
	fl.StringVar(&f.branch, "branch", "", "with --worktree: what to name its branch after (default: the prompt)")
	fl.BoolVar(&f.worktree, "worktree", false, "work in a new git worktree of the folder, on its own branch")
	fl.StringVar(&f.systemAppend, "system-append", "", "text to append to the system prompt")
	fl.StringVar(&f.mcp, "mcp", "", "file that configures MCP servers")
	fl.StringVar(&f.sandbox, "sandbox", "", "run commands without network and let them change workspace-write (the default: the folder and temporary files) or read-only (nothing); or off")
	fl.Lookup("sandbox").NoOptDefVal = string(terret.SandboxWrite)
	fl.BoolVar(&f.raw, "raw", false, "keep the agent's own messages in the log")
	fl.BoolVar(&f.record, "record", false, "keep what the native agent's model is asked and answers, for 'terret replay'")
	fl.BoolVar(&f.unenforced, "unenforced", false, "start even if tool limits cannot be enforced")
	f.set = func(name string) bool { return cmd.Flags().Changed(name) }
}

// folder is the folder to work in.
func (f *sessionFlags) folder() (string, error) {
	if f.cwd != "" {
		return filepath.Abs(f.cwd)
	}
	return os.Getwd()
}

// into switches to the settings of the folder to work in, and asks whether to trust it
// if a person can be asked.
func (f *sessionFlags) into(a *app, interactive bool) error {
	dir, err := f.folder()
	if err != nil {
		return terret.Invalid("cwd", "%w", err)
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() { // otherwise creating the session fails and says so
		a.dir, a.works, a.asks = dir, true, interactive
	}
	return nil
}

func (f *sessionFlags) wantedGates() []terret.Gate {
	var out []terret.Gate
	for _, g := range f.gates {
		out = append(out, terret.Gate(g))
	}
	return out
}

// check rejects flags that no session can be made with.
func (f *sessionFlags) check() error {
	for flag, rules := range map[string][]string{"allow": f.allow, "deny": f.deny, "ask": f.ask} {
		for _, r := range rules {
			if _, err := policy.Parse(r); err != nil {
				return terret.Invalid(flag, "%w", err)
			}
		}
	}
	if err := terret.CheckGates("gate", f.wantedGates()); err != nil {
		return err
	}
	if err := terret.Sandbox(f.sandbox).Validate("sandbox"); err != nil {
		return err
	}
	if f.mode != "" {
		if err := terret.Mode(f.mode).Validate(); err != nil {
			return err
		}
	}
	switch {
	case f.maxTurns < 0:
		return terret.Invalid("max-turns", "%d must not be negative; leave it out to use the agent's own limit", f.maxTurns)
	case f.maxCost < 0 || math.IsNaN(f.maxCost) || math.IsInf(f.maxCost, 0):
		return terret.Invalid("max-cost", "%v is not an amount in dollars; leave it out for no limit", f.maxCost)
	case f.timeout < 0:
		return terret.Invalid("timeout", "%s must not be negative; leave it out for no limit", f.timeout)
	}
	return nil
}

// goOn resumes a session, with the changes that the flags ask for.
func (f *sessionFlags) goOn(ctx context.Context, a *app, e *engine.Engine, s terret.Session) (terret.Session, error) {
	for _, flag := range []string{
		"agent", "persona", "mode", "allow", "deny", "ask", "tools", "disallowed-tools", "auto-approve-tools", "gate", "setting-sources",
		"add-dir", "effort", "max-turns", "max-cost", "one-shot", "worktree", "branch", "system-append", "mcp", "sandbox", "record",
	} {
		same := flag == "agent" && a.harness.Agents.Name(f.agent) == s.Agent
		if f.set(flag) && !same {
			return terret.Session{}, terret.Invalid(flag, "this cannot be changed in session %s; leave --%s out, or start a new session", s.ID[:13], flag)
		}
	}
	var u terret.SessionUpdated
	if f.set("model") {
		u.Model, s.Model = &f.model, f.model
	}
	if f.set("policy") {
		s.Policy = terret.PolicyNamed(f.policy)
		u.Policy = &s.Policy
	}
	if f.set("permission-mode") {
		u.PermissionMode, s.PermissionMode = &f.permissionMode, f.permissionMode
	}
	if u == (terret.SessionUpdated{}) {
		return s, nil
	}
	return s, e.Update(ctx, s.ID, u, a.user())
}

// session finds the session to resume, or makes a new one.
func (f *sessionFlags) session(ctx context.Context, a *app, e *engine.Engine, interactive bool) (terret.Session, error) {
	dir, err := f.folder()
	if err != nil {
		return terret.Session{}, terret.Invalid("cwd", "%w", err)
	}
	if err := f.check(); err != nil {
		return terret.Session{}, err
	}
	switch {
	case f.resume != "" && f.continued:
		return terret.Session{}, terret.Invalid("resume", "use --resume or --continue, not both")
	case f.resume != "":
		s, err := a.resolve(ctx, f.resume)
		if err != nil {
			return terret.Session{}, err
		}
		return f.goOn(ctx, a, e, s)
	case f.continued:
		s, err := a.latest(ctx, dir)
		if err != nil {
			return terret.Session{}, err
		}
		return f.goOn(ctx, a, e, s)
	}
	s := terret.Session{
		Agent: f.agent, Model: f.model, Cwd: dir, Persona: terret.NullString(f.persona), Mode: terret.Mode(f.mode),
		Policy: terret.PolicyNamed(f.policy), PermissionMode: f.permissionMode, OneShot: f.oneShot,
		Options: terret.SessionOptions{
			Allow: f.allow, Deny: f.deny, Ask: f.ask, AddDirs: f.addDirs, Effort: f.effort, MaxTurns: f.maxTurns,
			MaxCostUSD: terret.CostOf(f.maxCost), SystemAppend: f.systemAppend, KeepRaw: f.raw,
			BasePrompt: f.mode != "", Gates: f.wantedGates(), Worktree: f.worktree, Sandbox: terret.Sandbox(f.sandbox), Record: f.record,
		},
	}
	for flag, list := range map[string]struct {
		from []string
		to   *[]string
	}{
		"tools": {f.tools, &s.Options.Tools}, "disallowed-tools": {f.disallowed, &s.Options.DisallowedTools},
		"auto-approve-tools": {f.autoApprove, &s.Options.AutoApproveTools}, "setting-sources": {f.sources, &s.Options.SettingSources},
	} {
		if f.set(flag) {
			*list.to = append([]string{}, list.from...)
		}
	}
	if f.mcp != "" {
		if s.Options.MCP, err = readJSON(f.mcp); err != nil {
			return terret.Session{}, err
		}
	}
	made, err := a.sessions(interactive).Create(ctx, s, assemble.CreateOptions{
		Unenforced: f.unenforced, Branch: f.branch, Tell: func(note string) { a.note("%s", oneLine(note)) },
	})
	if errors.Is(err, terret.ErrUnsupported) && terret.AsError(err).Field == assemble.UnenforcedField {
		err = terret.Errorf(terret.CodeUnsupported, "%w; --unenforced starts it anyway", err)
	}
	return made, err
}

// sessions makes sessions, with the defaults from the settings.
func (a *app) sessions(interactive bool) *installation.Sessions {
	return a.harness.Sessions(func(ctx context.Context, s *terret.Session) { a.defaults(ctx, s, interactive) })
}

// defaults fills in what neither flags nor config set.
func (a *app) defaults(ctx context.Context, s *terret.Session, interactive bool) {
	own := native.Config{Getenv: a.getenv, Providers: assemble.Providers(a.cfg)}
	why := "no key is set"
	s.Agent = nonEmpty(s.Agent, a.harness.Agents.Name(a.cfg.Agent))
	if s.Model == "" && (s.Agent == "" || own.Has(a.cfg.Model) == (s.Agent == native.Name)) {
		s.Model = a.cfg.Model // not another agent's
	}
	if s.Agent == "" && own.Has(s.Model) {
		s.Agent = native.Name
	}
	if s.Agent == "" {
		why = "no agent is installed and no key is set"
		s.Agent = all.Choose(ctx, a.harness.Agents.Drivers(), a.data, a.environ)
	}
	if s.Model == "" && s.Agent == native.Name {
		s.Model = native.New(own).DefaultModel()
		if s.Model == native.DemoModel {
			a.demoOnce.Do(func() { a.note("%s: using the built-in demo model (see `terret agents doctor`)", why) })
		}
	}
	if s.Model == native.DemoModel && s.Agent == native.Name {
		a.demo.Store(true)
	}
	if s.Policy == "" {
		s.Policy = terret.Policy(a.cfg.Policy)
	}
	if s.Policy == "" {
		defaultPolicy(s, interactive)
	}
	if s.Options.Sandbox == "" && a.harness.Agents.About(s.Agent).Sandbox {
		s.Options.Sandbox = terret.Sandbox(a.cfg.Sandbox) // others have none, or their own
	}
	s.Options.Record = s.Options.Record || a.cfg.Record && s.Agent == native.Name
	s.Options.Allow = append(s.Options.Allow, a.cfg.Rules.Allow...)
	s.Options.Deny = append(s.Options.Deny, a.cfg.Rules.Deny...)
}

// defaultPolicy is for a session for which nobody chose a policy. Where nobody can be
// asked, the agent may look at the folder that it is to work in, and nothing more.
func defaultPolicy(s *terret.Session, interactive bool) {
	switch s.PermissionMode {
	case "acceptEdits", "auto", "dontAsk", "bypassPermissions":
		s.Policy = terret.PolicyRules // a person has chosen what the agent itself allows
		return
	}
	if interactive {
		s.Policy = terret.PolicyAsk
		return
	}
	s.Policy = terret.PolicyDenyUnlessAllowed
	s.Options.Allow = append(s.Options.Allow, "Read(**)", "Glob(**)", "Grep(**)")
}

func readJSON(path string) (terret.JSON, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, terret.Invalid("mcp", "%w", err)
	}
	if !json.Valid(b) {
		return nil, terret.Invalid("mcp", "%s is not JSON", path)
	}
	return b, nil
}
