package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/httpapi"
	"github.com/terret-dev/terret/internal/persona"
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
		Use: "prompt [ID]", Short: "Print the system prompt, with a persona or without", Args: maxOneArg,
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

// project is the absolute path of the project's folder. Settings are read then.
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
	found, err := a.personas.List(dir)
	if err != nil {
		return err
	}
	trusted := a.trusts(dir)
	for i := range found.Personas {
		found.Personas[i].Trusted = trusted
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
		a.note("no personas here; they are files named agents/AGENT_*.md")
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tTOOLS\tFILE\tDESCRIPTION")
	for _, p := range found.Personas {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.ID, cut(toolNames(p.Tools, "all"), 40), p.SourceFile, printable(nonEmpty(p.Description, "-")))
	}
	return w.Flush()
}

// toolNames writes a list of tools or rules for people.
func toolNames(list []string, otherwise string) string {
	switch {
	case list == nil:
		return otherwise
	case len(list) == 0:
		return "none"
	}
	return printable(strings.Join(list, ", "))
}

// persona loads a persona and says whether the folder is trusted.
func (a *app) persona(dir, id string) (terret.Persona, error) {
	p, err := a.personas.Load(dir, id)
	if err != nil {
		return terret.Persona{}, err
	}
	p.Trusted = a.trusts(dir)
	return p, nil
}

func runPersonasShow(a *app, o personaOptions) error {
	dir, err := o.project(a)
	if err != nil {
		return err
	}
	p, err := a.persona(dir, o.id)
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
		{"file", p.SourceFile},
		{"description", printable(p.Description)},
		{"tools", toolNames(p.Tools, "all")},
		{"disallowed tools", toolNames(p.DisallowedTools, "-")},
		{"auto-approve tools", toolNames(p.AutoApproveTools, "-")},
		{"max turns", turns},
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
	a.notTrusted(p)
	return nil
}

// notTrusted says which settings of a persona do not act.
func (a *app) notTrusted(p terret.Persona) {
	if grants := persona.Grants(p); !p.Trusted && len(grants) > 0 {
		a.note("of persona %s, %s does not act: the folder is not trusted (see `terret trust`)", p.ID, strings.Join(grants, ", "))
	}
}

func runPersonasPrompt(a *app, o personaOptions) error {
	dir, err := o.project(a)
	if err != nil {
		return err
	}
	r := persona.PromptRequest{Dir: dir, Mode: terret.Mode(o.mode)}
	if o.id != "" {
		p, err := a.persona(dir, o.id)
		if err != nil {
			return err
		}
		r.Persona = &p
	}
	prompt, err := a.personas.Prompt(r)
	if err != nil {
		return err
	}
	a.promptNotes(prompt)
	_, err = fmt.Fprintln(a.out, printable(prompt.Text))
	return err
}

func (a *app) promptNotes(p persona.Prompt) {
	for _, n := range p.Notes {
		a.note("%s", oneLine(n))
	}
}

// role gives a session that is to be made its persona, and makes sure that there is a
// system prompt for it.
func (f *sessionFlags) role(a *app, s terret.Session) (terret.Session, error) {
	if !f.hasRole(s) {
		return s, nil
	}
	var role *terret.Persona
	if f.persona != "" {
		p, err := a.persona(s.Cwd, f.persona)
		if err != nil {
			return s, err
		}
		a.notTrusted(p)
		s = persona.Apply(p, s)
		s.Persona, role = terret.NullString(p.ID), &p
	}
	prompt, err := a.personas.Prompt(persona.PromptRequest{Dir: s.Cwd, Persona: role, Mode: s.Mode})
	if err != nil {
		return s, err
	}
	a.promptNotes(prompt)
	return s, nil
}

// hasRole reports whether the session gets a system prompt of ours: it has a persona,
// or a mode that somebody has asked for.
func (f *sessionFlags) hasRole(s terret.Session) bool {
	return s.Persona != "" || f.mode != "" || s.Mode != "" && s.Mode != terret.ModeDirect
}

// next is the session's next prompt. What goes into the system prompt is read anew
// for each turn, and written down where people can look it up.
func (f *sessionFlags) next(a *app, s terret.Session, text string) (terret.Prompt, error) {
	out := terret.Prompt{Blocks: []terret.Block{terret.Text(text)}}
	if !f.hasRole(s) {
		return out, nil
	}
	var role *terret.Persona
	if s.Persona != "" {
		p, err := a.persona(s.Cwd, string(s.Persona))
		if err != nil {
			return out, err
		}
		role = &p
		out.Options = persona.Turn(persona.Resolve(role, s.Options, out.Options), out.Options)
	}
	prompt, err := a.personas.Prompt(persona.PromptRequest{Dir: s.Cwd, Persona: role, Mode: s.Mode})
	if err != nil {
		return out, err
	}
	out.Options.SystemAppend = prompt.Text
	whole := strings.TrimPrefix(s.Options.SystemAppend+"\n\n"+prompt.Text, "\n\n")
	if _, err := a.files.SavePrompt(s, whole); err != nil {
		a.note("warning: %s", printable(err.Error()))
	}
	return out, nil
}

// overseen refuses a session whose agent could get around what the session forbids,
// unless the person wants it nevertheless.
func (f *sessionFlags) overseen(ctx context.Context, a *app, s terret.Session) error {
	if persona.CheckOversight(terret.Capabilities{}, s.Options) == nil {
		return nil // nothing is forbidden
	}
	var can terret.Capabilities
	for _, d := range a.drivers {
		prober, ok := d.(terret.Prober)
		if d.Name() != s.Agent || !ok {
			continue
		}
		probe, err := prober.Probe(ctx)
		if err != nil {
			return err
		}
		if !probe.Found {
			return nil // whoever starts it says what is missing
		}
		can = probe.Capabilities
	}
	err := persona.CheckOversight(can, s.Options)
	if err == nil {
		return nil
	}
	if f.unenforced {
		a.note("%s: %v", s.Agent, err)
		return nil
	}
	return terret.Errorf(terret.CodeUnsupported, "%s: %w; --unenforced starts it nevertheless", s.Agent, err)
}
