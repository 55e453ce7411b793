package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/archive"
)

func newSessionsExport(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "export SESSION", Short: "Print a session and its events as JSON, one per line", Args: exactArgs("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(a, args[0], func(ctx context.Context, e *engine.Engine, s terret.Session) error {
				return archive.Write(a.out, s, e.Events(ctx, engine.EventQuery{Session: s.ID, Raw: true}))
			})(cmd.Context())
		},
	}
}

func newSessionsImport(a *app) *cobra.Command {
	var cwd string
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Import a session that export printed (- is standard input)", Args: exactArgs("FILE"),
		Long: "Import a session that export printed. It gets new ids and keeps the conversation\n" +
			"and its history; permissions and the agent's own session id are not\n" +
			"imported.",
		RunE: func(cmd *cobra.Command, args []string) error { return runImport(cmd.Context(), a, args[0], cwd) },
	}
	cmd.Flags().StringVar(&cwd, "cwd", "", "folder for the session (default: its original folder)")
	return cmd
}

func runImport(ctx context.Context, a *app, file, cwd string) error {
	in := a.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return terret.Invalid("file", "%w", err)
		}
		defer f.Close()
		in = io.Reader(f)
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	s, err := archive.Read(ctx, a.harness.Store, in, func(s *terret.Session) error {
		if cwd != "" {
			s.Cwd = cwd
		}
		abs, err := filepath.Abs(s.Cwd)
		if err != nil {
			return terret.Invalid("cwd", "%w", err)
		}
		if info, err := os.Stat(abs); err != nil || !info.IsDir() {
			return terret.Invalid("cwd", "there is no folder %s here; choose one with --cwd", abs)
		}
		s.Cwd, s.Agent = abs, a.harness.Agents.Name(s.Agent)
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, s.ID)
	return err
}
