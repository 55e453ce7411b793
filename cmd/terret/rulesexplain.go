package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/policy"
)

// explainFlags say what to explain: a tool use, and the session in which it is judged.
type explainFlags struct {
	session          terret.Session
	policy, tool     string
	input            string
	allow, deny, ask []string
	asJSON           bool
}

func newRulesExplain(a *app) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use: "explain [flags] [--] COMMAND", Short: "Say what would happen to a command or another tool use, and why",
		Long: `Say what would be decided if an agent asked to run the command: by the rules that are
stored and configured, those of --allow, --deny and --ask, and the policy. It is judged as
requests are.`,
		Example: `  terret rules explain 'git push --force'
  terret rules explain --allow 'Bash(npm *)' --policy auto-approve 'npm test > out.txt'
  terret rules explain --tool Write --input '{"file_path":".git/config"}'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.policy, "policy", "", "judge under this `policy`, not under the one that a new session would have")
	flags.StringArrayVar(&f.allow, "allow", nil, "judge with this allow `rule`, too (repeatable)")
	flags.StringArrayVar(&f.deny, "deny", nil, "judge with this deny `rule`, too (repeatable)")
	flags.StringArrayVar(&f.ask, "ask", nil, "judge with this ask `rule`, too (repeatable)")
	flags.StringVar(&f.session.Cwd, "cwd", "", "the `folder` of the session (default: this one)")
	flags.StringVar(&f.session.Agent, "agent", "", "the `agent` that asks")
	flags.StringVar(&f.tool, "tool", "", "explain the use of this `tool`, such as Write, instead of a command")
	flags.StringVar(&f.input, "input", "", "the tool's input, a JSON `object`")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	return cmd
}

// use is the tool use to explain.
func (f *explainFlags) use(args []string) (terret.PermissionRequest, error) {
	command := strings.Join(args, " ")
	switch {
	case f.tool == "" && command == "":
		return terret.PermissionRequest{}, terret.Invalid("command", "name a command, or a tool with --tool and --input")
	case f.tool == "" && f.input != "":
		return terret.PermissionRequest{}, terret.Invalid("tool", "--input needs --tool")
	case f.tool == "":
		return policy.CommandUse(command), nil
	case command != "":
		return terret.PermissionRequest{}, terret.Invalid("command", "a tool's input is given with --input, not as words")
	case f.input == "":
		f.input = "{}"
	case !json.Valid([]byte(f.input)):
		return terret.PermissionRequest{}, terret.Invalid("input", "--input is not JSON")
	}
	return terret.PermissionRequest{Tool: f.tool, Class: policy.ClassOf(f.tool), Input: terret.JSON(f.input)}, nil
}

func (f *explainFlags) run(ctx context.Context, a *app, args []string) error {
	use, err := f.use(args)
	if err != nil {
		return err
	}
	for _, pattern := range append(append(append([]string{}, f.allow...), f.deny...), f.ask...) {
		if _, err := policy.Parse(pattern); err != nil {
			return err
		}
	}
	s := f.session
	if s.Cwd, err = filepath.Abs(s.Cwd); err != nil {
		return err
	}
	if s.Policy = terret.PolicyNamed(f.policy); s.Policy != "" {
		if err := s.Policy.Validate(); err != nil {
			return err
		}
	}
	s.Options.Allow, s.Options.Deny, s.Options.Ask = f.allow, f.deny, f.ask
	_, stop, err := a.start(ctx, false)
	if err != nil {
		return err
	}
	defer stop()
	if s.Agent = cmp.Or(s.Agent, a.cfg.Agent, native.Name); s.Agent == native.Name {
		s.Model = native.DemoModel // none is asked
	}
	why, err := a.sessions(true).Explain(ctx, s, use)
	if err != nil {
		return err
	}
	if f.asJSON {
		return a.printJSON(why)
	}
	fmt.Fprintln(a.out, why.Decision)
	for _, reason := range why.Reasons {
		fmt.Fprintln(a.out, "  "+printable(reason))
	}
	return nil
}
