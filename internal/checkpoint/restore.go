package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// RestoreOptions change what Restore does.
type RestoreOptions struct {
	// Force also restores paths that have changed since the snapshot. A copy of what they
	// hold is kept: see Copies. A folder that holds other files is never removed, not
	// even with Force.
	Force bool
	// Leave, if set, says which of the paths that differ are left as they are.
	Leave func(path string) bool
	// For is kept with the copy, to say what it was made for.
	For string

	keep bool // keep a copy of everything, and of what was not there
}

// Result says what a restore did, path by path. The lists are sorted.
type Result struct {
	// Restored are the paths that this call changed.
	Restored []string
	// Already are the paths that were already in the wanted state.
	Already []string
	// Kept are paths that are not in the wanted state but were left alone, because they
	// were there all along: ignored, or left out of the snapshot.
	Kept []LeftOut
	// NotRestored are the paths that could not be restored.
	NotRestored []string
	// Copy names the copy of what Force overwrote, if it overwrote anything.
	Copy string
}

// Restore takes the folder from one snapshot to another, for exactly the paths that
// differ between the two, in content or permission bits. To undo a turn,
// Restore(after, before); to redo it, Restore(before, after). What ignore rules cover in
// the wanted state is never deleted. Folders that become empty are removed.
//
// If a path is no longer as in from, and not yet as in to, nothing is changed and the
// error is a *ConflictError with all such paths. All new contents are written beside
// their destinations before the first path is changed, so a full disk changes nothing
// either. If a path cannot be moved into place, the others still are, and the error is
// a *RestoreError; the same call can be repeated.
//
// ctx bounds the call until the first path is changed; then it runs to its end.
// Undo that is off for new snapshots still works for those that exist.
func (r *Repo) Restore(ctx context.Context, from, to ID, opt RestoreOptions) (Result, error) {
	return r.restore(ctx, opt, func(j *restore) error {
		j.contents = j.git.blobs
		return j.plan(ctx, from, to)
	})
}

// restore makes a plan under the lock and carries it out.
func (r *Repo) restore(ctx context.Context, opt RestoreOptions, plan func(*restore) error) (Result, error) {
	var res Result
	err := r.locked(ctx, func(g git) error {
		root, err := os.OpenRoot(r.dir)
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		job := restore{repo: r, git: g, tree: worktree{root}, opt: opt}
		if err := plan(&job); err != nil {
			return err
		}
		if err := job.keepCopy(ctx); err != nil {
			return err
		}
		err = job.run(ctx)
		job.settleCopy()
		res = job.result()
		return err
	})
	_, conflict := errors.AsType[*ConflictError](err)
	_, partial := errors.AsType[*RestoreError](err)
	if err == nil || conflict || partial {
		return res, err
	}
	return res, fmt.Errorf("restore %s: %w", r.dir, err)
}

// restore is one run of Restore, under the lock.
type restore struct {
	repo *Repo
	git  git
	tree worktree
	opt  RestoreOptions
	// contents gives the contents of objects to f, in order.
	contents func(ctx context.Context, ids []string, f func(i int, b blob) error) error

	steps []*step
	res   Result
}

// step is a path to change.
type step struct {
	delta
	now   present
	alien bool   // it is not as in the snapshot to leave
	temp  string // the new content, beside its place; "" for deletions
	err   error  // why it was not done
}

func (s *step) deletes() bool { return s.new == entry{} }

// plan decides about every path and changes nothing.
func (j *restore) plan(ctx context.Context, from, to ID) error {
	deltas, wanted, err := j.deltas(ctx, from, to)
	if err != nil {
		return err
	}
	if j.opt.Leave != nil {
		deltas = slices.DeleteFunc(deltas, func(d delta) bool { return j.opt.Leave(d.path) })
	}
	tree, _, err := to.split()
	if err != nil {
		return err
	}
	kept, err := j.kept(ctx, deltas, tree, wanted)
	if err != nil {
		return err
	}
	return j.decide(deltas, kept)
}

// deltas lists what differs between two snapshots, and returns the notes of the second.
func (j *restore) deltas(ctx context.Context, from, to ID) ([]delta, notes, error) {
	a, leftNotes, errA := from.split()
	b, wantedNotes, errB := to.split()
	if err := errors.Join(errA, errB); err != nil {
		return nil, notes{}, err
	}
	left, errA := j.git.readNotes(ctx, leftNotes)
	wanted, errB := j.git.readNotes(ctx, wantedNotes)
	if err := errors.Join(errA, errB); err != nil {
		return nil, notes{}, err
	}
	deltas, err := j.git.deltas(ctx, a, b)
	if err != nil {
		return nil, notes{}, err
	}
	old, now := left.perms(), wanted.perms()
	seen := map[string]bool{}
	for i, d := range deltas {
		seen[d.path] = true
		deltas[i].oldPerm, deltas[i].newPerm = old.of(d.path, d.old), now.of(d.path, d.new)
	}
	if old.usual == 0 || now.usual == 0 || old.usual == now.usual && maps.Equal(old.odd, now.odd) {
		return deltas, wanted, nil
	}
	err = j.git.files(ctx, b, func(p string, e entry) {
		if d := (delta{p, e, e, old.of(p, e), now.of(p, e)}); !seen[p] && d.oldPerm != d.newPerm {
			deltas = append(deltas, d)
		}
	})
	return deltas, wanted, err
}

// files lists the files of a tree.
func (g git) files(ctx context.Context, tree string, each func(path string, e entry)) error {
	return g.Records(ctx, nil, []string{"ls-tree", "-r", "-z", "--full-tree", tree}, func(rec string) error {
		if e, p, ok := parseTree(rec); ok {
			each(p, e)
		}
		return nil
	})
}

// parseTree parses "mode type id\tpath" of a file.
func parseTree(rec string) (e entry, path string, ok bool) {
	meta, path, _ := strings.Cut(rec, "\t")
	f := strings.Fields(meta)
	if len(f) != 3 || f[1] != "blob" {
		return entry{}, "", false
	}
	return entry{Mode: f[0], ID: f[2]}, path, true
}

// decide sorts the paths into those to change and those that stay.
func (j *restore) decide(deltas []delta, kept map[string]string) error {
	deleted := map[string]bool{}
	for _, d := range deltas {
		if _, keep := kept[d.path]; !keep && d.new == (entry{}) {
			deleted[d.path] = true
		}
	}
	var conflicts []string
	for _, d := range deltas {
		if reason, keep := kept[d.path]; keep {
			j.res.Kept = append(j.res.Kept, LeftOut{d.path, reason})
			continue
		}
		now, err := j.tree.look(d.path)
		if err != nil {
			return err
		}
		alien := !j.expected(d, now, deleted)
		switch {
		case now.has(d.new, d.newPerm):
			j.res.Already = append(j.res.Already, d.path)
		case j.opt.Force || !alien:
			j.steps = append(j.steps, &step{delta: d, now: now, alien: alien})
		default:
			conflicts = append(conflicts, d.path)
		}
	}
	if len(conflicts) > 0 {
		slices.Sort(conflicts)
		return &ConflictError{Paths: conflicts}
	}
	slices.SortFunc(j.steps, func(a, b *step) int { return strings.Compare(a.path, b.path) })
	return nil
}

// expected reports whether a path is as in the snapshot to leave. What is in the way of
// a new file or of its folder is expected if this restore removes it.
func (j *restore) expected(d delta, now present, deleted map[string]bool) bool {
	switch {
	case now.block != "":
		return d.old == entry{} && deleted[now.block]
	case now.dir:
		return d.old == entry{} && j.covered(d.path, deleted)
	}
	return now.has(d.old, d.oldPerm)
}

// covered reports whether a folder holds nothing but what will be deleted.
func (j *restore) covered(dir string, deleted map[string]bool) bool {
	err := fs.WalkDir(j.tree.root.FS(), dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !deleted[p] {
			err = fs.ErrExist
		}
		return err
	})
	return err == nil
}

// kept returns the paths that must not be touched, with the reason. n are the notes of
// the snapshot to go to.
func (j *restore) kept(ctx context.Context, deltas []delta, to string, n notes) (map[string]string, error) {
	leftOut := map[string]bool{}
	for _, l := range n.LeftOut {
		leftOut[string(l.Path)] = true
	}
	kept := map[string]string{}
	var deletes []string
	for _, d := range deltas {
		switch {
		case !safePath(d.path):
			kept[d.path] = "it is not a place to write to"
		case leftOut[d.path]: // the tree may have what it was before that
			kept[d.path] = "it was there, but not covered by the snapshot"
		case d.new == entry{}:
			deletes = append(deletes, d.path)
		}
	}
	ignored, err := j.ignored(ctx, to, n.Rules, deletes)
	if err != nil {
		return nil, err
	}
	for _, p := range ignored {
		kept[p] = "it is ignored in the snapshot, so it may have been there"
	}
	return kept, nil
}

// ignored returns those of the paths that the ignore rules of a snapshot cover.
// A file that a turn stopped ignoring looks like one that it created, and must
// not be deleted. The rules are laid out in a folder of their own: those in the
// user's folder are of another moment.
func (j *restore) ignored(ctx context.Context, tree string, rules []byte, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp(j.repo.shadow, "rules-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := j.layOut(ctx, tree, dir, paths); err != nil {
		return nil, err
	}
	if err := j.repo.writeRules(rules); err != nil {
		return nil, err
	}
	g := j.git
	g.Work, g.Cwd = dir, dir
	var asked, list []string
	for _, p := range paths {
		asked = append(asked, "./"+p) // so that no name begins with the magic ":"
	}
	err = g.Records(ctx, gitcmd.JoinNUL(asked), []string{"check-ignore", "-z", "--stdin", "--no-index"}, func(rec string) error {
		list = append(list, strings.TrimPrefix(rec, "./"))
		return nil
	})
	if err != nil && gitcmd.ExitCode(err) != 1 { // 1: none is ignored
		return nil, err
	}
	return list, nil
}

// layOut writes the .gitignore files of a tree that bear on paths into dir.
func (j *restore) layOut(ctx context.Context, tree, dir string, paths []string) error {
	parents := map[string]bool{}
	for _, p := range paths {
		for p != "." {
			p = path.Dir(p)
			parents[p] = true
		}
	}
	var files, ids []string
	err := j.git.files(ctx, tree, func(p string, e entry) {
		if e.Mode != gitcmd.ModeLink && path.Base(p) == ".gitignore" && parents[path.Dir(p)] {
			files, ids = append(files, p), append(ids, e.ID)
		}
	})
	if err != nil || len(files) == 0 {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return j.git.blobs(ctx, ids, func(i int, b blob) error {
		if err := root.MkdirAll(local(path.Dir(files[i])), 0o700); err != nil {
			return err
		}
		f, err := root.Create(local(files[i]))
		if err != nil {
			return err
		}
		return b.copyTo(f)
	})
}
