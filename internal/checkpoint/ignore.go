package checkpoint

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// stagePrefix begins the names of the temporary files of a restore.
const stagePrefix = ".terret-restore-"

// rules returns the ignore patterns that are not in a .gitignore of the folder,
// for info/exclude of the shadow repository: those of the repository around the
// folder, of the folder's own repository and of the nested ones. The user's
// global excludes file is not read. Later patterns win, and each .gitignore in
// the folder wins over all of them.
func (r *Repo) rules(nested []string) []byte {
	var b bytes.Buffer
	add := func(file string, translate func(pattern string) string) {
		for line := range strings.Lines(string(readRegular(file))) {
			pattern := strings.TrimRight(line, "\r\n")
			if cut := strings.TrimRight(pattern, " "); !strings.HasSuffix(cut, `\`) {
				pattern = cut
			}
			if pattern == "" || strings.HasPrefix(pattern, "#") {
				continue
			}
			if pattern = translate(pattern); pattern != "" {
				b.WriteString(pattern + "\n")
			}
		}
	}
	if top := enclosing(r.dir); top != "" {
		rel, _ := filepath.Rel(top, r.dir) // top is a parent of dir
		sub := strings.Split(filepath.ToSlash(rel), "/")
		ignored := false
		inherit := func(file string, sub []string) {
			add(file, func(p string) string {
				translated, hit := inherited(p, sub)
				if hit {
					ignored = !strings.HasPrefix(p, "!")
				}
				return translated
			})
		}
		inherit(userGit(top).Exclude(), sub)
		for i, dir := 0, top; i < len(sub); i++ {
			inherit(filepath.Join(dir, ".gitignore"), sub[i:])
			dir = filepath.Join(dir, sub[i])
		}
		if ignored { // a project that the repository around it does not want to know
			b.Reset()
		}
	}
	add(userGit(r.dir).Exclude(), func(p string) string { return p })
	for _, sub := range nested {
		file := userGit(filepath.Join(r.dir, filepath.FromSlash(sub))).Exclude()
		add(file, func(p string) string { return below(p, sub) })
	}
	b.WriteString(stagePrefix + "*\n")
	return b.Bytes()
}

// enclosing returns the nearest parent of dir that is a git work tree, when dir
// is none itself.
func enclosing(dir string) string {
	if _, ok := gitcmd.At(dir); ok {
		return ""
	}
	for dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if _, ok := gitcmd.At(dir); ok {
			return dir
		}
	}
	return ""
}

// userGit is the repository at dir. Of its files, only the index and the excludes are read.
func userGit(dir string) gitcmd.Repository {
	r, _ := gitcmd.At(dir) // none has neither
	return r
}

// readRegular returns up to 1 MiB of a regular file that no link leads to, as git does.
func readRegular(file string) []byte {
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return gitcmd.ReadRegular(file, 1<<20)
}

// splitPattern takes a gitignore pattern apart: the "!", the pattern without
// slashes at its ends, the "/" at its end, and whether it is bound to the folder
// it stands in.
func splitPattern(pattern string) (not, body, dir string, bound bool) {
	if strings.HasPrefix(pattern, "!") {
		not, pattern = "!", pattern[1:]
	}
	if cut, ok := strings.CutSuffix(pattern, "/"); ok {
		dir, pattern = "/", cut
	}
	bound = strings.Contains(pattern, "/")
	return not, strings.TrimPrefix(pattern, "/"), dir, bound
}

// below translates a pattern of the repository in the folder sub for a file
// that stands above it.
func below(pattern, sub string) string {
	not, body, dir, bound := splitPattern(pattern)
	if body == "" {
		return ""
	}
	if !bound {
		body = "**/" + body
	}
	return not + "/" + escapePattern(sub) + "/" + body + dir
}

// inherited translates a pattern that stands above the folder for a file in it;
// sub are the folders from there down to the folder. It returns "" when the
// pattern says nothing about what is in the folder. hit reports a pattern that
// covers the folder itself, or one around it.
func inherited(pattern string, sub []string) (translated string, hit bool) {
	not, body, dir, bound := splitPattern(pattern)
	if body == "" {
		return "", false
	}
	if name, ok := strings.CutPrefix(body, "**/"); ok && !strings.Contains(name, "/") {
		body, bound = name, false
	}
	if !bound {
		return not + body + dir, slices.ContainsFunc(sub, func(name string) bool { return matches(body, name) })
	}
	parts := strings.Split(body, "/")
	for i, name := range sub {
		switch {
		case i == len(parts):
			return "", true
		case parts[i] == "**":
			return not + "/" + strings.Join(parts[i:], "/") + dir, false
		case !matches(parts[i], name):
			return "", false
		}
	}
	if len(parts) == len(sub) {
		return "", true
	}
	return not + "/" + strings.Join(parts[len(sub):], "/") + dir, false
}

// matches reports whether one part of a pattern matches one name.
func matches(part, name string) bool {
	ok, err := path.Match(part, name)
	return err == nil && ok
}

var patternEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, ` `, `\ `, `!`, `\!`, `#`, `\#`)

// escapePattern makes a gitignore pattern that matches p literally. A line
// break cannot be escaped; any one character stands for it.
func escapePattern(p string) string {
	return strings.ReplaceAll(patternEscaper.Replace(p), "\n", "?")
}
