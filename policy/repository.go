package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// gitSettings are settings that may be passed with git -c.
var gitSettings = []string{"color.", "core.quotepath=", "core.quotePath=", "advice.", "user.name=", "user.email=", "log.showSignature=false", "core.abbrev=", "diff.noprefix=", "commit.gpgsign=false", "tag.gpgsign=false", "init.defaultBranch="}

// gitSetting reports whether a setting cannot make git run anything.
func gitSetting(w word) bool {
	return w.literal() && !strings.Contains(w.text, "!") && slices.ContainsFunc(gitSettings, func(s string) bool { return strings.HasPrefix(w.text, s) })
}

// foreignRepository says why git may obey the settings of another repository than
// the session's in one of the folders, or nothing. Such settings name programs
// that git runs, whatever its command is. The files are those that the script has
// used before: it may have put a repository there itself.
func (r *reader) foreignRepository(dirs []string, before []fileUse) string {
	if len(dirs) == 0 {
		return "the repository git works in is unknown before it runs"
	}
	own := append([]string{r.subject.Cwd}, r.subject.Roots...)
	for _, root := range slices.Clone(own) {
		if real, err := r.subject.resolve(root); err == nil {
			own = append(own, real)
		}
	}
	for _, dir := range dirs {
		real, err := r.subject.resolve(path.Clean(dir)) // git looks for its repository from there on upwards
		isOwn := slices.ContainsFunc(own, func(o string) bool { return path.Clean(o) == path.Clean(dir) })
		if err != nil || !isOwn && filled(path.Clean(dir), before) {
			return fmt.Sprintf("what %s is when git works there is not known", dir)
		}
		for d := real; !slices.ContainsFunc(own, func(o string) bool { return path.Clean(o) == d }); d = path.Dir(d) {
			if d == "/" || d == "." {
				return "git works in a folder outside the project"
			}
			if r.exists(d+"/.git") || r.bare(d) {
				return fmt.Sprintf("%s is another repository, whose settings may make git run something", d)
			}
			if !r.exists(d) || filled(d, before) {
				return fmt.Sprintf("what %s holds when git works there is not known", d)
			}
		}
	}
	for _, root := range own {
		if !r.exists(root+"/.git") && r.bare(root) {
			return fmt.Sprintf("%s looks like a repository whose settings are among its files", root)
		}
	}
	return ""
}

// filled reports whether files that were used before may have come to lie in the
// folder.
func filled(dir string, files []fileUse) bool {
	for _, f := range files {
		if f.fills && len(f.cwds) == 0 {
			return true
		}
		for _, cwd := range f.cwds {
			p := path.Clean(join(cwd, f.path.text))
			if f.fills && (!f.path.literal() || inside(dir, p) || inside(p, dir)) || f.write && inside(dir, p) {
				return true // the last: a link, say, in the place of the folder
			}
		}
	}
	return false
}

// bare reports whether git would take the folder itself for a repository.
func (r *reader) bare(dir string) bool {
	return r.exists(dir+"/HEAD") && r.exists(dir+"/objects") && r.exists(dir+"/refs")
}

// exists reports whether there is something at the path, or may be.
func (r *reader) exists(p string) bool {
	_, err := r.subject.readlink(p)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}
