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

// gitSettings are settings that may be given with git -c.
var gitSettings = []string{"color.", "core.quotepath=", "core.quotePath=", "advice.", "user.name=", "user.email=", "log.showSignature=false", "core.abbrev=", "diff.noprefix=", "commit.gpgsign=false", "tag.gpgsign=false", "init.defaultBranch="}

// gitSetting reports whether a setting makes git run nothing.
func gitSetting(w word) bool {
	return w.literal() && !strings.Contains(w.text, "!") && slices.ContainsFunc(gitSettings, func(s string) bool { return strings.HasPrefix(w.text, s) })
}

// foreignRepository says why git may obey the settings of another repository than
// the session's in one of the folders, or nothing. Such settings name programs
// that git runs, whatever its command is.
func (r *reader) foreignRepository(dirs []string) string {
	if len(dirs) == 0 {
		return "which repository git works in is not known before it runs"
	}
	own := append([]string{r.subject.Cwd}, r.subject.Roots...)
	for _, dir := range dirs {
		for d := path.Clean(dir); !slices.ContainsFunc(own, func(o string) bool { return path.Clean(o) == d }); d = path.Dir(d) {
			if d == "/" || d == "." {
				return "git works in a folder outside the project"
			}
			if r.exists(d+"/.git") || r.bare(d) {
				return fmt.Sprintf("%s is a repository of its own, whose settings may make git run something", d)
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

// bare reports whether git would take the folder itself for a repository.
func (r *reader) bare(dir string) bool {
	return r.exists(dir+"/HEAD") && r.exists(dir+"/objects") && r.exists(dir+"/refs")
}

// exists reports whether there is something at the path, or may be.
func (r *reader) exists(p string) bool {
	_, err := r.subject.readlink(p)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}
