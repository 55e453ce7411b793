package policy

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/glob"
)

// maxLinks bounds how many symbolic links one path may go through, as in the kernel.
const maxLinks = 40

var errLinks = errors.New("too many symbolic links")

// join makes p absolute below dir. It does not clean, since the meaning of .. depends
// on symbolic links.
func join(dir, p string) string {
	if path.IsAbs(p) || dir == "" {
		return p
	}
	return strings.TrimSuffix(dir, "/") + "/" + p
}

// resolve follows the symbolic links in every existing part of an absolute path, as the
// kernel would.
func (s Subject) resolve(p string) (string, error) {
	done, rest, links := "/", p, 0
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		switch part {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, part)
		target, err := s.readlink(next)
		switch {
		case err == nil:
			if links++; links > maxLinks {
				return "", errLinks
			}
			if path.IsAbs(target) {
				done = "/"
			}
			rest = target + "/" + rest
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENOTDIR):
			done = next // not a link, or not there yet
		default:
			return "", err
		}
	}
	return done, nil
}

// forms are the readings of one path.
type forms struct {
	given    string   // absolute and cleaned
	resolved []string // what it resolves to, before and after cleaning
}

// forms lists the readings of an absolute path. The error says that its links cannot be
// followed.
func (s Subject) forms(p string) (forms, error) {
	f := forms{given: path.Clean(p)}
	for _, q := range []string{p, f.given} {
		r, err := s.resolve(q)
		if err != nil {
			return f, err
		}
		if !slices.Contains(f.resolved, r) {
			f.resolved = append(f.resolved, r)
		}
	}
	return f, nil
}

// inside reports whether p is dir or lies below it. Both are clean.
func inside(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// fold is the form for comparing two names that some file system may treat as the same.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(s)))
}

// staticPrefix cuts a glob before the first part with a star or another special
// character.
func staticPrefix(glob string) (fixed, rest string) {
	i := strings.IndexAny(glob, `*?[{\`)
	if i < 0 {
		return glob, ""
	}
	i = strings.LastIndexByte(glob[:i], '/') + 1
	return glob[:i], glob[i:]
}

var globMeta = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `]`, `\]`, `}`, `\}`)

// base returns the folder that a path pattern starts from, and the rest of it.
func (s Subject) base(glob string) (dir, rest string) {
	switch {
	case strings.HasPrefix(glob, "//"):
		return "/", glob[2:]
	case strings.HasPrefix(glob, "/"):
		if len(s.Roots) > 0 {
			return s.Roots[0], glob[1:]
		}
		return s.Cwd, glob[1:]
	case glob == "~":
		return s.Home, ""
	case strings.HasPrefix(glob, "~/"):
		return s.Home, glob[2:]
	}
	return s.Cwd, glob
}

// clean joins a folder and a glob to an absolute glob. The part before the first star
// may go up.
func clean(dir, glob string) string {
	fixed, rest := staticPrefix(glob)
	dir = path.Join(dir, fixed)
	joined := strings.TrimSuffix(globMeta.Replace(dir), "/") + "/" + rest
	return path.Clean(joined)
}

// allowsPath reports whether an allow rule with this path pattern covers the path in
// every reading of where it leads. Links inside the pattern's own part are not
// followed: otherwise a program that replaces a folder by a link could move the rule
// elsewhere.
func (s Subject) allowsPath(p Pattern, f forms) bool {
	dir, rest := s.base(p.glob)
	if dir == "" {
		return false
	}
	if dir == "/" {
		// What is directly below / belongs to the system: /tmp may be /private/tmp.
		first, below, _ := strings.Cut(rest, "/")
		if !strings.ContainsAny(first, `*?[{\`) && first != ".." {
			dir, rest = "/"+first, below
		}
	}
	dir, err := s.resolve(dir)
	if err != nil || len(f.resolved) == 0 {
		return false
	}
	g, err := glob.Compile(clean(dir, rest))
	if err != nil {
		return false
	}
	for _, r := range f.resolved {
		if !g.Match(r) {
			return false
		}
		if name := s.guardedPart(s.relative(r)); name != "" && !strings.Contains(p.glob, name) {
			return false
		}
	}
	return true
}

// denyGlobs lists the absolute globs of a deny rule: from the folder as named and as
// resolved, and in any folder if the pattern is just a name.
func (s Subject) denyGlobs(p Pattern) []*denyGlob {
	dir, rest := s.base(p.glob)
	if dir == "" {
		return nil
	}
	globs := []string{clean(dir, rest)}
	if r, err := s.resolve(dir); err == nil {
		globs = append(globs, clean(r, rest))
	}
	fixed, tail := staticPrefix(rest)
	if r, err := s.resolve(join(dir, fixed)); err == nil {
		globs = append(globs, clean(r, tail))
	}
	if !strings.Contains(p.glob, "/") && p.glob != "~" {
		for _, root := range append([]string{s.Cwd}, s.Roots...) {
			globs = append(globs, clean(root, "**/"+p.glob))
			if r, err := s.resolve(root); err == nil {
				globs = append(globs, clean(r, "**/"+p.glob))
			}
		}
	}
	slices.Sort(globs)
	var all []*denyGlob
	for _, g := range slices.Compact(globs) {
		all = append(all, &denyGlob{text: g, folded: fold(g)})
	}
	return all
}

// denyGlob is an absolute glob of a deny rule, as written and for names that some file
// system treats as the same.
type denyGlob struct {
	text, folded   string
	exact, anyCase *glob.Glob // once they are needed
	unread         bool
}

// matchesUp reports whether the glob matches the path or a folder above it. One that nobody
// can read matches everything.
func (g *denyGlob) matchesUp(p string) bool {
	if g.exact == nil && !g.unread {
		var bad, badToo error
		g.exact, bad = glob.Compile(g.text)
		if g.anyCase = g.exact; g.folded != g.text {
			g.anyCase, badToo = glob.Compile(g.folded)
		}
		g.unread = bad != nil || badToo != nil
	}
	if g.unread || g.exact.MatchUp(p) {
		return true
	}
	folded := fold(p)
	return (g.folded != g.text || folded != p) && g.anyCase.MatchUp(folded)
}

// match is how sure it is that a deny rule matches.
type match int

const (
	no match = iota
	maybe
	yes
)

// deniesPath says whether one of a deny rule's globs matches the path or a folder above
// it, in any reading. A search also reaches what is below the path.
func deniesPath(globs []*denyGlob, f forms, search bool) match {
	found := no
	for _, g := range globs {
		for _, reading := range append([]string{f.given}, f.resolved...) {
			if g.matchesUp(reading) {
				return yes
			}
			below := strings.TrimSuffix(fold(reading), "/") + "/" + anyText
			if search && mayMatch(coarse(g.folded), below) {
				found = maybe
			}
		}
	}
	return found
}

// guarded are files and folders that can make programs run code: git, an editor or an
// agent later runs what is written there. They need a rule that names them. Subject.Guarded
// adds to them.
var guarded = map[string]bool{
	".git": true, ".terret": true, ".claude": true, ".codex": true, ".opencode": true, ".agents": true,
	".gemini": true, ".cursor": true, ".husky": true, ".vscode": true, ".idea": true, ".ssh": true,
	".mcp.json": true, "opencode.json": true, "opencode.jsonc": true, ".envrc": true,
	".gitconfig": true, ".gitmodules": true, ".gitattributes": true,
	".bashrc": true, ".bash_profile": true, ".profile": true, ".zshrc": true, ".zshenv": true, ".zprofile": true,
}

// Guard lists what to guard so that nobody changes files that agents take orders from.
func Guard(files []terret.ProjectFile) []string {
	var out []string
	for _, f := range files {
		if name := strings.Trim(f.Path, "/"); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// guardedPart returns the first guarded part of a path, or "".
func (s Subject) guardedPart(p string) string {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		if guarded[fold(part)] {
			return part
		}
		for _, name := range s.Guarded {
			end := i + 1 + strings.Count(name, "/")
			if end <= len(parts) && fold(strings.Join(parts[i:end], "/")) == fold(name) {
				return strings.Join(parts[i:end], "/")
			}
		}
	}
	return ""
}

// guardsEnd reports whether a path ends with one of the paths of Guarded.
func (s Subject) guardsEnd(p string) bool {
	return slices.ContainsFunc(s.Guarded, func(name string) bool { return strings.HasSuffix("/"+fold(p), "/"+fold(name)) })
}

// protectedBy returns the protected folder that the path lies in, or that lies below
// the path if the path is written or searched as a whole.
func (s Subject) protectedBy(f forms, whole bool) string {
	for _, folder := range s.Protected {
		if folder == "" {
			continue
		}
		readings := []string{fold(path.Clean(folder))}
		if r, err := s.resolve(folder); err == nil {
			readings = append(readings, fold(r))
		}
		for _, p := range append([]string{f.given}, f.resolved...) {
			for _, r := range readings {
				if inside(fold(p), r) && !s.excepted(p) || whole && inside(r, fold(p)) {
					return folder
				}
			}
		}
	}
	return ""
}

// excepted reports whether a path lies in an unprotected folder inside a protected one.
func (s Subject) excepted(p string) bool {
	return slices.ContainsFunc(s.Except, func(folder string) bool {
		if inside(fold(p), fold(path.Clean(folder))) {
			return true
		}
		r, err := s.resolve(folder)
		return err == nil && inside(fold(p), fold(r))
	})
}

// resolvedRoots lists the roots after symbolic links.
func (s Subject) resolvedRoots() []string {
	var all []string
	for _, root := range s.Roots {
		if r, err := s.resolve(root); err == nil && root != "" {
			all = append(all, r)
		}
	}
	return all
}

func (s Subject) inRoots(p string) bool {
	return slices.ContainsFunc(s.resolvedRoots(), func(root string) bool { return inside(p, root) })
}

// relative cuts the root off a path, so that what lies above the project does not count
// as part of it.
func (s Subject) relative(p string) string {
	for _, root := range append(s.resolvedRoots(), s.Roots...) {
		if inside(p, root) && root != "/" {
			return strings.TrimPrefix(p, root)
		}
	}
	return p
}

// isFile reports whether the path is known not to be a folder.
func (s Subject) isFile(f forms) bool {
	for _, p := range f.resolved {
		if _, err := s.readlink(p + "/."); !errors.Is(err, syscall.ENOTDIR) {
			return false
		}
	}
	return true
}

// once reads each link once, so that all rules see the same, and none waits for the disk
// again.
func once(readlink func(string) (string, error)) func(string) (string, error) {
	type answer struct {
		target string
		err    error
	}
	var known map[string]answer
	return func(p string) (string, error) {
		a, ok := known[p]
		if !ok {
			if known == nil {
				known = map[string]answer{}
			}
			a.target, a.err = readlink(p)
			known[p] = a
		}
		return a.target, a.err
	}
}

func (s Subject) readlink(p string) (string, error) {
	if s.Readlink != nil {
		return s.Readlink(p)
	}
	return os.Readlink(p)
}
