package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/terret-dev/terret"
)

//go:generate go run . reference page ../../docs/reference/commands.md

// newReference writes what is made of the commands' own help: for those who make packages.
func newReference() *cobra.Command {
	cmd := &cobra.Command{Use: "reference", Hidden: true, Short: "Write the reference of all commands", Args: exactArgs(), RunE: func(cmd *cobra.Command, _ []string) error {
		return cmd.Help()
	}}
	cmd.AddCommand(
		&cobra.Command{Use: "page FILE", Short: "Write one page of Markdown", Args: exactArgs("FILE"), RunE: func(cmd *cobra.Command, args []string) error {
			return writeFile(args[0], commandsPage(cmd.Root()))
		}},
		&cobra.Command{Use: "man DIR", Short: "Write a manual page for each command of the first level", Args: exactArgs("DIR"), RunE: func(cmd *cobra.Command, args []string) error {
			return writeManuals(cmd.Root(), args[0])
		}},
	)
	return cmd
}

func writeFile(path string, content []byte) error {
	if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // documentation, for everybody
		return terret.Invalid("file", "%w", err)
	}
	return nil
}

// offered are the commands below one that people see, in the order of their names.
func offered(cmd *cobra.Command) []*cobra.Command {
	var found []*cobra.Command
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			found = append(found, sub)
		}
	}
	return found
}

// helpOf is the long description of a command, or else the short one as a sentence.
func helpOf(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return strings.TrimSuffix(cmd.Short, ".") + "."
}

// commandsPage is all commands on one page.
func commandsPage(root *cobra.Command) []byte {
	root.InitDefaultCompletionCmd()
	var b bytes.Buffer
	b.WriteString("# Commands\n\nMade from the program's own help by `go generate`; do not edit. `terret COMMAND --help` prints the same.\n\n")
	fmt.Fprintf(&b, "```text\n%s\n```\n", helpOf(root))
	fmt.Fprintf(&b, "\nFlags of all commands:\n\n```text\n%s```\n", root.PersistentFlags().FlagUsages())
	for _, cmd := range offered(root) {
		pageOf(&b, cmd, 2)
	}
	return b.Bytes()
}

func pageOf(b *bytes.Buffer, cmd *cobra.Command, level int) {
	fmt.Fprintf(b, "\n%s %s\n\n```text\n%s\n\nUsage:\n  %s\n", strings.Repeat("#", min(level, 3)), cmd.CommandPath(), strings.TrimSpace(helpOf(cmd)), cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(b, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	if flags := flagsOf(cmd); flags.HasAvailableFlags() {
		fmt.Fprintf(b, "\nFlags:\n%s", flags.FlagUsages())
	}
	b.WriteString("```\n")
	for _, sub := range offered(cmd) {
		pageOf(b, sub, level+1)
	}
}

// flagsOf are a command's own flags, without that for its help.
func flagsOf(cmd *cobra.Command) *pflag.FlagSet {
	own := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && cmd.Root().PersistentFlags().Lookup(f.Name) == nil {
			own.AddFlag(f)
		}
	})
	return own
}

// writeManuals writes terret.1, and a page for each command of the first level with those
// below it.
func writeManuals(root *cobra.Command, dir string) error {
	root.InitDefaultCompletionCmd()
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // documentation, for everybody
		return terret.Invalid("dir", "%w", err)
	}
	if err := writeFile(filepath.Join(dir, "terret.1"), manual(root)); err != nil {
		return err
	}
	for _, cmd := range offered(root) {
		if err := writeFile(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"), manual(cmd)); err != nil {
			return err
		}
	}
	return nil
}

// manual is a manual page.
func manual(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %q 1 %q %q %q\n", strings.ToUpper(name), built().UTC().Format(time.DateOnly), "terret "+version(), "Terret")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", roff(name), roff(cmd.Short), roff(cmd.UseLine()))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(strings.TrimSpace(helpOf(cmd))))
	if cmd.HasExample() {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(strings.TrimRight(cmd.Example, "\n")))
	}
	if flags := flagsOf(cmd); cmd.HasParent() && flags.HasAvailableFlags() {
		fmt.Fprintf(&b, ".SH OPTIONS\n.nf\n%s\n.fi\n", roff(strings.TrimRight(flags.FlagUsages(), "\n")))
	} else if !cmd.HasParent() {
		fmt.Fprintf(&b, ".SH OPTIONS\n.nf\n%s\n.fi\n", roff(strings.TrimRight(cmd.Flags().FlagUsages()+cmd.PersistentFlags().FlagUsages(), "\n")))
	}
	if !cmd.HasParent() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range offered(cmd) {
			fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(name+"-"+sub.Name()), roff(sub.Short))
		}
	} else if len(offered(cmd)) > 0 {
		b.WriteString(".SH COMMANDS\n")
		manualBelow(&b, cmd)
	}
	if cmd.HasParent() {
		b.WriteString(".SH SEE ALSO\n.BR terret (1)\n")
	}
	return b.Bytes()
}

func manualBelow(b *bytes.Buffer, cmd *cobra.Command) {
	for _, sub := range offered(cmd) {
		fmt.Fprintf(b, ".SS %s\n.nf\n%s\n", roff(sub.UseLine()), roff(strings.TrimSpace(helpOf(sub))))
		if sub.HasExample() {
			fmt.Fprintf(b, "\n%s\n", roff(strings.TrimRight(sub.Example, "\n")))
		}
		if flags := flagsOf(sub); flags.HasAvailableFlags() {
			fmt.Fprintf(b, "\n%s\n", roff(strings.TrimRight(flags.FlagUsages(), "\n")))
		}
		b.WriteString(".fi\n")
		manualBelow(b, sub)
	}
}

// roff is text that stands for itself in a manual page.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...", "´", "'").Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
