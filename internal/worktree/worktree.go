package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names in Terret's home.
const (
	folder     = "worktrees"
	originName = "origin"
	branchName = "branch" // the name of the branch, and of the one that it began at
	setupName  = "setup"  // a command that is still to be run in the worktree
)

// isNote reports whether a name beside a worktree is that of a file of ours.
func isNote(name string) bool { return name == originName || name == branchName || name == setupName }

// headsPrefix is what git's full names of branches begin with. Short names may be options, or
// those of tags.
const headsPrefix = "refs/heads/"

// branchPrefix is what the names of branches begin with that nobody named.
const branchPrefix = "terret/"

// Find returns the top of the worktree under home that holds the path, and the id of the
// worktree. Both paths are absolute, and path is without symbolic links.
func Find(home, path string) (top, id string, ok bool) {
	if home == "" || !strings.Contains(strings.ToLower(path), folder) { // almost all paths
		return "", "", false
	}
	if top, id, ok = find(home, path); ok {
		return top, id, ok
	}
	if real, err := filepath.EvalSymlinks(home); err == nil && real != home {
		return find(real, path)
	}
	return "", "", false
}

func find(home, path string) (top, id string, ok bool) {
	rel, err := filepath.Rel(filepath.Join(home, folder), path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", "", false
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if len(parts) < 2 || isNote(parts[1]) {
		return "", "", false
	}
	return filepath.Join(home, folder, parts[0], parts[1]), parts[0], true
}

// Origin is the folder that the worktree with that path was made from.
func Origin(home, path string) (string, bool) {
	top, _, ok := Find(home, path)
	if !ok {
		return "", false
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(top), originName))
	if err != nil {
		return "", false
	}
	origin := strings.TrimSuffix(string(b), "\n")
	return origin, filepath.IsAbs(origin)
}

// Add makes a worktree with that id, which must be unused, of the repository that dir
// is in. It returns the folder in it that corresponds to dir. Its branch is named after
// about, a title or a prompt, or else after the id. Both home and dir are absolute. Its
// errors are for people.
func Add(ctx context.Context, home, id, dir, about string) (cwd string, err error) {
	return add(ctx, home, id, dir, "HEAD", about)
}

// AddAt is Add for a commit other than the one that is checked out in dir. The branch is
// named after the id.
func AddAt(ctx context.Context, home, id, dir, commit string) (cwd string, err error) {
	return add(ctx, home, id, dir, commit, "")
}

func add(ctx context.Context, home, id, dir, commit, about string) (cwd string, err error) {
	g, err := open(ctx, dir)
	if err != nil {
		return "", err
	}
	top, err := g.run(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fmt.Errorf("%s is not in a git repository", dir)
	}
	if _, err := g.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return "", fmt.Errorf("the repository in %s has no commit yet; make one first", top)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	below, err := filepath.Rel(filepath.FromSlash(top), real)
	if err != nil || !filepath.IsLocal(below) {
		return "", fmt.Errorf("%s is not in the repository in %s", dir, top)
	}
	if err := g.disarm(ctx); err != nil {
		return "", err
	}
	release, err := g.alone(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	own := filepath.Join(home, folder, id)
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		return "", err
	}
	if err := os.Mkdir(own, 0o700); err != nil {
		return "", err
	}
	tree := filepath.Join(own, filepath.Base(top))
	if isNote(filepath.Base(top)) {
		tree += "-tree"
	}
	base, _ := g.branch(ctx) // an error: there is none
	made := Made{branchPrefix + id, base}
	if made.Branch, err = g.freeName(ctx, id, about); err != nil {
		_ = os.Remove(own)
		return "", err
	}
	branched := false
	defer func() {
		if err != nil { // the first error counts
			_, _ = g.run(context.WithoutCancel(ctx), "worktree", "remove", "--force", "--force", tree)
			if branched { // otherwise it is somebody else's
				_ = g.drop(context.WithoutCancel(ctx), made.Branch)
			}
			_ = os.RemoveAll(own)
		}
	}()
	if err := os.WriteFile(filepath.Join(own, originName), []byte(real+"\n"), 0o600); err != nil {
		return "", err
	}
	if err := made.note(home, id); err != nil {
		return "", err
	}
	if _, err := g.run(ctx, "branch", "--no-track", "--end-of-options", made.Branch, commit); err != nil {
		return "", err
	}
	branched = true
	if _, err := g.run(ctx, "worktree", "add", "--quiet", "--end-of-options", tree, made.Branch); err != nil {
		return "", err
	}
	cwd = filepath.Join(tree, below)
	if info, err := os.Stat(cwd); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not in the checked-out commit; commit it first", dir)
	}
	return filepath.EvalSymlinks(cwd)
}

// Remove removes the worktree that holds the path, and its branch, if nothing is lost.
// Otherwise it leaves both and says why. A missing worktree is fine. own reports files and
// folders, by their paths from the worktree's top, that may be lost; with force those that
// git ignores may, too.
func Remove(ctx context.Context, home, path string, own func(file string) bool, force bool) (kept string, err error) {
	tree, id, ok := Find(home, path)
	if !ok {
		return "", nil
	}
	base := filepath.Dir(tree)
	if _, err := os.Stat(tree); errors.Is(err, fs.ErrNotExist) {
		finish(ctx, home, tree, id)
		return "", os.RemoveAll(base)
	}
	g, err := open(ctx, tree)
	if err == nil {
		err = g.disarm(ctx)
	}
	if err != nil {
		return "", err
	}
	release, err := g.alone(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	if kept, err := g.elsewhere(ctx); kept != "" || err != nil {
		return kept, err
	}
	if kept, err := g.unsaved(ctx, MadeAs(home, id).Branch, own); kept != "" || err != nil {
		return kept, err
	}
	if kept, err := g.ignored(ctx, own, force); kept != "" || err != nil {
		return kept, err
	}
	common, err := g.run(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return "", err
	}
	// The worktree is about to go. Git does not take a folder for a repository without being told.
	g.Cwd, g.Env = common, []string{"GIT_DIR=" + common}
	// At once, so that one who is killed here leaves nothing that looks like changes.
	if err := os.Rename(tree, tree+".gone"); err != nil {
		return "", err
	}
	if err := g.unlist(ctx, tree, MadeAs(home, id).Branch); err != nil {
		return "", err
	}
	return "", removeAll(base)
}

// elsewhere says that the folder is not the top of a repository, or "". git would go by
// one above it.
func (g *git) elsewhere(ctx context.Context) (string, error) {
	below, err := g.run(ctx, "rev-parse", "--show-prefix")
	if err != nil || below == "" {
		return "", err
	}
	return "it is no longer a repository", nil
}

// unlist has the repository forget a worktree whose folder is gone, and its branch.
func (g *git) unlist(ctx context.Context, tree, branch string) error {
	if _, err := g.run(ctx, "worktree", "remove", "--force", tree); err != nil {
		return err
	}
	return g.drop(ctx, branch)
}

// drop removes a branch, if it is there. One that is checked out somewhere stays.
func (g *git) drop(ctx context.Context, branch string) error {
	if _, err := g.run(ctx, "show-ref", "--verify", "--quiet", headsPrefix+branch); err != nil {
		return nil
	}
	trees, err := g.trees(ctx)
	if err != nil || slices.ContainsFunc(trees, func(t tree) bool { return t.ref == headsPrefix+branch }) {
		return err
	}
	_, err = g.run(ctx, "branch", "-D", "--", branch)
	return err
}

// tree is one of the repository's work trees, and the branch that is checked out there, or "".
type tree struct{ path, ref string }

// trees lists the work trees that the repository knows, also those whose folder is gone.
func (g *git) trees(ctx context.Context) (out []tree, err error) {
	list, err := g.run(ctx, "worktree", "list", "--porcelain")
	for line := range strings.SplitSeq(list, "\n") {
		if path, ok := strings.CutPrefix(line, "worktree "); ok {
			out = append(out, tree{path: filepath.FromSlash(path)})
		}
		if ref, ok := strings.CutPrefix(line, "branch "); ok && len(out) > 0 {
			out[len(out)-1].ref = ref
		}
	}
	return out, err
}

// finish does what is left of a Remove that was cut off when the folder was gone. If it
// cannot, as when the repository is gone, or if the branch has commits that no other has,
// everything stays as it is.
func finish(ctx context.Context, home, tree, id string) {
	origin, ok := Origin(home, tree)
	if !ok {
		return
	}
	g, err := top(ctx, origin)
	if err != nil {
		return
	}
	release, err := g.alone(ctx)
	if err != nil {
		return
	}
	defer release()
	branch := MadeAs(home, id).Branch
	lost, err := g.run(ctx, "rev-list", "--max-count=1", headsPrefix+branch, "--not", "--exclude="+branch, "--branches", "--tags", "--remotes", "HEAD")
	if err == nil && lost == "" {
		_ = g.unlist(ctx, tree, branch) // whatever it says, nobody can do more
	}
}

// removeAll removes a folder in which a process may still be writing.
func removeAll(dir string) (err error) {
	for range 3 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
	}
	return err
}

// uncommitted says what was not committed, or "".
func (g *git) uncommitted(ctx context.Context, own func(string) bool) (string, error) {
	status, err := g.run(ctx, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=none")
	if err != nil {
		return "", err
	}
	for entry := range strings.SplitSeq(status, "\x00") {
		if len(entry) < 4 || strings.HasPrefix(entry, "?? ") && own != nil && own(entry[3:]) {
			continue
		}
		return "it has uncommitted changes", nil
	}
	return "", nil
}

// ignored names what git ignores, or "" if there is nothing or it may be lost.
func (g *git) ignored(ctx context.Context, own func(string) bool, force bool) (string, error) {
	if force {
		return "", nil
	}
	status, err := g.run(ctx, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal", "--ignored=matching")
	if err != nil {
		return "", err
	}
	var names []string
	for entry := range strings.SplitSeq(status, "\x00") {
		if name, ok := strings.CutPrefix(entry, "!! "); ok && (own == nil || !own(name)) {
			names = append(names, name)
		}
	}
	const shown = 5
	switch n := len(names) - shown; {
	case len(names) == 0:
		return "", nil
	case n > 0:
		names = append(names[:shown], fmt.Sprintf("%d more", n))
	}
	return "it has files that git ignores: " + strings.Join(names, ", "), nil
}

// unsaved says what would be lost with the worktree, or "".
func (g *git) unsaved(ctx context.Context, branch string, own func(string) bool) (string, error) {
	if kept, err := g.uncommitted(ctx, own); kept != "" || err != nil {
		return kept, err
	}
	others, err := g.others(ctx)
	if err != nil {
		return "", err
	}
	args := []string{"rev-list", "--max-count=1", "HEAD"}
	if _, err := g.run(ctx, "show-ref", "--verify", "--quiet", headsPrefix+branch); err == nil {
		args = append(args, headsPrefix+branch)
	}
	args = append(args, "--not", "--exclude="+branch, "--branches", "--tags", "--remotes")
	lost, err := g.run(ctx, append(args, others...)...)
	if err != nil || lost == "" {
		return "", err
	}
	return "it has commits that are on no other branch", nil
}

// others are the commits that are checked out in other worktrees.
func (g *git) others(ctx context.Context) ([]string, error) {
	top, err := g.run(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	list, err := g.run(ctx, "worktree", "list", "--porcelain", "-z")
	end := "\x00"
	if err != nil { // git before 2.36 ends lines as usual, so that it cannot tell paths with line ends
		if strings.Contains(top, "\n") {
			return nil, err
		}
		list, err = g.run(ctx, "worktree", "list", "--porcelain")
		end = "\n"
	}
	if err != nil {
		return nil, err
	}
	var out []string
	at := ""
	for line := range strings.SplitSeq(list, end) {
		if path, ok := strings.CutPrefix(line, "worktree "); ok {
			at = path
		}
		if commit, ok := strings.CutPrefix(line, "HEAD "); ok && at != top && strings.Trim(commit, "0") != "" {
			out = append(out, commit)
		}
	}
	return out, nil
}
