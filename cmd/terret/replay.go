package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
)

// replayOptions are the options of `terret replay`.
type replayOptions struct {
	tools string
	json  bool
}

func newReplay(a *app) *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay SESSION",
		Short: "Run a recorded session again, and show what differs",
		Long: "Run a recorded session of the native agent again, offline: its model answers as it did then,\n" +
			"and what it is asked now is compared with what it was asked then. That shows what a change to\n" +
			"a persona, instructions, tools or Terret itself means for the model.\n\n" +
			"Tools are not run, but return what they returned then; with --tools real they run in a copy of\n" +
			"the folder as it is now, with everything allowed. Subagents are not run again.\n" +
			"The exit code is 1 if something differs. Record a session with `terret run --record`.",
		Example: "  terret run --record --policy auto-edit \"fix the typo in main.go\"\n  terret replay 01a1e29a",
		Args:    exactArgs("SESSION"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runReplay(cmd.Context(), a, args[0], o) },
	}
	cmd.Flags().StringVar(&o.tools, "tools", "recorded", "recorded: tools return what they returned then; real: they run in a copy of the folder")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the differences as JSON")
	return cmd
}

func runReplay(ctx context.Context, a *app, id string, o replayOptions) (err error) {
	if o.tools != "recorded" && o.tools != "real" {
		return terret.Invalid("tools", "%q is neither recorded nor real", o.tools)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer interrupts(func() { cancel(terret.ErrInterrupted) }, func() {})()
	if err := a.open(ctx); err != nil {
		return err
	}
	s, err := a.resolve(ctx, id)
	if err != nil {
		return err
	}
	if s.Agent != native.Name {
		return terret.Errorf(terret.CodeUnsupported, "session %s is of %s; only those of the native agent can be recorded and replayed", s.ID[:13], s.Agent)
	}
	r, err := native.ReadReplay(native.RecordingPath(a.data, s.ID))
	if err != nil {
		return err
	}
	dir := s.Cwd
	if o.tools == "real" {
		if dir, err = scratch(s.Cwd); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(filepath.Dir(dir)) }() // what is left of a copy does no harm
		r.RealTools, r.Here, r.There = true, dir, s.Cwd
	}
	if err := a.harness.Replay(ctx, s, dir, r); err != nil {
		return err
	}
	return a.printReplay(r, o)
}

// scratch copies a folder, and returns the copy.
func scratch(dir string) (string, error) {
	parent, err := os.MkdirTemp("", "terret-replay-")
	if err != nil {
		return "", err
	}
	if parent, err = filepath.EvalSymlinks(parent); err != nil {
		return "", err
	}
	if inside, err := filepath.Rel(dir, parent); err == nil && filepath.IsLocal(inside) {
		_ = os.Remove(parent) // it is empty
		return "", terret.Invalid("tools", "%s holds the folder for temporary files, so that it cannot be copied there; set TMPDIR to another one", dir)
	}
	to := filepath.Join(parent, filepath.Base(dir))
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		_ = os.RemoveAll(parent) // the other error says more
		return "", terret.Invalid("tools", "cannot copy %s: %w", dir, err)
	}
	return to, nil
}

// printReplay prints what differs. If something does, that is the error.
func (a *app) printReplay(r *native.Replay, o replayOptions) error {
	found := r.Differences()
	if o.json {
		if err := a.printJSON(struct {
			Calls       int                 `json:"calls"`
			Differences []native.Difference `json:"differences"`
		}{r.Calls(), append([]native.Difference{}, found...)}); err != nil {
			return err
		}
	} else {
		for _, d := range found {
			fmt.Fprintf(a.out, "call %d: %s\n", d.Call, printable(d.What))
			for line := range strings.Lines(d.Diff) {
				fmt.Fprintf(a.out, "    %s\n", printable(strings.TrimRight(line, "\n")))
			}
		}
	}
	if len(found) == 0 {
		a.note("nothing differs (prompts: %d, calls of the model: %d)", len(r.Prompts()), r.Calls())
		return nil
	}
	return fmt.Errorf("the session differs from its recording in %d places", len(found))
}
