package workfiles

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/gitcmd"
)

// errIgnoredFolder says that the repository around the folder does not want to
// know of it.
var errIgnoredFolder = errors.New("the repository around the folder ignores it")

// emptyTree is the object of no files: what a repository without a commit has.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

type entry = gitcmd.Entry

// candidate is a path that may have changed.
type candidate struct {
	path string
	old  entry
	now  present
}

// present is what is at a path now. The zero present is nothing.
type present struct {
	entry
	content []byte
	whole   bool // content is all of it
}

// sinceHead compares the folder with the commit that is checked out.
func (f *Folder) sinceHead(ctx context.Context, repo repository, diffs bool) (Changes, error) {
	head, err := repo.head()
	if err != nil {
		return Changes{}, terret.Errorf(terret.CodeUnsupported, "the git repository cannot be read: %w", err)
	}
	out := Changes{Since: "head", Items: []Change{}, Head: head}
	if head == "" {
		head = emptyTree
	}
	g, done, err := f.openGit(ctx, repo, head)
	if err != nil {
		return Changes{}, err
	}
	defer done()
	if repo.Top != f.dir && g.ignores(ctx, ".") {
		return Changes{}, errIgnoredFolder
	}
	list, more, err := g.differing(ctx, head)
	if err != nil {
		return Changes{}, repoError(ctx, err)
	}
	out.Truncated = more
	changed := list[:0]
	for _, c := range list {
		if f.secret(c.path) {
			continue
		}
		if c.now, err = f.present(ctx, c.path, len(head)); err != nil {
			return Changes{}, err
		}
		if c.now.entry != c.old {
			changed = append(changed, c)
		}
	}
	if err := g.compare(ctx, changed, diffs, &out); err != nil {
		return Changes{}, repoError(ctx, err)
	}
	return out.bounded(), nil
}

// repoError is a failure of git about a repository that is not in order.
func repoError(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*terret.Error](err); ok || ctx.Err() != nil {
		return err
	}
	return terret.Errorf(terret.CodeUnsupported, "git cannot tell what has changed: %w", err)
}

// ignores reports whether git ignores a path of the folder.
func (g *git) ignores(ctx context.Context, rel string) bool {
	err := g.run(ctx, nil, []string{"check-ignore", "-q", "--", rel}, func(r *bufio.Reader) error {
		_, err := io.Copy(io.Discard, r)
		return err
	})
	return err == nil // 1 means not ignored
}

// differing lists the paths that may differ from a commit, and those that git
// does not know and does not ignore.
func (g *git) differing(ctx context.Context, head string) (list []candidate, more bool, err error) {
	at := map[string]bool{}
	add := func(c candidate) error {
		if at[c.path] {
			return nil
		}
		if len(list) >= maxCandidates {
			more = true
			return gitcmd.ErrEnough
		}
		at[c.path] = true
		list = append(list, c)
		return nil
	}
	meta := ""
	args := []string{"diff-index", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--relative", head, "--"}
	err = g.records(ctx, nil, args, func(rec string) error {
		if meta == "" {
			meta = rec
			return nil
		}
		old, _, err := gitcmd.ParseRaw(meta)
		meta = ""
		if err != nil || !old.Plain() { // a submodule
			return nil
		}
		return add(candidate{path: rec, old: old})
	})
	if err != nil {
		return nil, false, err
	}
	err = g.records(ctx, nil, []string{"ls-files", "-z", "--others", "--exclude-standard", "--"}, func(rec string) error {
		if strings.HasSuffix(rec, "/") {
			return nil // a repository of its own
		}
		return add(candidate{path: rec})
	})
	return list, more, err
}

// maxCandidates bounds the paths that are looked at.
const maxCandidates = 20_000

// present returns what is at a path now. What is behind a symbolic link, cannot
// be opened, or is no file, is nothing.
func (f *Folder) present(ctx context.Context, rel string, idLength int) (present, error) {
	if err := ctx.Err(); err != nil {
		return present{}, err
	}
	name := filepath.FromSlash(rel)
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		if info, err := f.root.Lstat(filepath.FromSlash(dir)); err != nil || !info.IsDir() {
			return present{}, nil
		}
	}
	info, err := f.root.Lstat(name)
	if err != nil {
		return present{}, nil
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := f.root.Readlink(name)
		if err != nil {
			return present{}, nil
		}
		b := []byte(filepath.ToSlash(target))
		return present{entry: entry{Mode: gitcmd.ModeLink, ID: gitcmd.BlobID(idLength, b)}, content: b, whole: true}, nil
	}
	file, info, err := f.open(rel)
	if err != nil || info.IsDir() {
		if file != nil {
			file.Close()
		}
		return present{}, nil
	}
	defer file.Close()
	now := present{entry: entry{Mode: gitcmd.ModeFile}}
	if info.Mode()&0o100 != 0 {
		now.Mode = gitcmd.ModeExec
	}
	now.content, err = readUpTo(ctx, file, maxDiffInput+1)
	if err != nil {
		return present{}, ctx.Err()
	}
	now.whole = len(now.content) <= maxDiffInput
	if now.whole {
		now.ID = gitcmd.BlobID(idLength, now.content)
		return now, nil
	}
	if info.Size() > maxHash {
		now.ID = tooLarge
		return now, nil
	}
	blob := gitcmd.NewBlob(idLength, info.Size())
	_, _ = io.Copy(blob, io.MultiReader(bytes.NewReader(now.content), &ctxReader{ctx, file})) // an error makes another id, which is a change
	now.ID = blob.ID()
	now.content = now.content[:sniff]
	return now, ctx.Err()
}

// maxHash bounds a file that is read to know whether it has changed. A larger one has the
// id tooLarge.
const (
	maxHash  = 64 << 20
	tooLarge = "too large to tell"
)

type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *ctxReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}

// compare adds the changes of paths that have changed, with what they were
// before.
func (g *git) compare(ctx context.Context, list []candidate, diffs bool, out *Changes) error {
	if len(list) > maxChanges {
		list, out.Truncated = list[:maxChanges], true
	}
	var want bytes.Buffer
	for _, c := range list {
		if c.old.ID != "" {
			want.WriteString(c.old.ID + "\n")
		}
	}
	lines := maxAllLines
	return g.run(ctx, want.Bytes(), []string{"cat-file", "--batch"}, func(r *bufio.Reader) error {
		for _, c := range list {
			if err := ctx.Err(); err != nil {
				return err
			}
			old := present{whole: true}
			if c.old.ID != "" {
				var err error
				if old, err = readObject(r); err != nil {
					return err
				}
			}
			old.entry = c.old
			one, changed := change(c.path, old, c.now, &lines)
			if !diffs {
				one.Diff, one.TooLarge = "", false
			}
			if changed {
				out.add(one)
			}
		}
		return nil
	})
}

// readObject reads one answer of cat-file --batch. An object that is missing, as
// in a partial clone, is one of which nothing is known.
func readObject(r *bufio.Reader) (present, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return present{}, err
	}
	f := strings.Fields(line)
	if len(f) != 3 || f[1] != "blob" {
		if len(f) == 2 && f[1] == "missing" {
			return present{}, nil
		}
		return present{}, fmt.Errorf("unexpected object %q", strings.TrimSpace(line))
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		return present{}, err
	}
	var content bytes.Buffer
	if _, err := io.CopyN(&content, r, min(size, maxDiffInput)); err != nil {
		return present{}, err
	}
	if _, err := io.CopyN(io.Discard, r, max(0, size-maxDiffInput)+1); err != nil {
		return present{}, err
	}
	return present{content: content.Bytes(), whole: size <= maxDiffInput}, nil
}
