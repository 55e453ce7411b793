package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// The bounds of Uncovered: how many paths it names, and how many it looks at.
const (
	maxUncovered = 50
	maxLooks     = 50_000
)

// clockTick is how far the clock that kernels take file times from may be behind.
const clockTick = 20 * time.Millisecond

// records is where Terret keeps its own records in a project: they are not a turn's.
const records = ".terret"

// Uncovered names what may have changed between two snapshots that Restore does not take
// back, sorted by path: files that were left out of the snapshots and differ between
// them, and, since the given time, ignored files, git's own folders, empty folders, pipes,
// sockets and devices. It names at most 50, and folders rather than all that is in them.
// Ignored files that are gone are not known. ctx bounds the call.
func (r *Repo) Uncovered(ctx context.Context, before, after ID, since time.Time) ([]LeftOut, error) {
	u := uncovered{repo: r, since: since.Add(-clockTick)}
	err := r.locked(ctx, func(g git) error {
		err := errors.Join(u.leftOut(ctx, g, before, after), u.ignored(ctx, g))
		u.unrecorded(ctx, "", r.ignoredFolders(ctx, g))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("what undo does not cover in %s: %w", r.dir, err)
	}
	slices.SortFunc(u.list, func(a, b LeftOut) int { return strings.Compare(a.Path, b.Path) })
	return u.list, nil
}

type uncovered struct {
	repo  *Repo
	since time.Time
	looks int
	list  []LeftOut
}

func (u *uncovered) add(path, reason string) {
	if len(u.list) < maxUncovered {
		u.list = append(u.list, LeftOut{path, reason})
	}
}

// leftOut compares the files that the snapshots do not cover.
func (u *uncovered) leftOut(ctx context.Context, g git, before, after ID) error {
	_, idA, errA := before.split()
	_, idB, errB := after.split()
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	a, errA := g.readNotes(ctx, idA)
	b, errB := g.readNotes(ctx, idB)
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	old := map[string]leftOutNote{}
	for _, l := range a.LeftOut {
		old[string(l.Path)] = l
	}
	for _, l := range b.LeftOut {
		if was, ok := old[string(l.Path)]; !ok || was.Stamp != l.Stamp {
			u.add(string(l.Path), l.Reason)
		}
		delete(old, string(l.Path))
	}
	for _, p := range slices.Sorted(maps.Keys(old)) {
		if u.repo.stamp(p) == "" {
			u.add(p, "it is gone, and "+old[p].Reason)
		}
	}
	return nil
}

// ignored looks at the times of files that git ignores, and of git's own files.
func (u *uncovered) ignored(ctx context.Context, g git) error {
	st, err := u.repo.loadState()
	if err != nil {
		return err
	}
	if err := u.repo.writeRules(u.repo.rules(st.nested)); err != nil {
		return err
	}
	for _, sub := range append([]string{"."}, st.nested...) {
		if u.changedGit(ctx, filepath.Join(u.repo.dir, filepath.FromSlash(sub))) {
			u.add(filepath.ToSlash(filepath.Join(sub, ".git")), "commits, branches and settings of git stay as they are")
		}
	}
	home := strings.Trim(u.repo.exclude, "/")
	args := []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"}
	return g.Records(ctx, nil, args, func(rec string) error {
		if u.looks > maxLooks || len(u.list) == maxUncovered {
			return gitcmd.ErrEnough
		}
		p := strings.TrimSuffix(rec, "/")
		if p == home || strings.HasPrefix(filepath.Base(p), stagePrefix) || slices.Contains(strings.Split(p, "/"), records) {
			return nil
		}
		if u.changed(ctx, filepath.Join(u.repo.dir, filepath.FromSlash(p))) {
			u.add(rec, "git ignores it")
		}
		return nil
	})
}

// unrecorded looks for what no snapshot holds, in a folder below the one of the snapshots:
// what is neither a file nor a link, and folders in which nothing is.
func (u *uncovered) unrecorded(ctx context.Context, dir string, ignored map[string]bool) {
	entries, err := os.ReadDir(filepath.Join(u.repo.dir, filepath.FromSlash(dir)))
	if err != nil {
		return // gone, or not for us
	}
	for _, e := range entries {
		p := path.Join(dir, e.Name())
		info, err := e.Info()
		if u.looks++; u.looks > maxLooks || len(u.list) == maxUncovered || ctx.Err() != nil {
			return
		}
		if err != nil || e.Name() == ".git" || e.Name() == records || ignored[p] || p == strings.Trim(u.repo.exclude, "/") {
			continue
		}
		isNew := !info.ModTime().Before(u.since)
		switch {
		case e.IsDir():
			if isNew && u.isEmpty(p) {
				u.add(p+"/", "empty folders are not recorded")
			}
			u.unrecorded(ctx, p, ignored)
		case isNew && !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSymlink:
			u.add(p, "it is a pipe, a socket or a device")
		}
	}
}

func (u *uncovered) isEmpty(dir string) bool {
	entries, err := os.ReadDir(filepath.Join(u.repo.dir, filepath.FromSlash(dir)))
	return err == nil && len(entries) == 0
}

// changedGit looks at the files of a repository that say what is committed and set.
func (u *uncovered) changedGit(ctx context.Context, dir string) bool {
	user, ok := gitcmd.At(dir)
	if !ok {
		return false
	}
	for _, name := range []string{"HEAD", "config", "packed-refs", "refs", "hooks", "logs/HEAD"} {
		if u.changed(ctx, filepath.Join(user.Dir, filepath.FromSlash(name))) {
			return true
		}
	}
	return false
}

// changed reports whether anything at or below path was written since.
func (u *uncovered) changed(ctx context.Context, path string) bool {
	err := filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if u.looks++; u.looks > maxLooks || ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil {
			return nil // not there, or not for us
		}
		if info, err := e.Info(); err == nil && !info.ModTime().Before(u.since) {
			return os.ErrExist
		}
		return nil
	})
	return err != nil
}
