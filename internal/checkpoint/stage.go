package checkpoint

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// run stages all new contents, then changes the paths.
func (j *restore) run(ctx context.Context) error {
	if len(j.steps) == 0 {
		return nil
	}
	err := j.stage(ctx)
	if err != nil {
		for _, s := range j.steps {
			s.err = err
		}
	} else {
		j.commit()
	}
	j.unstage()
	var failed []string
	var errs []error
	for _, s := range j.steps {
		if s.err == nil {
			j.res.Restored = append(j.res.Restored, s.path)
			continue
		}
		failed = append(failed, s.path)
		if err == nil && len(errs) < 5 {
			errs = append(errs, fmt.Errorf("%q: %w", s.path, s.err))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	if err == nil {
		err = errors.Join(errs...)
	}
	j.res.NotRestored = failed
	return &RestoreError{Dir: j.repo.dir, NotRestored: failed, Err: err}
}

func (j *restore) result() Result {
	slices.Sort(j.res.Already)
	slices.SortFunc(j.res.Kept, func(a, b LeftOut) int { return strings.Compare(a.Path, b.Path) })
	return j.res
}

func (r *Repo) journal() string { return filepath.Join(r.shadow, "staged") }

// stage writes all new contents to temporary files, each in the deepest folder
// on its way that exists. The journal lets the next holder of the lock remove
// them if this process is killed.
func (j *restore) stage(ctx context.Context) error {
	var temps, ids []string
	var writes []*step
	for _, s := range j.steps {
		if s.deletes() {
			continue
		}
		dir, err := j.tree.nearest(s.path)
		if err != nil {
			return err
		}
		s.temp = path.Join(dir, stagePrefix+rand.Text())
		temps, ids, writes = append(temps, s.temp), append(ids, s.new.ID), append(writes, s)
	}
	if len(writes) == 0 {
		return context.Cause(ctx)
	}
	if err := os.WriteFile(j.repo.journal(), gitcmd.JoinNUL(temps), 0o600); err != nil {
		return err
	}
	return j.contents(ctx, ids, func(i int, b blob) error {
		if writes[i].new.Mode == gitcmd.ModeLink {
			target, err := b.content()
			if err != nil {
				return err
			}
			return j.tree.root.Symlink(string(target), local(writes[i].temp))
		}
		return j.stageFile(writes[i], b)
	})
}

// stageFile writes a temporary file with the permission bits that it had. Older
// snapshots do not know them: then it keeps those of the file that it replaces.
func (j *restore) stageFile(s *step, b blob) error {
	create, perm := fs.FileMode(0o666), s.newPerm
	if s.new.Mode == gitcmd.ModeExec {
		create = 0o777
	}
	if perm == 0 && s.now.info != nil && s.now.info.Mode().IsRegular() {
		perm = usualFor(s.now.info.Mode().Perm(), s.new.Mode == gitcmd.ModeExec)
	}
	if perm != 0 {
		create = 0o600
	}
	f, err := j.tree.root.OpenFile(local(s.temp), os.O_CREATE|os.O_EXCL|os.O_WRONLY, create)
	if err != nil {
		return err
	}
	if perm != 0 {
		if err := f.Chmod(perm); err != nil {
			f.Close()
			return err
		}
	}
	return b.copyTo(f)
}

// commit changes the paths: deletions first, deepest first, because files may
// stand where folders go and the other way round.
func (j *restore) commit() {
	for _, s := range slices.Backward(j.steps) {
		if s.deletes() {
			s.err = j.remove(s)
		}
	}
	for _, s := range j.steps {
		if !s.deletes() {
			s.err = j.place(s)
		}
	}
}

// errRace is a path that changed between the check and the moment of change.
var errRace = errors.New("it changed at this moment")

func (j *restore) remove(s *step) error {
	if err := j.repo.faultAt(s.path); err != nil {
		return err
	}
	same, err := j.tree.unchanged(s.path, s.now)
	if err != nil {
		return err
	}
	if !same {
		return errRace
	}
	if err := j.tree.root.Remove(local(s.path)); err != nil {
		return err
	}
	j.tree.prune(s.path)
	return nil
}

func (j *restore) place(s *step) error {
	if err := j.repo.faultAt(s.path); err != nil {
		return err
	}
	if s.now.block != "" {
		// Someone's file or symbolic link (force) or one that was just deleted.
		if info, err := j.tree.lstat(s.now.block); err == nil && info != nil && !info.IsDir() {
			if err := j.tree.root.Remove(local(s.now.block)); err != nil {
				return err
			}
		}
	}
	if err := j.tree.mkdirs(s.path); err != nil {
		return err
	}
	info, err := j.tree.lstat(s.path)
	switch {
	case err != nil:
		return err
	case s.now.dir && info != nil && info.IsDir():
		if err := j.tree.root.Remove(local(s.path)); err != nil {
			return fmt.Errorf("it is a folder that holds other files: %w", err)
		}
	case s.now.dir && info == nil:
	default:
		if same, err := j.tree.unchanged(s.path, s.now); err != nil || !same {
			j.tree.prune(s.path)
			return errors.Join(err, errRace)
		}
	}
	if err := j.tree.root.Rename(local(s.temp), local(s.path)); err != nil {
		j.tree.prune(s.path)
		return err
	}
	s.temp = ""
	return nil
}

// unstage removes what is left of the temporary files.
func (j *restore) unstage() {
	for _, s := range j.steps {
		if s.temp != "" {
			_ = j.tree.root.Remove(local(s.temp)) // best effort: snapshots ignore the name
		}
	}
	_ = os.Remove(j.repo.journal())
}

// sweepStaged removes the temporary files of a restore that was killed.
func (r *Repo) sweepStaged() error {
	raw, err := os.ReadFile(r.journal())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read journal of a restore: %w", err)
	}
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return fmt.Errorf("clear up after a restore: %w", err)
	}
	defer func() { _ = root.Close() }()
	for p := range strings.SplitSeq(string(raw), "\x00") {
		if !safePath(p) || !strings.HasPrefix(path.Base(p), stagePrefix) {
			continue // a journal that was cut off
		}
		dir, err := (worktree{root}).nearest(p)
		if err == nil && dir == path.Dir(p) {
			_ = root.Remove(local(p))
		}
	}
	return os.Remove(r.journal())
}

// faultAt lets tests make a path fail.
func (r *Repo) faultAt(p string) error {
	if r.fault == nil {
		return nil
	}
	return r.fault(p)
}

// blob is the content of an object, read once.
type blob struct {
	r    io.Reader
	size int64
}

// copyTo writes the content to f and closes f.
func (b blob) copyTo(f *os.File) error {
	n, err := io.Copy(f, b.r)
	if err == nil && n != b.size {
		err = io.ErrUnexpectedEOF
	}
	return errors.Join(err, f.Close())
}

// content returns the content of a symbolic link.
func (b blob) content() ([]byte, error) {
	if b.size > 64<<10 {
		return nil, fmt.Errorf("symbolic link of %d bytes", b.size)
	}
	content := make([]byte, b.size)
	_, err := io.ReadFull(b.r, content)
	return content, err
}

// blobs gives the contents of objects to f, in order. f need not read to the
// end; its error ends the reading.
func (g git) blobs(ctx context.Context, ids []string, f func(i int, b blob) error) error {
	in := strings.NewReader(strings.Join(ids, "\n") + "\n")
	return g.Stream(ctx, in, []string{"cat-file", "--batch"}, func(out *bufio.Reader) error {
		r := bufio.NewReaderSize(out, 64<<10)
		for i, id := range ids {
			line, err := r.ReadString('\n')
			if err != nil {
				return io.ErrUnexpectedEOF
			}
			field := strings.Fields(line)
			if len(field) != 3 || field[0] != id || field[1] != "blob" {
				return fmt.Errorf("%w: the shadow repository has lost object %s", ErrUnknownSnapshot, id)
			}
			size, err := strconv.ParseInt(field[2], 10, 64)
			if err != nil {
				return err
			}
			content := &io.LimitedReader{R: r, N: size}
			if err := f(i, blob{content, size}); err != nil {
				return err
			}
			if _, err := io.CopyN(io.Discard, r, content.N+1); err != nil {
				return io.ErrUnexpectedEOF
			}
		}
		return nil
	})
}
