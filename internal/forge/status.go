package forge

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/terret-dev/terret/internal/gitcmd"
	"github.com/terret-dev/terret/internal/redact"
	"github.com/terret-dev/terret/internal/worktree"
)

// Distance says how far a branch is from another.
type Distance struct {
	Branch string `json:"branch"`
	Ahead  int    `json:"ahead"`
	Behind int    `json:"behind"`
}

// Status says where the branch of a folder stands.
type Status struct {
	// Problem says in a sentence why there is no more to say.
	Problem   string    `json:"problem,omitempty"`
	Branch    string    `json:"branch,omitempty" doc:"Empty if none is checked out."`
	Head      string    `json:"head,omitempty" doc:"The commit that is checked out; empty if there is none yet."`
	Operation string    `json:"operation,omitempty" doc:"A merge, rebase or the like that waits for a person."`
	Worktree  bool      `json:"worktree,omitempty" doc:"It is the session's own worktree."`
	Origin    string    `json:"origin,omitempty" doc:"The folder that the worktree was made from."`
	Upstream  *Distance `json:"upstream,omitempty" doc:"The branch at the remote, if it was pushed."`
	Base      *Distance `json:"base,omitempty" doc:"The branch to merge into."`
	Remote    string    `json:"remote,omitempty" doc:"Where a push goes."`
	Host      string    `json:"host,omitempty"`
	Project   string    `json:"project,omitempty" doc:"Its path at the host."`
	Program   string    `json:"program,omitempty" enum:"gh,glab,tea" doc:"What would open a pull request; empty if no such program is installed."`
	Link      string    `json:"link,omitempty" doc:"Where a person can open a pull request."`
	Hooks     []string  `json:"hooks,omitempty" doc:"The repository's hooks that a commit or a push runs, if it is asked to."`
	Signs     bool      `json:"signs,omitempty" doc:"Git is set to sign commits."`

	elsewhere string // a setting by which git itself would push to something that is no remote
}

// repo is the repository of a folder, to look at.
type repo struct {
	gitcmd.Git
	top string
}

func (r *repo) ask(ctx context.Context, args ...string) (string, error) {
	out, err := r.Output(ctx, nil, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// open finds the repository that the folder is in.
func (f Folder) open(ctx context.Context) (*repo, error) {
	if info, err := os.Stat(f.Dir); err != nil || !info.IsDir() {
		return nil, f.gone()
	}
	bin, reason, err := gitcmd.Find(ctx)
	if err != nil {
		return nil, err
	}
	if reason != "" {
		return nil, refused("%s", reason)
	}
	r := &repo{Git: gitcmd.Git{Bin: bin, Cwd: f.Dir}}
	if r.top, err = r.ask(ctx, "rev-parse", "--show-toplevel"); err != nil {
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case isBare(f.Dir):
			return nil, refused("%s is a bare repository, which has no files to work on", f.Dir)
		}
		return nil, refused("%s is not in a git repository", f.Dir)
	}
	r.Git, err = r.Disarmed(ctx)
	return r, err
}

// isBare reports whether a folder looks like a repository without files: git itself does not
// look at one unless it is told to.
func isBare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// Status looks where the branch stands. It runs nothing that the repository names. What a
// person can do something about is the Problem of the status, not an error.
func (f Folder) Status(ctx context.Context) (Status, error) {
	r, err := f.open(ctx)
	if why, ok := errors.AsType[*worktree.RefusedError](err); ok {
		return Status{Problem: why.Reason}, nil
	}
	if err != nil {
		return Status{}, err
	}
	var s Status
	if ref, err := r.ask(ctx, "symbolic-ref", "--quiet", "HEAD"); err == nil { // else there is none
		s.Branch, _ = strings.CutPrefix(ref, "refs/heads/")
		if s.Branch == ref { // nothing else is a branch
			s.Branch = ""
		}
	}
	s.Head, _ = r.ask(ctx, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
	if s.Operation, err = worktree.Unfinished(ctx, f.Dir); err != nil {
		return Status{}, err
	}
	base := ""
	if p, ok := worktree.PlaceOf(f.Home, f.Dir); ok {
		s.Worktree, s.Origin, base = true, p.Origin, "refs/heads/"+p.Base
	}
	if s.Remote, s.elsewhere, err = r.remote(ctx, s.Branch); err != nil {
		return Status{}, err
	}
	if base == "" || base == "refs/heads/" {
		base = r.mainBranch(ctx, s.Remote)
	}
	if s.Head != "" && s.Branch != "" {
		if up, err := r.ask(ctx, "rev-parse", "--quiet", "--verify", "--symbolic-full-name", "--end-of-options", "@{push}"); err == nil && strings.HasPrefix(up, "refs/") {
			s.Upstream = r.distance(ctx, up)
		}
		if s.Upstream == nil && s.Remote != "" {
			s.Upstream = r.distance(ctx, "refs/remotes/"+s.Remote+"/"+s.Branch)
		}
	}
	if s.Head != "" && base != "" && base != "refs/heads/"+s.Branch && base != "refs/remotes/"+s.Remote+"/"+s.Branch {
		s.Base = r.distance(ctx, base)
	}
	f.describe(ctx, r, &s)
	return s, ctx.Err()
}

// describe adds where the branch would go, and what would run.
func (f Folder) describe(ctx context.Context, r *repo, s *Status) {
	if s.Remote != "" {
		if at, ok := parseRemote(r.address(ctx, s.Remote)); ok {
			s.Host, s.Project = at.host, at.path
			s.Program = f.program(at)
			if s.Branch != "" && (s.Base != nil || s.Upstream != nil) {
				s.Link = at.compare(s.baseName(), s.Branch)
			}
		}
	}
	s.Hooks = r.hooks(ctx)
	if signs, ok := gitcmd.UserConfig(ctx, r.Bin, f.Dir, "--type=bool", "--get", "commit.gpgSign"); ok {
		s.Signs = signs == "true"
	}
}

// baseName is the base as the remote calls it.
func (s Status) baseName() string {
	if s.Base == nil {
		return ""
	}
	return strings.TrimPrefix(s.Base.Branch, s.Remote+"/")
}

// shortName is a reference as people write it.
func shortName(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/remotes/"} {
		if name, ok := strings.CutPrefix(ref, prefix); ok {
			return name
		}
	}
	return ref
}

// distance compares what is checked out with a reference. It is nil if there is none.
func (r *repo) distance(ctx context.Context, ref string) *Distance {
	if _, err := r.ask(ctx, "rev-parse", "--quiet", "--verify", "--end-of-options", ref+"^{commit}"); err != nil {
		return nil
	}
	out, err := r.ask(ctx, "rev-list", "--count", "--left-right", "HEAD..."+ref, "--")
	left, right, ok := strings.Cut(out, "\t")
	if err != nil || !ok {
		return nil
	}
	d := &Distance{Branch: shortName(ref)}
	d.Ahead, _ = strconv.Atoi(left)
	d.Behind, _ = strconv.Atoi(right)
	return d
}

// setting is one of the repository's or the user's; "" if there is none.
func (r *repo) setting(ctx context.Context, key string) string {
	value, _ := gitcmd.UserConfig(ctx, r.Bin, r.Cwd, "--get", key)
	return value
}

// remote is the one that the branch is pushed to: as git is set, or else origin, or the only
// one. It is empty if there is none. If git is set to push to something else, such as an
// address, elsewhere is that setting.
func (r *repo) remote(ctx context.Context, branch string) (name, elsewhere string, err error) {
	out, err := r.ask(ctx, "remote")
	if err != nil {
		return "", "", err
	}
	all := strings.Fields(out)
	keys := []string{"remote.pushDefault"}
	if branch != "" {
		keys = []string{"branch." + branch + ".pushRemote", "remote.pushDefault", "branch." + branch + ".remote"}
	}
	for _, key := range keys {
		name := r.setting(ctx, key)
		if slices.Contains(all, name) {
			return name, "", nil
		}
		if name != "" && name != "." { // the latter is this repository: what it was branched off
			return "", key + " = " + redact.New(nil).String(name), nil
		}
	}
	switch {
	case slices.Contains(all, "origin"):
		return "origin", "", nil
	case len(all) == 1:
		return all[0], "", nil
	}
	return "", "", nil
}

// mainBranch is the branch that the remote's people merge into, or one that is usually that.
func (r *repo) mainBranch(ctx context.Context, remote string) string {
	if remote != "" {
		if ref, err := r.ask(ctx, "symbolic-ref", "--quiet", "refs/remotes/"+remote+"/HEAD"); err == nil {
			return ref
		}
	}
	for _, name := range []string{"main", "master"} {
		refs := []string{"refs/heads/" + name}
		if remote != "" {
			refs = []string{"refs/remotes/" + remote + "/" + name, "refs/heads/" + name}
		}
		for _, ref := range refs {
			if _, err := r.ask(ctx, "rev-parse", "--quiet", "--verify", ref); err == nil {
				return ref
			}
		}
	}
	return ""
}

// address is where a remote is, as the person's own git reads it.
func (r *repo) address(ctx context.Context, remote string) string {
	if push := r.setting(ctx, "remote."+remote+".pushurl"); push != "" {
		return push
	}
	return gitcmd.UserRemote(ctx, r.Bin, r.Cwd, remote)
}

// hookNames are those that a commit or a push may run.
var hookNames = []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-push"}

// hooks lists the hooks that are there.
func (r *repo) hooks(ctx context.Context) (found []string) {
	dir, ok := gitcmd.UserConfig(ctx, r.Bin, r.Cwd, "--type=path", "--get", "core.hooksPath")
	if !ok || dir == "" {
		common, err := r.ask(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
		if err != nil {
			return nil
		}
		dir = filepath.Join(filepath.FromSlash(common), "hooks")
	} else if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.FromSlash(r.top), dir)
	}
	for _, name := range hookNames {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			found = append(found, name)
		}
	}
	return found
}
