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
	"github.com/terret-dev/terret/cmd/terret/internal/hive"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/archive"
	"github.com/terret-dev/terret/internal/server/project"
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
	var cwd, folder, database, agent string
	cmd := &cobra.Command{
		Use: "import FILE | --from AGENT ID | --project DIR | --hive DATABASE", Short: "Import a session that export printed, or the sessions of a project's files or of Hive",
		Long: "Import a session that export printed (- is standard input). It gets new ids and\n" +
			"keeps the conversation and its history; permissions and the agent's own session\n" +
			"id are not imported.\n\n" +
			"With --from, import a session that you had with an agent without Terret, with all that\n" +
			"was said; `terret sessions discover` lists them. It continues with the agent's memory.\n\n" +
			"With --project, recreate the sessions whose files are in the folder's .terret, after\n" +
			"the database was lost. They keep their ids and titles, and continue as far as the\n" +
			"agent remembers; what was said before is not in Terret's log. Their policy is ask.\n\n" +
			"With --hive, do the same for the sessions in a database of the desktop app Hive.\n" +
			"Its column opencode_session_id holds the agent's own session id, whichever agent\n" +
			"it is; rows without agent_sdk are OpenCode's.",
		Args: func(cmd *cobra.Command, args []string) error {
			if folder != "" || database != "" {
				return exactArgs()(cmd, args)
			}
			if agent != "" {
				return exactArgs("ID")(cmd, args)
			}
			return exactArgs("FILE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case agent != "":
				return runAdopt(cmd.Context(), a, agent, args[0], cwd)
			case folder != "":
				found, err := project.Sessions(folder)
				return restore(cmd.Context(), a, "project", folder, found, err)
			case database != "":
				found, err := hive.Sessions(database)
				return restore(cmd.Context(), a, "hive", database, found, err)
			}
			return runImport(cmd.Context(), a, args[0], cwd)
		},
	}
	cmd.Flags().StringVar(&cwd, "cwd", "", "folder for the session (default: its original folder)")
	cmd.Flags().StringVar(&folder, "project", "", "recreate the sessions in this folder's .terret")
	cmd.Flags().StringVar(&database, "hive", "", "recreate the sessions in this database of Hive")
	cmd.Flags().StringVar(&agent, "from", "", "import a session that you had with this agent itself")
	cmd.MarkFlagsMutuallyExclusive("cwd", "project", "hive")
	cmd.MarkFlagsMutuallyExclusive("from", "project", "hive")
	return cmd
}

// restore makes the sessions that were found at a place, except those that exist, and
// prints their ids. err says what was left out.
func restore(ctx context.Context, a *app, flag, place string, found []terret.Session, err error) error {
	if err != nil && len(found) == 0 {
		return terret.Invalid(flag, "%w", err)
	}
	if err != nil {
		fmt.Fprintln(a.err, "left out:", printable(err.Error()))
	}
	if len(found) == 0 {
		return terret.Errorf(terret.CodeNotFound, "%s has no sessions", place)
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
	in, name := a.in, "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return terret.Invalid("file", "%w", err)
		}
		defer f.Close()
		in, name = io.Reader(f), file
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
		return about(err, "body", name)
	}
	_, err = fmt.Fprintln(a.out, s.ID)
	return err
}
