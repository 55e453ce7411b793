package checkpoint

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// file is a file of the folder that the index does not yet hold as it is.
type file struct {
	path  string
	info  fs.FileInfo
	known bool // the index holds it as it was
}

// scan is what differs between the folder and the index.
type scan struct {
	add     []file    // new or changed
	again   []file    // of state.fresh, as they are now
	remove  []string  // in the index, gone from the folder
	leftOut []LeftOut // not covered
	nested  []string  // repositories inside the folder, known and new
	forced  []string  // files that the user's repository tracks against its ignore rules
	rules   []byte    // content of info/exclude
}

// errTooMany is a listing that is longer than the limit of files.
var errTooMany = errors.New("too many files")

// scan compares the folder with the index. It reads file contents only where
// times cannot tell.
func (r *Repo) scan(ctx context.Context, g git, st *state) (scan, error) {
	s := scan{nested: st.nested, rules: r.rules(st.nested)}
	if err := r.writeRules(s.rules); err != nil {
		return s, err
	}
	var untracked, changed []string
	err := all(ctx,
		func(ctx context.Context) (err error) {
			untracked, err = r.untracked(ctx, g)
			return err
		},
		func(ctx context.Context) (err error) {
			changed, s.remove, err = g.changed(ctx)
			return err
		},
		func(ctx context.Context) error {
			s.forced = r.forced(ctx, g, st.nested)
			return ctx.Err()
		})
	if err != nil {
		return s, r.tooMany(err)
	}
	if untracked, err = r.expandNested(ctx, g, untracked, &s); err != nil {
		return s, r.tooMany(err)
	}
	r.classify(&s, untracked, changed, without(s.forced, st.forced))
	for _, p := range st.fresh {
		if info, err := os.Lstat(filepath.Join(r.dir, filepath.FromSlash(p))); err == nil {
			s.again = append(s.again, file{path: p, info: info})
		}
	}
	return s, r.checkLimits(g, &s)
}

// tooMany turns errTooMany into the error of a folder over its limit.
func (r *Repo) tooMany(err error) error {
	if !errors.Is(err, errTooMany) {
		return err
	}
	return r.disable(fmt.Sprintf("it contains more than %d files that git does not ignore; ignore generated files", r.lim.MaxFiles))
}

// writeRules puts the ignore rules where git reads them.
func (r *Repo) writeRules(rules []byte) error {
	if err := writeIfChanged(filepath.Join(r.shadow, "info", "exclude"), rules); err != nil {
		return fmt.Errorf("write ignore rules: %w", err)
	}
	return nil
}

// untracked lists the files that are neither in the index nor ignored. A nested
// repository whose files are not in the index is listed as "path/".
func (r *Repo) untracked(ctx context.Context, g git, below ...string) ([]string, error) {
	args := []string{"ls-files", "-z", "--others", "--exclude-standard"}
	if r.exclude != "" {
		args = append(args, "--exclude="+r.exclude)
	}
	args = append(append(args, "--"), below...)
	var list []string
	err := g.Records(ctx, nil, args, func(rec string) error {
		if len(list) >= r.lim.MaxFiles {
			return errTooMany
		}
		list = append(list, rec)
		return nil
	})
	return list, err
}

// changed lists the files of the index that are changed or gone.
func (g git) changed(ctx context.Context) (changed, removed []string, err error) {
	meta := ""
	err = g.Records(ctx, nil, []string{"diff-files", "-z", "--raw", "--no-renames", "--no-ext-diff", "--ignore-submodules=all"},
		func(rec string) error {
			switch {
			case meta == "":
				meta = rec
				return nil
			case strings.HasSuffix(meta, " D"):
				removed = append(removed, rec)
			default:
				changed = append(changed, rec)
			}
			meta = ""
			return nil
		})
	return changed, removed, err
}

// forced lists the files that the user's repositories track in spite of their
// ignore rules. It is best effort: an index that only its own repository can
// read (split, sparse, SHA-256) adds nothing.
func (r *Repo) forced(ctx context.Context, g git, nested []string) []string {
	var list []string
	read := func(top, cwd, prefix string) {
		user := userGit(top)
		if info, err := os.Lstat(user.Index()); err != nil || !info.Mode().IsRegular() {
			return
		}
		g := g
		g.Work, g.Cwd, g.Index = top, cwd, user.Index()
		args := []string{"ls-files", "-z", "--cached", "--ignored", "--exclude-per-directory=.gitignore"}
		if info, err := os.Lstat(user.Exclude()); err == nil && info.Mode().IsRegular() {
			args = append(args, "--exclude-from="+user.Exclude())
		}
		_ = g.Records(ctx, nil, args, func(rec string) error {
			if len(list) >= r.lim.MaxFiles {
				return errTooMany
			}
			list = append(list, prefix+rec)
			return nil
		})
	}
	if top := enclosing(r.dir); top != "" {
		read(top, r.dir, "")
	} else {
		read(r.dir, r.dir, "")
	}
	for _, sub := range nested {
		dir := filepath.Join(r.dir, filepath.FromSlash(sub))
		read(dir, dir, sub+"/")
	}
	return list
}

// expandNested replaces the nested repositories of a listing by their files.
// git does not look into them by itself. It does as soon as an index holds a
// file below them, so it gets a throw-away index that pretends to.
func (r *Repo) expandNested(ctx context.Context, g git, list []string, s *scan) ([]string, error) {
	files, found := splitNested(list)
	if len(found) == 0 {
		return files, nil
	}
	g.Index = filepath.Join(r.shadow, "nested.index")
	_ = os.Remove(g.Index)
	defer func() { _ = os.Remove(g.Index) }()
	for len(found) > 0 {
		s.nested = merge(s.nested, found)
		s.rules = r.rules(s.nested)
		if err := r.writeRules(s.rules); err != nil {
			return nil, err
		}
		var info []string
		for _, sub := range found {
			info = append(info, fmt.Sprintf("100644 %s 0\t%s/.terret-nested", emptyBlob, sub))
		}
		if _, err := g.Output(ctx, gitcmd.JoinNUL(info), "update-index", "-z", "--index-info"); err != nil {
			return nil, err
		}
		more, err := r.untracked(ctx, g, found...)
		if err != nil {
			return nil, err
		}
		var inside []string
		inside, found = splitNested(more)
		if files = append(files, inside...); len(files) > r.lim.MaxFiles {
			return nil, errTooMany
		}
		// What the user's nested repositories track against their own rules is
		// found at the next snapshot, when they are known.
	}
	return files, nil
}

// emptyBlob is the id of the empty file.
const emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

// splitNested takes the "path/" records out of a listing.
func splitNested(list []string) (files, nested []string) {
	for _, p := range list {
		if sub, ok := strings.CutSuffix(p, "/"); ok {
			nested = append(nested, sub)
		} else {
			files = append(files, p)
		}
	}
	return files, nested
}

// merge adds to list what it does not hold yet.
func merge(list, more []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, p := range slices.Concat(list, more) {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}

// without returns what of list is not in drop.
func without(list, drop []string) []string {
	if len(list) == 0 {
		return nil
	}
	return merge(drop, list)[len(merge(nil, drop)):]
}

// classify sorts the listed paths by what is there now.
func (r *Repo) classify(s *scan, untracked, changed, forced []string) {
	seen := make(map[string]bool, len(changed)+len(forced))
	look := func(p string, inIndex bool) {
		gone := func() {
			if inIndex {
				s.remove = append(s.remove, p)
			}
		}
		info, err := os.Lstat(filepath.Join(r.dir, filepath.FromSlash(p)))
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			gone()
		case err != nil:
			s.leftOut = append(s.leftOut, LeftOut{p, "it cannot be inspected: " + cause(err)})
		case !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSymlink:
			gone() // a folder, a socket, a pipe
		case !storable(p, info.Mode()):
			s.leftOut = append(s.leftOut, LeftOut{p, "git does not store files of this name"})
		case info.Mode().IsRegular() && info.Size() > r.lim.MaxFileBytes:
			s.leftOut = append(s.leftOut, LeftOut{p, fmt.Sprintf("it is over %d bytes", r.lim.MaxFileBytes)})
		default:
			s.add = append(s.add, file{p, info, inIndex})
		}
	}
	for _, p := range changed {
		seen[p] = true
		look(p, true)
	}
	for _, p := range s.remove {
		seen[p] = true
	}
	for _, p := range untracked {
		look(p, false)
	}
	for _, p := range forced {
		if !seen[p] {
			seen[p] = true
			look(p, false)
		}
	}
}

// cause is the part of a file error that does not repeat the path.
func cause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return err.Error()
}

// storable reports whether git takes a file of this name, and whether Restore
// would write it: nothing in a .git, in any spelling a file system may fold.
func storable(p string, mode fs.FileMode) bool {
	for part := range strings.SplitSeq(p, "/") {
		if isDotGit(part) {
			return false
		}
	}
	return mode.Type() != fs.ModeSymlink || !strings.EqualFold(path.Base(p), ".gitmodules")
}

// isDotGit reports whether a file system may take name for ".git": by its case,
// by the invisible characters that HFS+ drops, by the short names, streams,
// dots and spaces of NTFS.
func isDotGit(name string) bool {
	name = strings.Map(func(c rune) rune {
		switch {
		case c >= 0x200c && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x206a && c <= 0x206f, c == 0xfeff:
			return -1
		}
		return c
	}, name)
	name, _, _ = strings.Cut(strings.ToLower(name), ":")
	name = strings.TrimRight(name, ". ")
	return name == ".git" || name == "git~1"
}

// checkLimits turns undo off when the folder is too large.
func (r *Repo) checkLimits(g git, s *scan) error {
	entries, err := indexEntries(g.Index)
	if err != nil {
		return err
	}
	files, bytes := entries-len(s.remove), int64(0)
	for _, f := range s.add {
		bytes += f.info.Size()
		if !f.known {
			files++
		}
	}
	if files > r.lim.MaxFiles {
		return r.tooMany(errTooMany)
	}
	if bytes > r.lim.MaxBytes {
		return r.disable(fmt.Sprintf("it has %d new bytes, over the limit of %d; ignore generated files", bytes, r.lim.MaxBytes))
	}
	return nil
}

// indexEntries returns the number of entries of an index file, from its header.
func indexEntries(index string) (int, error) {
	f, err := os.Open(index)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var header [12]byte
	if _, err := io.ReadFull(f, header[:]); err != nil {
		return 0, fmt.Errorf("read %s: %w", index, err)
	}
	return int(binary.BigEndian.Uint32(header[8:])), nil
}

// all runs the functions at the same time and waits for all of them. The first
// error cancels the others and is returned.
func all(ctx context.Context, fs ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, f := range fs {
		wg.Go(func() {
			if err := f(ctx); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
