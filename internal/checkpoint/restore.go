package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// RestoreOptions change what Restore does.
type RestoreOptions struct {
	// Force also restores paths that have changed since the snapshot. Their content is
	// lost unless a Snapshot was taken before. A folder that holds other files is never
	// removed, not even with Force.
	Force bool
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
}

// Restore takes the folder from one snapshot to another, for exactly the paths that
// differ between the two. To undo a turn, Restore(after, before); to redo it,
// Restore(before, after). What ignore rules cover in the wanted state is never deleted.
// Folders that become empty are removed.
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
	a, b, err := trees(from, to)
	if err != nil {
		return Result{}, err
	}
	var res Result
	err = r.locked(ctx, func(g git) error {
		root, err := os.OpenRoot(r.dir)
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		job := restore{repo: r, git: g, tree: worktree{root}, force: opt.Force}
		if err := job.plan(ctx, a, b, to); err != nil {
			return err
		}
		err = job.run(ctx)
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
	repo  *Repo
	git   git
	tree  worktree
	force bool

	private map[string]fs.FileMode
	modes   bool // private is that of the snapshot to go to
	steps   []*step
	res     Result
}

// step is a path to change.
type step struct {
	delta
	now  present
	temp string // the new content, beside its place; "" for deletions
	err  error  // why it was not done
}

func (s *step) deletes() bool { return s.new == entry{} }

// plan decides about every path and changes nothing.
func (j *restore) plan(ctx context.Context, from, to string, id ID) error {
	deltas, err := j.git.deltas(ctx, from, to)
	if err != nil {
		return err
	}
	kept, err := j.kept(ctx, deltas, to, id)
	if err != nil {
		return err
	}
	st, err := j.repo.loadState()
	if err != nil {
		return err
	}
	if !j.modes {
		j.private = st.private
	}
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
		switch {
		case now.is(d.new):
			j.res.Already = append(j.res.Already, d.path)
		case j.force || j.expected(d, now, deleted):
			j.steps = append(j.steps, &step{delta: d, now: now})
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
	return now.is(d.old)
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

// kept returns the paths that must not be touched, with the reason.
func (j *restore) kept(ctx context.Context, deltas []delta, to string, id ID) (map[string]string, error) {
	_, noteID, err := id.split()
	if err != nil {
		return nil, err
	}
	n, err := j.git.readNotes(ctx, noteID)
	if err != nil {
		return nil, err
	}
	if j.modes = n.Modes; j.modes {
		j.private = map[string]fs.FileMode{}
		for _, p := range n.Perms {
			j.private[string(p.Path)] = p.Perm
		}
	}
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
		case d.new == entry{} && leftOut[d.path]:
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
	err := j.git.Records(ctx, nil, []string{"ls-tree", "-r", "-z", "--full-tree", tree}, func(rec string) error {
		meta, p, _ := strings.Cut(rec, "\t")
		f := strings.Fields(meta)
		if len(f) == 3 && f[0] != modeSymlink && path.Base(p) == ".gitignore" && parents[path.Dir(p)] {
			files, ids = append(files, p), append(ids, f[2])
		}
		return nil
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
