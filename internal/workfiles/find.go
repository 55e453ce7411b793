package workfiles

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// Limits of a search.
const (
	maxFound  = 200
	maxSearch = 100_000 // files that are looked at
	maxQuery  = 256     // bytes

	// A list shows what is ignored if that is known soon, and a search continues
	// without git if that does not answer: a .gitignore may be a pipe.
	ignoreTimeout = 2 * time.Second
	searchTimeout = 3 * time.Second
)

// Match is a file or folder that was found.
type Match struct {
	Path string `json:"path"`
	Type Type   `json:"type"`

	score int
}

// Matches are what was found, the best first.
type Matches struct {
	Items     []Match `json:"items"`
	Truncated bool    `json:"truncated,omitempty"` // not all files were looked at, or there are more
}

// Find returns the files and folders whose paths contain the letters of the query in
// order, at most limit of them. It searches files that git knows or does not ignore;
// without git, everything except node_modules. An empty query finds those nearest to
// the top.
func (f *Folder) Find(ctx context.Context, query string, limit int) (Matches, error) {
	if limit <= 0 || limit > maxFound {
		limit = maxFound
	}
	if len(query) > maxQuery {
		query = query[:maxQuery]
	}
	want := []rune(strings.ToLower(strings.TrimSpace(valid(query))))
	files, more, err := f.files(ctx)
	if err != nil {
		return Matches{}, err
	}
	out := Matches{Items: []Match{}, Truncated: more}
	seen := map[string]bool{}
	consider := func(p string, t Type) {
		if seen[p] {
			return
		}
		seen[p] = true
		if s, ok := score(want, p); ok {
			out.Items = append(out.Items, Match{p, t, s})
		}
	}
	for _, p := range files {
		if f.secret(p) || !utf8.ValidString(p) {
			continue
		}
		consider(p, File)
		for dir := path.Dir(p); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			consider(dir, Dir)
		}
	}
	slices.SortFunc(out.Items, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len(a.Path), len(b.Path)), cmp.Compare(a.Path, b.Path))
	})
	if len(out.Items) > limit {
		out.Items, out.Truncated = out.Items[:limit], true
	}
	return out, nil
}

// score rates how well a path matches: higher for letters in a row, at the beginning of
// a word and in the last part; lower for each folder on the way.
func score(want []rune, p string) (int, bool) {
	points := -3 * strings.Count(p, "/")
	if len(want) == 0 {
		return points, true
	}
	base := strings.ToLower(path.Base(p))
	switch query := string(want); {
	case base == query:
		points += 200
	case strings.HasPrefix(base, query):
		points += 120
	case strings.Contains(base, query):
		points += 80
	case strings.Contains(strings.ToLower(p), query):
		points += 60
	}
	lastPart := strings.LastIndexByte(p, '/') + 1
	before, row, next := '/', 0, 0
	for i, r := range p {
		if next < len(want) && unicode.ToLower(r) == want[next] {
			next++
			row++
			points += 1 + 2*row
			if isBoundary(before, r) {
				points += 8
			}
			if i >= lastPart {
				points += 3
			}
		} else {
			row = 0
		}
		before = r
	}
	return points, next == len(want)
}

// isBoundary reports whether r begins a word.
func isBoundary(before, r rune) bool {
	return strings.ContainsRune("/-_. ", before) || unicode.IsUpper(r) && !unicode.IsUpper(before)
}

// files lists the files of the folder that are not ignored.
func (f *Folder) files(ctx context.Context) (list []string, more bool, err error) {
	repo, ok := f.repository()
	id := ""
	if ok {
		id, _ = repo.head() // only its length counts
	}
	g, done, err := f.openGit(ctx, repo, id)
	if err != nil {
		return f.walk(ctx)
	}
	defer done()
	soon, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	if ok && repo.Top != f.dir && g.ignores(soon, ".") {
		return f.walk(ctx)
	}
	err = g.records(soon, nil, []string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--"}, func(rec string) error {
		if len(list) >= maxSearch {
			more = true
			return gitcmd.ErrEnough
		}
		if !strings.HasSuffix(rec, "/") {
			list = append(list, rec)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil { // a repository that is not in order
		return f.walk(ctx)
	}
	return list, more, err
}

// walk lists the files of the folder without git.
func (f *Folder) walk(ctx context.Context) (list []string, more bool, err error) {
	queue := []string{"."}
	for looked := 0; len(queue) > 0; queue = queue[1:] {
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		found, cut, err := f.readDir(queue[0], maxEntries)
		if err != nil {
			continue // of no interest to a search
		}
		more = more || cut
		for _, e := range found {
			if looked++; looked > maxSearch {
				return list, true, nil
			}
			p := path.Join(queue[0], e.Name())
			switch {
			case f.secret(p) || e.Name() == "node_modules" || f.isHome(p, e):
			case e.IsDir():
				queue = append(queue, p)
			case e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0:
				list = append(list, p)
			}
		}
	}
	return list, more, nil
}

// markIgnored marks the entries that git's rules ignore. It is for show: where
// git cannot tell, nothing is marked.
func (f *Folder) markIgnored(ctx context.Context, items []Entry) {
	if len(items) == 0 {
		return
	}
	repo, ok := f.repository()
	if !ok {
		return
	}
	id, _ := repo.head() // only its length counts
	g, done, err := f.openGit(ctx, repo, id)
	if err != nil {
		return
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, ignoreTimeout)
	defer cancel()
	at := map[string]*Entry{}
	var in strings.Builder
	for i := range items {
		at[items[i].Path] = &items[i]
		in.WriteString(items[i].Path + "\x00")
	}
	_ = g.records(ctx, []byte(in.String()), []string{"check-ignore", "-z", "--stdin"}, func(rec string) error {
		if e := at[rec]; e != nil {
			e.Ignored = true
		}
		return nil
	})
}
