package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/keys"
)

func newKeys(a *app) *cobra.Command {
	var asJSON bool
	list := func(*cobra.Command, []string) error { return runKeysLs(a, asJSON) }
	cmd := &cobra.Command{
		Use: "keys", Short: "Keep the keys of models' APIs for the native agent", Args: exactArgs(),
		Long: "Keep the keys of models' APIs for the native agent, in the keyring of the operating\n" +
			"system or, where there is none, in a file that only you can read. A key in the\n" +
			"environment (OPENAI_API_KEY and the like) takes precedence.",
		Example: "  terret keys set openai < key.txt",
		RunE:    list,
	}
	set := &cobra.Command{
		Use: "set PROVIDER", Short: "Keep a key, which is read from standard input", Args: exactArgs("PROVIDER"),
		RunE: func(cmd *cobra.Command, args []string) error { return runKeysSet(cmd, a, args[0]) },
	}
	rm := &cobra.Command{
		Use: "rm PROVIDER", Aliases: []string{"remove"}, Short: "Forget a key", Args: exactArgs("PROVIDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.keyStore()
			if err != nil {
				return err
			}
			found, err := s.Remove(cmd.Context(), args[0])
			if err == nil && !found {
				err = terret.Errorf(terret.CodeNotFound, "there is no key for %s; `terret keys` lists those that are kept", args[0])
			}
			return err
		},
	}
	ls := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List the providers whose keys are kept", Args: exactArgs(), RunE: list}
	for _, c := range []*cobra.Command{cmd, ls} {
		c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	}
	cmd.AddCommand(ls, set, rm)
	return cmd
}

// keyStore opens the keys.
func (a *app) keyStore() (*keys.Store, error) { return a.secrets(keys.Open, "keys are for people") }

// secrets opens a store of secrets, which agents must not use.
func (a *app) secrets(open func(dir string) *keys.Store, why string) (*keys.Store, error) {
	if access.Inside(a.environ) {
		return nil, access.ErrInside(why)
	}
	if err := a.prepare(); err != nil {
		return nil, err
	}
	return open(a.data), nil
}

func runKeysLs(a *app, asJSON bool) error {
	s, err := a.keyStore()
	if err != nil {
		return err
	}
	return a.listSecrets(s, asJSON, "PROVIDER", "no keys; `terret keys set openai` keeps one")
}

// listSecrets lists of whom there are secrets, and where they are kept.
func (a *app) listSecrets(s *keys.Store, asJSON bool, whose, none string) error {
	names, inRing, err := s.Names()
	if err != nil {
		return terret.Errorf(terret.CodeInvalidRequest, "%w", err)
	}
	kept := []keptSecret{}
	for _, name := range names {
		kept = append(kept, keptSecret{name, where(inRing[name])})
	}
	return listing[keptSecret]{none: none, head: whose + "\tWHERE", row: func(k keptSecret) string {
		return printable(k.Name) + "\t" + k.Where
	}}.show(a, asJSON, kept)
}

// keptSecret is whose secret is kept, and where.
type keptSecret struct {
	Name  string `json:"name"`
	Where string `json:"where"`
}

func where(inRing bool) string {
	if inRing {
		return "keyring"
	}
	return "file"
}

func runKeysSet(cmd *cobra.Command, a *app, name string) error {
	s, err := a.keyStore()
	if err != nil {
		return err
	}
	key, err := readKey(a, name)
	if err != nil {
		return err
	}
	inRing, err := s.Set(cmd.Context(), name, key)
	if err != nil {
		return terret.Errorf(terret.CodeInvalidRequest, "%w", err)
	}
	a.note("the key for %s is kept in the %s", name, where(inRing))
	if known := (native.Config{Providers: assemble.Providers(a.cfg)}).ProviderNames(); !slices.Contains(known, name) {
		a.note("there is no provider %s, only %s; `providers` in the configuration adds others", name, strings.Join(known, ", "))
	}
	return nil
}

// readKey reads a key from standard input: a terminal does not show it.
func readKey(a *app, name string) (string, error) {
	return readSecret(a, a.lines(), fmt.Sprintf("Key for %s (it is not shown): ", name))
}

// lines are those of standard input. What is not read of them may be lost to others.
func (a *app) lines() *bufio.Reader { return bufio.NewReader(io.LimitReader(a.in, 64<<10)) }

// readSecret reads a line of standard input: a terminal does not show it.
func readSecret(a *app, lines *bufio.Reader, ask string) (string, error) {
	if f, ok := a.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(a.err, ask)
		secret, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(a.err)
		return string(secret), err
	}
	line, err := lines.ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}
