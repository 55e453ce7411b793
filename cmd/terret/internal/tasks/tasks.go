// Package tasks holds small repository tasks that show what an agent can do: fix a test,
// rename across files, write a parser to a spec, resolve a merge conflict, and so on. Each
// has a checker that needs only Go, git and sh.
//
// A task is a txtar file in tasks/. Its comment is the prompt. The files below repo/ are
// the repository, which is committed on the branch main; setup.sh then prepares more, if it
// is there. When the agent is done, check.sh judges: its exit status is 0 if the task is
// solved. The files below check/, which the agent never sees, are in $CHECK then. Those
// below solution/, and solution.sh, solve the task: a test holds that every checker fails
// without them and passes with them.
package tasks

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/terret-dev/terret/internal/check"
)

//go:embed tasks/*.txtar
var files embed.FS

// Task is a task.
type Task struct {
	Name   string
	Prompt string
	// Solution are files to write, by path, and Script is a shell script to run then.
	Solution map[string]string
	Script   string

	repo, hidden map[string]string
	setup, check string
}

// All returns the tasks, by name.
func All() ([]Task, error) {
	entries, err := files.ReadDir("tasks")
	if err != nil {
		return nil, err
	}
	var out []Task
	for _, e := range entries {
		b, err := files.ReadFile("tasks/" + e.Name())
		if err != nil {
			return nil, err
		}
		t, err := parse(strings.TrimSuffix(e.Name(), ".txtar"), b)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// Named returns the tasks with these names; all if there are none.
func Named(names ...string) ([]Task, error) {
	all, err := All()
	if err != nil || len(names) == 0 {
		return all, err
	}
	var out []Task
	for _, n := range names {
		i := slices.IndexFunc(all, func(t Task) bool { return t.Name == n })
		if i < 0 {
			return nil, fmt.Errorf("there is no task %q; `terret bench --list` lists them", n)
		}
		out = append(out, all[i])
	}
	return out, nil
}

// parse reads a task.
func parse(name string, text []byte) (Task, error) {
	a := txtar.Parse(text)
	t := Task{
		Name: name, Prompt: strings.TrimSpace(string(a.Comment)),
		Solution: map[string]string{}, repo: map[string]string{}, hidden: map[string]string{},
	}
	for _, f := range a.Files {
		folder, rest, inside := strings.Cut(f.Name, "/")
		into := map[string]map[string]string{"repo": t.repo, "check": t.hidden, "solution": t.Solution}[folder]
		text := map[string]*string{"setup.sh": &t.setup, "check.sh": &t.check, "solution.sh": &t.Script}[f.Name]
		switch {
		case inside && into != nil && filepath.IsLocal(rest):
			into[rest] = string(f.Data)
		case text != nil:
			*text = string(f.Data)
		default:
			return Task{}, fmt.Errorf("task %s: %s means nothing", name, f.Name)
		}
	}
	if t.Prompt == "" || t.check == "" || len(t.repo) == 0 {
		return Task{}, fmt.Errorf("task %s: it needs a prompt, files below repo/ and check.sh", name)
	}
	return t, nil
}

// commit makes a repository of a folder. Its settings are for the agent, too, whose
// commands see no others.
const commit = `git init -q -b main . && git config user.name Bench && git config user.email bench@example.com && git config commit.gpgsign false &&
git config core.hooksPath /dev/null && git config core.autocrlf false && git add -A && git commit -q -m "begin"
`

// Prepare puts the repository into an empty folder.
func (t Task) Prepare(ctx context.Context, dir string, env []string) error {
	if err := write(dir, t.repo); err != nil {
		return err
	}
	r, err := check.Run(ctx, dir, env, "set -e\n"+commit+t.setup)
	if err != nil {
		return err
	}
	if !r.OK {
		return fmt.Errorf("task %s cannot be prepared (%s); it needs git and sh: %s", t.Name, r.Exit, r.Output)
	}
	return nil
}

// Judge says whether the task is solved in the folder. It may leave files there.
func (t Task) Judge(ctx context.Context, dir string, env []string) (result check.Result, err error) {
	hidden, err := os.MkdirTemp("", "terret-check-")
	if err != nil {
		return check.Result{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(hidden)) }()
	if err := write(hidden, t.hidden); err != nil {
		return check.Result{}, err
	}
	return check.Run(ctx, dir, env, "CHECK='"+strings.ReplaceAll(hidden, "'", `'\''`)+"'\n"+t.check)
}

func write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { // a repository that agents work in
			return err
		}
	}
	return nil
}
