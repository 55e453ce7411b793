package workfiles

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/gitcmd"
)

const (
	gitTimeout = 20 * time.Second
	maxControl = 16 << 20 // bytes of a file of the repository that we read ourselves
)

// repository is a user's repository.
type repository struct{ gitcmd.Repository }

// repository is the one that the folder is in. One that leads out of where it may is
// none: what it holds is somebody else's.
func (f *Folder) repository() (repository, bool) {
	r, ok := findRepository(f.dir)
	if !ok || len(f.within) == 0 {
		return r, ok
	}
	for name, to := range gitcmd.Elsewhere(r.Top) {
		leads := []string{r.Dir, r.Common}
		if strings.HasSuffix(name, "alternates") {
			leads = nil
			for dir := range strings.Lines(to) {
				leads = append(leads, gitcmd.From(r.Objects(), strings.TrimSpace(dir)))
			}
		}
		for _, dir := range leads {
			real, err := filepath.EvalSymlinks(dir)
			if err != nil || !f.mayLead(real, r.Top) {
				return repository{}, false
			}
		}
	}
	return r, true
}

// mayLead reports whether a repository may lead to that folder: one of the roots, the
// work tree itself, or the place where a work tree above keeps its submodules.
func (f *Folder) mayLead(dir, top string) bool {
	allowed := append([]string{top}, f.within...)
	for up := filepath.Dir(top); up != filepath.Dir(up); up = filepath.Dir(up) {
		allowed = append(allowed, filepath.Join(up, ".git", "modules"))
	}
	return slices.ContainsFunc(allowed, func(in string) bool {
		rel, err := filepath.Rel(in, dir)
		return err == nil && filepath.IsLocal(rel)
	})
}

// findRepository finds the work tree that dir is, or is in.
func findRepository(dir string) (repository, bool) {
	for top := dir; ; top = filepath.Dir(top) {
		if r, ok := gitcmd.At(top); ok {
			if info, err := os.Stat(r.Objects()); err == nil && info.IsDir() {
				return repository{r}, true
			}
		}
		if top == filepath.Dir(top) {
			return repository{}, false
		}
	}
}

// head returns the commit that is checked out. It is empty if there is none yet.
func (r repository) head() (string, error) {
	name := "HEAD"
	for range 5 {
		value := ""
		for _, dir := range []string{r.Dir, r.Common} {
			if value = gitcmd.FirstLine(filepath.Join(dir, filepath.FromSlash(name))); value != "" {
				break
			}
		}
		if value == "" {
			value = r.packed(name)
		}
		target, symbolic := strings.CutPrefix(value, "ref: ")
		switch {
		case value == "" && name == "HEAD":
			return "", errors.New("it has no HEAD")
		case value == "":
			return "", nil
		case isObjectID(value):
			return value, nil
		case !symbolic || !isRef(target):
			return "", fmt.Errorf("%s cannot be read", name)
		}
		name = target
	}
	return "", errors.New("HEAD leads in a circle")
}

// packed looks a reference up in the file that holds many.
func (r repository) packed(name string) string {
	for line := range strings.Lines(string(gitcmd.ReadRegular(filepath.Join(r.Common, "packed-refs"), maxControl))) {
		if id, ref, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " "); ok && ref == name {
			return id
		}
	}
	return ""
}

func isObjectID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// isRef reports whether s is a reference that may be looked up as a file. The
// name that stands for a reftable is none.
func isRef(s string) bool {
	return strings.HasPrefix(s, "refs/") && s != "refs/heads/.invalid" && filepath.IsLocal(filepath.FromSlash(s)) && !strings.ContainsRune(s, 0)
}

// git runs commands about a folder on a git directory of our own, which is temporary.
type git struct{ gitcmd.Git }

// openGit prepares git for the folder. done removes what it needed. repo is zero
// if the folder is in no repository; then all files count as untracked.
func (f *Folder) openGit(ctx context.Context, repo repository, objectID string) (g *git, done func(), err error) {
	bin, reason, err := gitcmd.Find(ctx)
	if err != nil {
		return nil, nil, err
	}
	if reason != "" {
		return nil, nil, terret.Errorf(terret.CodeUnsupported, "changes cannot be shown: %s", reason)
	}
	private, err := os.MkdirTemp("", "terret-git-")
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = os.RemoveAll(private) }
	g = &git{gitcmd.Git{
		Bin: bin, Dir: private, Work: f.dir, Cwd: f.dir, Index: filepath.Join(private, "index"), Objects: filepath.Join(private, "objects"),
	}}
	if repo.Top != "" {
		g.Work, g.Index, g.Objects = repo.Top, repo.Index(), repo.Objects()
	}
	if err := g.layOut(repo, objectID); err != nil {
		done()
		return nil, nil, err
	}
	return g, done, nil
}

// layOut makes the git directory.
func (g *git) layOut(repo repository, objectID string) error {
	conf := "[core]\n\trepositoryformatversion = 1\n\tbare = false\n"
	if runtime.GOOS == "darwin" {
		conf += "\tprecomposeunicode = true\n\tignorecase = true\n"
	}
	if len(objectID) == 64 {
		conf += "[extensions]\n\tobjectformat = sha256\n"
	}
	exclude := "/.terret/logs/\n/.terret/prompts/\n/.terret/sessions/\n"
	if repo.Top != "" {
		exclude += string(gitcmd.ReadRegular(repo.Exclude(), 1<<20))
	}
	for _, dir := range []string{"objects", "refs", "info"} {
		if err := os.Mkdir(filepath.Join(g.Dir, dir), 0o700); err != nil {
			return err
		}
	}
	for name, content := range map[string]string{"HEAD": "ref: refs/heads/none\n", "config": conf, "info/exclude": exclude} {
		if err := os.WriteFile(filepath.Join(g.Dir, filepath.FromSlash(name)), []byte(content), 0o600); err != nil {
			return err
		}
	}
	if repo.Top == "" {
		return nil
	}
	shared, _ := filepath.Glob(filepath.Join(gitcmd.EscapeGlob(repo.Dir), "sharedindex.*"))
	for _, file := range shared { // the other part of an index that is split
		if err := os.Symlink(file, filepath.Join(g.Dir, filepath.Base(file))); err != nil {
			return err
		}
	}
	if info, err := os.Stat(g.Index); err == nil && !info.Mode().IsRegular() {
		return terret.Errorf(terret.CodeUnsupported, "the index of the repository is not a regular file; repair the repository to see changes")
	}
	return nil
}

// timeout bounds one command.
func timeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, gitTimeout, terret.Errorf(terret.CodeUnsupported, "git took longer than %s; look at a smaller folder", gitTimeout))
}

// run runs a command with in as its input, and gives its output to read.
func (g *git) run(ctx context.Context, in []byte, args []string, read func(*bufio.Reader) error) error {
	ctx, cancel := timeout(ctx)
	defer cancel()
	return g.Stream(ctx, bytes.NewReader(in), args, read)
}

// records runs a command and gives each NUL-terminated record to each.
func (g *git) records(ctx context.Context, in []byte, args []string, each func(string) error) error {
	ctx, cancel := timeout(ctx)
	defer cancel()
	return g.Records(ctx, in, args, each)
}
