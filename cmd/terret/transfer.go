package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/archive"
	"github.com/terret-dev/terret/internal/project"
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
	var cwd, folder string
	cmd := &cobra.Command{
		Use: "import FILE | --project DIR", Short: "Import a session that export printed, or those whose files a project holds",
		Long: "Import a session that export printed (- is standard input). It gets new ids and\n" +
			"keeps the conversation and its history; permissions and the agent's own session\n" +
			"id are not imported.\n\n" +
			"With --project, make the sessions again whose files are in the folder's .terret,\n" +
			"after the database was lost. They keep their ids and titles, and go on where the\n" +
			"agent remembers; what was said before is not in Terret's log. Their policy is ask.",
		Args: func(cmd *cobra.Command, args []string) error {
			if folder != "" {
				return exactArgs()(cmd, args)
			}
			return exactArgs("FILE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if folder != "" {
				return restoreProject(cmd.Context(), a, folder)
			}
			return runImport(cmd.Context(), a, args[0], cwd)
		},
	}
	cmd.Flags().StringVar(&cwd, "cwd", "", "folder for the session (default: its original folder)")
	cmd.Flags().StringVar(&folder, "project", "", "make the sessions of this folder's .terret again")
	cmd.MarkFlagsMutuallyExclusive("cwd", "project")
	return cmd
}

// restoreProject makes the sessions again whose files a project's folder holds, except
// those that exist. It prints their ids.
func restoreProject(ctx context.Context, a *app, folder string) error {
	found, err := project.Sessions(folder)
	if err != nil && len(found) == 0 {
		return terret.Invalid("project", "%w", err)
	}
	if err != nil {
		fmt.Fprintln(a.err, "left out:", err)
	}
	if len(found) == 0 {
		return terret.Errorf(terret.CodeNotFound, "%s has no files of sessions", folder)
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	for _, s := range found {
		s.Agent = a.harness.Agents.Name(s.Agent)
		_, err := a.harness.Store.Create(ctx, s)
		if errors.Is(err, terret.ErrConflict) {
			fmt.Fprintf(a.err, "%s exists already\n", s.ID)
			continue
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(a.out, s.ID); err != nil {
			return err
		}
	}
	return nil
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
