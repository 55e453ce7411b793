package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/policy"
)

func newConfig(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "config", Short: "Show the configuration, and check it", Args: exactArgs(),
		Long: "Settings come from your config.jsonc, from .terret/config.jsonc of the project once you\n" +
			"trust it, and from variables named TERRET_*; later ones beat earlier ones, and flags\n" +
			"beat all. docs/CONFIG.md lists every key.",
		RunE: func(*cobra.Command, []string) error { return runConfigShow(a, false) },
	}
	path := &cobra.Command{Use: "path", Short: "Print the path of your configuration file", Args: exactArgs(), RunE: func(*cobra.Command, []string) error {
		return runConfigPath(a)
	}}
	show := &cobra.Command{Use: "show", Short: "Print every key, its value here, and where that comes from (-: the default that docs/CONFIG.md names)", Args: exactArgs(), RunE: func(*cobra.Command, []string) error {
		return runConfigShow(a, asJSON)
	}}
	show.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	check := &cobra.Command{
		Use: "check", Short: "Print everything that is wrong in your configuration and in the project's", Args: exactArgs(),
		Long: "Reads your file, the project's file and the variables, and prints each unknown key and\n" +
			"bad value with file, line and column. Exit code 2 means that there are some.",
		RunE: func(*cobra.Command, []string) error { return runConfigCheck(a) },
	}
	cmd.AddCommand(path, show, check)
	return cmd
}

func runConfigPath(a *app) error {
	path := config.UserFile(a.environ)
	if path == "" {
		return terret.Errorf(terret.CodeStartupRefused, "there is no home folder to keep a configuration in; set TERRET_HOME")
	}
	if _, err := os.Stat(path); os.IsNotExist(err) {
		a.note("there is no such file yet; docs/CONFIG.md lists what it can say")
	}
	_, err := fmt.Fprintln(a.out, path)
	return err
}

func runConfigShow(a *app, asJSON bool) error {
	if err := a.loadConfig(); err != nil {
		return err
	}
	if err := a.chooseStore(); err != nil {
		return err
	}
	l := a.loaded
	l.Config = a.cfg
	for key, flag := range map[string]string{"data": a.data, "store": a.store} {
		if flag != "" {
			l.From[key] = "--" + key
		}
	}
	l.Data = a.home()
	return listing[config.Setting]{
		head: "KEY\tVALUE\tFROM",
		row: func(s config.Setting) string {
			return fmt.Sprintf("%s\t%s\t%s", oneLine(s.Key), oneLine(s.Text()), oneLine(s.From))
		},
	}.show(a, asJSON, config.Shown(l.Settings(), a.environ))
}

func runConfigCheck(a *app) error {
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // a missing folder has no settings
	}
	files, problems := config.Check(config.Sources{
		User: config.UserFile(a.environ), Project: dir, Environ: a.environ,
		Rule: func(pattern string) error { _, err := policy.Parse(pattern); return err },
	})
	for _, p := range problems {
		fmt.Fprintln(a.out, oneLine(p.Error()))
	}
	switch n := len(problems); {
	case n == 1:
		return terret.Invalid("config", "there is a problem in the configuration")
	case n > 1:
		return terret.Invalid("config", "there are %d problems in the configuration", n)
	case len(files) == 0:
		a.note("there is nothing to check: neither %s nor .terret/config.jsonc is there", config.UserFile(a.environ))
	}
	for _, f := range files {
		fmt.Fprintf(a.out, "%s: ok\n", oneLine(f))
	}
	return nil
}
