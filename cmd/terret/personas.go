package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

type personaOptions struct {
	cwd, mode, id string
	json          bool
}

func newPersonas(a *app) *cobra.Command {
	var o personaOptions
	list := func(*cobra.Command, []string) error { return runPersonasLs(a, o) }
	cmd := &cobra.Command{Use: "personas", Short: "List and show the personas of a project", Args: exactArgs(), RunE: list}
	ls := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List personas", Args: exactArgs(), RunE: list}
	show := &cobra.Command{Use: "show ID", Short: "Show what a persona may and may not do", Args: exactArgs("ID"), RunE: func(_ *cobra.Command, args []string) error {
		o.id = args[0]
		return runPersonasShow(a, o)
	}}
	prompt := &cobra.Command{
		Use: "prompt [ID]", Short: "Print the system prompt, with or without a persona", Args: maxOneArg,
		RunE: func(_ *cobra.Command, args []string) error {
			o.id = strings.Join(args, "")
			return runPersonasPrompt(a, o)
		},
	}
	cmd.PersistentFlags().StringVar(&o.cwd, "cwd", "", "the project's folder (default: this one)")
	for _, c := range []*cobra.Command{cmd, ls, show} {
		c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	}
	prompt.Flags().StringVar(&o.mode, "mode", "", "workbench, pipeline or direct")
	cmd.AddCommand(ls, show, prompt)
	return cmd
}

// project returns the absolute path of the project's folder, and loads its settings.
func (o personaOptions) project(a *app) (string, error) {
	dir, err := filepath.Abs(nonEmpty(o.cwd, "."))
	if err != nil {
		return "", terret.Invalid("cwd", "%w", err)
	}
	a.quiet = true
	return dir, a.prepare()
}

func runPersonasLs(a *app, o personaOptions) error {
	dir, err := o.project(a)
	if err != nil {
		return err
	}
	found, err := a.harness.Roles.List(dir)
	if err != nil {
		return err
	}
	list := httpapi.Personas{Items: found.Personas}
	for _, broken := range found.Broken {
		list.Broken = append(list.Broken, broken.Error())
	}
	defer func() {
		for _, broken := range list.Broken {
			a.note("cannot be used: %s", oneLine(broken))
		}
	}()
	if o.json {
		return a.printJSON(list)
	}
	if len(found.Personas) == 0 && len(found.Broken) == 0 {
		a.note("no personas here; a persona is a file named agents/AGENT_*.md")
		return nil
	}
	return listing[terret.Persona]{head: "ID\tTOOLS\tFILE\tDESCRIPTION", row: func(p terret.Persona) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s", p.ID, fit(toolNames(p.Tools, "all"), 40), printable(p.SourceFile), printable(nonEmpty(p.Description, "-")))
	}}.print(a.out, found.Personas)
}

// toolNames formats a list of tools or rules.
func toolNames(list []string, otherwise string) string {
	switch {
	case list == nil:
		return otherwise
	case len(list) == 0:
		return "none"
	}
	return printable(strings.Join(list, ", "))
}

func runPersonasShow(a *app, o personaOptions) error {
	dir, err := o.project(a)
	if err != nil {
		return err
	}
	p, err := a.harness.Roles.Persona(dir, o.id)
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(p)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	turns := "-"
	if p.MaxTurns > 0 {
		turns = fmt.Sprint(p.MaxTurns)
	}
	for _, row := range [][2]string{
		{"persona", p.ID},
		{"file", printable(p.SourceFile)},
		{"description", printable(p.Description)},
		{"tools", toolNames(p.Tools, "all")},
		{"disallowed tools", toolNames(p.DisallowedTools, "-")},
		{"auto-approve tools", toolNames(p.AutoApproveTools, "-")},
		{"max turns", turns},
		{"gates", gateNames(p.Gates)},
		{"model", printable(p.Model)},
		{"agent", p.Agent},
		{"policy", string(p.Policy)},
		{"trusted", yes(p.Trusted)},
	} {
		fmt.Fprintf(w, "%s\t%s\n", row[0], nonEmpty(row[1], "-"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if ignored := assemble.IgnoredGrants(p); ignored != "" {
		a.note("%s", ignored)
	}
	return nil
}

func gateNames(gates []terret.Gate) string {
	var out []string
	for _, g := range gates {
		out = append(out, string(g))
	}
	return strings.Join(out, ", ")
}

func runPersonasPrompt(a *app, o personaOptions) error {
	dir, err := o.project(a)
	if err != nil {
		return err
	}
	var role *terret.Persona
	if o.id != "" {
		p, err := a.harness.Roles.Persona(dir, o.id)
		if err != nil {
			return err
		}
		role = &p
	}
	prompt, err := a.harness.Roles.Prompt(dir, role, terret.Mode(o.mode))
	if err != nil {
		return err
	}
	for _, n := range prompt.Notes {
		a.note("%s", oneLine(n))
	}
	_, err = fmt.Fprintln(a.out, printable(prompt.Text))
	return err
}
