package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store/sqlite"
)

func newDB(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "db", Short: "Check, compact, back up, restore and copy the database", Args: exactArgs(), RunE: func(cmd *cobra.Command, _ []string) error {
		return cmd.Help()
	}}
	var keep time.Duration
	compact := &cobra.Command{Use: "compact", Short: "Drop old pieces of streamed text whose full text is in the log", Args: exactArgs(), RunE: func(cmd *cobra.Command, _ []string) error {
		if err := a.open(cmd.Context()); err != nil {
			return err
		}
		if !cmd.Flags().Changed("keep") {
			if keep = time.Duration(a.cfg.KeepDeltas); keep < 0 {
				a.note("keep_deltas is never, so nothing was dropped; use --keep to drop pieces anyway")
				return nil
			}
		}
		n, err := a.harness.Store.Compact(cmd.Context(), time.Now().Add(-keep))
		if err == nil {
			a.note("dropped %d pieces", n)
		}
		return err
	}}
	compact.Flags().DurationVar(&keep, "keep", 0, "how long to keep pieces (default: keep_deltas in the configuration)")
	cmd.AddCommand(
		&cobra.Command{Use: "check", Short: "Check the whole database for errors", Args: exactArgs(), RunE: func(cmd *cobra.Command, _ []string) error {
			return runDBCheck(cmd.Context(), a)
		}},
		&cobra.Command{Use: "backup FILE", Short: "Write a consistent copy to a new file", Args: exactArgs("FILE"), RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			return a.harness.Store.Backup(cmd.Context(), args[0])
		}},
		&cobra.Command{
			Use: "restore FILE", Short: "Put a backup in place of the database", Args: exactArgs("FILE"),
			Long: "Put a backup in place of the database, while no terret has it open. The backup is checked\n" +
				"first, and stays as it is; the database that it replaces is kept beside it.",
			RunE: func(cmd *cobra.Command, args []string) error { return runDBRestore(cmd.Context(), a, args[0]) },
		},
		compact,
		newDBCopy(a),
	)
	return cmd
}

func runDBCheck(ctx context.Context, a *app) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	found, err := a.harness.Store.Check(ctx)
	if err != nil {
		return err
	}
	for _, f := range found {
		fmt.Fprintln(a.out, f)
	}
	if len(found) > 0 {
		return terret.Errorf(terret.CodeInternal, "the database has %d errors; replace it with a backup", len(found))
	}
	a.note("the database is fine")
	return nil
}

func runDBRestore(ctx context.Context, a *app, from string) error {
	if err := a.prepare(); err != nil {
		return err
	}
	if a.cfg.Store != "" {
		return terret.Errorf(terret.CodeUnsupported, "the sessions are in PostgreSQL; restore it with pg_restore or your provider's means")
	}
	kept, err := sqlite.Restore(ctx, filepath.Join(a.data, "terret.db"), from)
	if err != nil {
		return err
	}
	if kept != "" {
		a.note("restored; the database that was there is now %s", kept)
	} else {
		a.note("restored; there was no database before")
	}
	return nil
}
