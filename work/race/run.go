package race

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/check"
	"github.com/terret-dev/terret/internal/textdiff"
	"github.com/terret-dev/terret/internal/worktree"
	"github.com/terret-dev/terret/work/team"
)

// What a check came to.
const (
	checkPassed = "passed"
	checkFailed = "failed"
)

// Run runs all agents at the same time, until all are done.
func (r *Runner) Run(ctx context.Context, by, id string) (Race, error) {
	lock, err := r.Lock(ctx, id)
	if err != nil {
		return Race{}, err
	}
	defer lock.Close()
	x, err := r.load(ctx, id)
	if err != nil || x.State != Running {
		return x, err
	}
	errs := make([]error, len(x.Racers))
	var work sync.WaitGroup
	for i := range x.Racers {
		if x.Racers[i].State == Running {
			work.Go(func() { errs[i] = r.run(ctx, by, x, x.Racers[i]) })
		}
	}
	work.Wait()
	if err := errors.Join(errs...); err != nil {
		return x, err
	}
	x, err = r.load(ctx, id)
	return x, errors.Join(err, os.Remove(lock.Name()))
}

// run has one agent do the task. The error is about the race, not about the agent.
func (r *Runner) run(ctx context.Context, by string, x Race, one Racer) error {
	began := time.Now()
	port, err := r.prepare(ctx, by, x, &one)
	if err == nil {
		err = r.work(ctx, x, &one, port)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	one.State, one.DurationMS = Finished, time.Since(began).Milliseconds()
	if err != nil {
		one.fail(err)
	}
	if one.Dir != "" {
		diff, err := worktree.Diff(ctx, one.Dir, x.base)
		if err != nil {
			one.fail(err)
		}
		if mark(diff) != one.prepared { // otherwise it has done nothing
			one.count(diff)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	summary, err := json.Marshal(logged{&one, one.kind})
	if err != nil {
		return err
	}
	return r.Note(ctx, x.ID, by, terret.TaskEnd{ID: one.Name, Status: string(one.State), Summary: string(summary)})
}

func (x *Racer) fail(err error) {
	x.State, x.Error, x.kind = Failed, err.Error(), terret.AsError(err).Code
	if x.kind == terret.CodeInternal { // such as a worktree that could not be set up
		x.kind = terret.CodeExecutionError
	}
}

// prepare makes the racer's worktree, unless there is one already, and finds a port for it.
func (r *Runner) prepare(ctx context.Context, by string, x Race, one *Racer) (port int, err error) {
	if port, err = check.FreePort(ctx); err != nil {
		return 0, err
	}
	if one.Dir != "" {
		if _, err := os.Stat(one.Dir); err != nil {
			return 0, fmt.Errorf("its worktree is gone: %w", err)
		}
		return port, nil
	}
	if err := worktree.Discard(ctx, r.Home, one.Session, x.Cwd); err != nil { // what a crash left half done
		return 0, err
	}
	dir, err := worktree.AddAt(ctx, r.Home, one.Session, x.Cwd, x.base) // the folder may have moved on
	if err != nil {
		return 0, err
	}
	if _, err := worktree.Copy(x.Cwd, dir, x.request.Copy); err != nil {
		return 0, err
	}
	if x.request.Setup != "" {
		result, err := check.Run(ctx, dir, check.WithPort(r.Env, port), x.request.Setup)
		if err != nil {
			return 0, err
		}
		if !result.OK {
			return 0, fmt.Errorf("the worktree could not be set up: %s:\n%s", result.Exit, result.Output)
		}
	}
	diff, err := worktree.Diff(ctx, dir, x.base)
	if err != nil {
		return 0, err
	}
	one.Dir, one.prepared = dir, mark(diff)
	return port, r.Note(ctx, x.ID, by, terret.TaskStart{ID: one.Name, Type: "racer", Description: dir}, terret.TaskUpdate{ID: one.Name, Status: prepared, Text: one.prepared})
}

// prepared is the status of a racer whose worktree is ready for it.
const prepared = "prepared"

// mark tells diffs apart.
func mark(diff string) string {
	sum := sha256.Sum256([]byte(diff))
	return hex.EncodeToString(sum[:])
}

// work has the agent work, and checks what it did.
func (r *Runner) work(ctx context.Context, x Race, one *Racer, port int) error {
	c := team.Config{
		Name: one.Name, Title: fmt.Sprintf("%s (%s)", brief.Cut(brief.Line(x.Task), 60), one.Name), Type: one.Agent, Model: x.request.Model, Cwd: one.Dir, PermissionMode: x.request.PermissionMode, AllowedTools: x.request.Tools,
		Instructions: fmt.Sprintf("You work in a git worktree of your own. Change only what is in it. If you start a server, use port %d.", port),
	}
	for n := 0; ; n++ { // a crash may have cut earlier attempts off
		prompt := x.Task
		if n > 0 {
			prompt = "You were interrupted while you worked on this. Look at what is done already, and continue.\n\n" + prompt
		}
		answer, err := team.Ask(ctx, r.Providers, c, x.ID+one.Name, n, prompt)
		one.CostUSD += answer.CostUSD
		if err != nil && terret.AsError(err).Code == terret.CodeProcessFailed && n < maxAttempts && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return err
		}
		one.Answer = answer.Text
		break
	}
	if x.Check == "" {
		return nil
	}
	result, err := check.Run(ctx, one.Dir, check.WithPort(r.Env, port), x.Check)
	if err != nil {
		return err
	}
	one.Check, one.CheckOutput = checkFailed, result.Output
	if result.OK {
		one.Check = checkPassed
	}
	return nil
}

// maxAttempts bounds how often an agent is asked again whose process died.
const maxAttempts = 2

// count counts what a diff changes.
func (x *Racer) count(diff string) {
	for _, f := range textdiff.Parse(diff) {
		x.Files++
		x.Insertions += f.Insertions
		x.Deletions += f.Deletions
	}
}

// Keep brings what a racer did into the folder: as a merge of its branch, or as a patch
// that is not committed. Then it drops all worktrees. If the changes do not fit, nothing
// is changed or dropped.
func (r *Runner) Keep(ctx context.Context, by, id, name string, patch bool) (Race, error) {
	x, lock, err := r.open(ctx, id)
	if err != nil {
		return x, err
	}
	defer lock.Close()
	i := x.find(name)
	switch {
	case i < 0:
		var names []string
		for _, one := range x.Racers {
			names = append(names, one.Name)
		}
		return x, terret.Invalid("racer", "there is no racer %q; use one of %s", name, strings.Join(names, ", "))
	case x.Racers[i].Dir == "":
		return x, terret.Errorf(terret.CodeConflict, "%s has no worktree", name)
	}
	one := x.Racers[i]
	if x.Kept == "" {
		if err := r.take(ctx, x, one, patch); err != nil {
			return x, terret.Errorf(terret.CodeConflict, "%w", err)
		}
		if err := r.Note(ctx, id, by, terret.TaskUpdate{ID: id, Status: string(Kept), Text: name}); err != nil {
			return x, err
		}
	}
	return r.end(ctx, by, x, Kept, lock)
}

// take brings what a racer did into the folder.
func (r *Runner) take(ctx context.Context, x Race, one Racer, patch bool) error {
	if err := worktree.Whole(ctx, one.Dir, x.base); err != nil {
		return err
	}
	if patch {
		return worktree.Apply(ctx, x.Cwd, one.Dir, x.base)
	}
	if err := worktree.Commit(ctx, one.Dir, x.Task); err != nil {
		return err
	}
	return worktree.Merge(ctx, x.Cwd, one.Dir)
}

// Drop removes all worktrees of a race, and what was done in them.
func (r *Runner) Drop(ctx context.Context, by, id string) (Race, error) {
	x, lock, err := r.open(ctx, id)
	if err != nil {
		return x, err
	}
	defer lock.Close()
	state := Dropped
	if x.Kept != "" {
		state = Kept // it was cut off after that
	}
	return r.end(ctx, by, x, state, lock)
}

// open returns a race that has not ended and that nobody works on, and keeps others from
// working on it until the lock is closed.
func (r *Runner) open(ctx context.Context, id string) (x Race, lock *os.File, err error) {
	ended := func() error {
		if err == nil && (x.State == Kept || x.State == Dropped) {
			err = terret.Errorf(terret.CodeConflict, "race %s is %s", id, x.State)
		}
		return err
	}
	if x, err = r.load(ctx, id); ended() != nil {
		return x, nil, err
	}
	if lock, err = r.Lock(ctx, id); errors.Is(err, terret.ErrConflict) {
		return x, nil, terret.Errorf(terret.CodeConflict, "somebody is working on race %s; wait for that to end", id)
	} else if err != nil {
		return x, nil, err
	}
	if x, err = r.load(ctx, id); ended() != nil { // while we waited
		_ = lock.Close()
		return x, nil, err
	}
	return x, lock, nil
}

// end removes the worktrees, and ends the race.
func (r *Runner) end(ctx context.Context, by string, x Race, state State, lock *os.File) (Race, error) {
	for _, one := range x.Racers {
		if err := r.Host.Engine.CloseSession(ctx, one.Session, by); err != nil && !errors.Is(err, terret.ErrSessionNotFound) {
			return x, err
		}
		if err := worktree.Discard(ctx, r.Home, one.Session, x.Cwd); err != nil {
			return x, terret.Errorf(terret.CodeConflict, "%w", err)
		}
	}
	if err := r.Note(ctx, x.ID, by, terret.TaskEnd{ID: x.ID, Status: string(state)}); err != nil {
		return x, err
	}
	if err := os.Remove(lock.Name()); err != nil {
		return x, err
	}
	return r.load(ctx, x.ID)
}
