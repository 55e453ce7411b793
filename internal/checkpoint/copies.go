package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret/internal/gitcmd"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// The bounds of the copies of one folder. The oldest go first.
const (
	maxCopies    = 100
	maxCopyAge   = 30 * 24 * time.Hour
	maxCopyBytes = 256 << 20
)

// ErrUnknownCopy reports a copy that does not exist, or no longer.
var ErrUnknownCopy = errors.New("checkpoint: unknown copy")

// Copy is what a forced restore or a replacement overwrote.
type Copy struct {
	ID    string
	Time  time.Time
	For   string // RestoreOptions.For
	Files []CopiedFile
}

// CopiedFile is a file or symbolic link of a Copy.
type CopiedFile struct {
	Path  string
	Bytes int64
}

// manifest is a Copy as it is stored, beside its contents, which are named by their
// number. It is written last.
type manifest struct {
	For   string       `json:"for,omitempty"`
	Files []copiedNote `json:"files"`
}

type copiedNote struct {
	Path  []byte    `json:"path"`
	Bytes int64     `json:"bytes"`
	Was   entryNote `json:"was"`  // the content of the copy; zero if nothing was there
	Left  entryNote `json:"left"` // what the restore put there; zero if nothing
}

type entryNote struct {
	Mode string      `json:"mode,omitempty"`
	ID   string      `json:"id,omitempty"`
	Perm fs.FileMode `json:"perm,omitempty"`
}

func (e entryNote) entry() entry { return entry{Mode: e.Mode, ID: e.ID} }

// copyTime begins the name of a copy, which sorts by time.
const copyTime = "20060102-150405.000"

var copyRE = lazyregexp.New(`^\d{8}-\d{6}\.\d{3}-[a-z2-7]{6}$`)

func (r *Repo) copies() string { return filepath.Join(r.shadow, "copies") }

// Copies lists what forced restores and replacements in this folder overwrote, the newest
// first. At most 100 are kept, for 30 days, with 256 MiB in all.
func (r *Repo) Copies(ctx context.Context) ([]Copy, error) {
	var list []Copy
	err := r.locked(ctx, func(git) error {
		for _, id := range slices.Backward(r.copyIDs()) {
			m, err := r.manifest(id)
			if err != nil {
				return err
			}
			c := Copy{ID: id, Time: copiedAt(id), For: m.For}
			for _, f := range m.Files {
				c.Files = append(c.Files, CopiedFile{string(f.Path), f.Bytes})
			}
			list = append(list, c)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("copies of %s: %w", r.dir, err)
	}
	return list, nil
}

// RestoreCopy puts the files of a copy back, as Restore does: a file that changed since
// the forced restore is a conflict, and forcing it keeps a copy again.
func (r *Repo) RestoreCopy(ctx context.Context, id string, opt RestoreOptions) (Result, error) {
	if !copyRE.MatchString(id) {
		return Result{}, fmt.Errorf("%w: %q", ErrUnknownCopy, id)
	}
	return r.restore(ctx, opt, func(j *restore) error {
		m, err := r.manifest(id)
		if err != nil {
			return err
		}
		var deltas []delta
		at := map[string]int{}
		for i, f := range m.Files {
			if !safePath(string(f.Path)) {
				continue
			}
			at[f.Was.ID] = i
			deltas = append(deltas, delta{string(f.Path), f.Left.entry(), f.Was.entry(), f.Left.Perm, f.Was.Perm})
		}
		j.contents = func(ctx context.Context, ids []string, f func(i int, b blob) error) error {
			for i, blob := range ids {
				if err := openCopy(filepath.Join(r.copies(), id, strconv.Itoa(at[blob])), i, f); err != nil {
					return err
				}
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
			}
			return nil
		}
		return j.decide(deltas, nil)
	})
}

func openCopy(path string, i int, f func(i int, b blob) error) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return f(i, blob{in, info.Size()})
}

func (r *Repo) manifest(id string) (m manifest, err error) {
	raw, err := os.ReadFile(filepath.Join(r.copies(), id, "manifest.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%w: %q", ErrUnknownCopy, id)
	}
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	return m, err
}

// keepCopy copies what the steps are about to overwrite that is not in the snapshot to
// leave. If it cannot, nothing may be overwritten.
func (j *restore) keepCopy(ctx context.Context) error {
	notes, err := j.toCopy()
	if err != nil || len(notes) == 0 {
		return err
	}
	if err := os.MkdirAll(j.repo.copies(), 0o700); err != nil {
		return fmt.Errorf("keep a copy: %w", err)
	}
	id := time.Now().UTC().Format(copyTime) + "-" + strings.ToLower(rand.Text()[:6])
	temp := filepath.Join(j.repo.copies(), unfinishedName)
	if err := errors.Join(os.RemoveAll(temp), os.Mkdir(temp, 0o700)); err != nil {
		return fmt.Errorf("keep a copy: %w", err)
	}
	for i, n := range notes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if n.Was == (entryNote{}) {
			continue
		}
		if err := j.copyFile(n, filepath.Join(temp, strconv.Itoa(i))); err != nil {
			return fmt.Errorf("keep a copy of %q: %w", n.Path, err)
		}
	}
	raw, err := json.Marshal(manifest{For: j.opt.For, Files: notes})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(temp, "manifest.json"), raw, 0o600); err != nil {
		return fmt.Errorf("keep a copy: %w", err)
	}
	if err := os.Rename(temp, filepath.Join(j.repo.copies(), id)); err != nil {
		return fmt.Errorf("keep a copy: %w", err)
	}
	j.res.Copy = id
	return nil
}

// toCopy lists the files that the steps overwrite and nobody recorded, or all of them.
func (j *restore) toCopy() ([]copiedNote, error) {
	var list []copiedNote
	var sum int64
	seen := map[string]bool{}
	for _, s := range j.steps {
		if !s.alien && !j.opt.keep {
			continue
		}
		p, now := s.path, s.now
		left := entryNote{s.new.Mode, s.new.ID, s.newPerm}
		if now.block != "" { // someone's file or link, where a folder goes
			var err error
			p, left = now.block, entryNote{}
			if now, err = j.tree.look(p); err != nil {
				return nil, err
			}
		}
		if j.opt.keep && now.info == nil && now.block == "" {
			list = append(list, copiedNote{Path: []byte(p), Left: left})
			continue
		}
		if seen[p] || now.entry == (entry{}) {
			continue
		}
		seen[p] = true
		was := entryNote{now.Mode, now.ID, 0}
		if now.info.Mode().IsRegular() {
			was.Perm = now.info.Mode().Perm()
		}
		list = append(list, copiedNote{[]byte(p), now.info.Size(), was, left})
		sum += now.info.Size()
	}
	if sum > maxCopyBytes {
		return nil, fmt.Errorf("what would be overwritten has %d MiB, and a copy may have %d; move large files away first", sum>>20, maxCopyBytes>>20)
	}
	return list, nil
}

// copyFile copies a file or the target of a symbolic link, as they were seen.
func (j *restore) copyFile(n copiedNote, to string) error {
	p := string(n.Path)
	if n.Was.Mode == gitcmd.ModeLink {
		target, err := j.tree.root.Readlink(local(p))
		if err != nil {
			return err
		}
		return os.WriteFile(to, []byte(filepath.ToSlash(target)), 0o600)
	}
	in, err := j.tree.root.OpenFile(local(p), os.O_RDONLY|openFlags, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	h := gitcmd.NewBlob(gitcmd.Digits, n.Bytes)
	if err := (blob{io.TeeReader(in, h), n.Bytes}).copyTo(out); err != nil {
		return err
	}
	if h.ID() != n.Was.ID {
		return errRace
	}
	return nil
}

// settleCopy drops a copy of files that were not overwritten in the end, and the
// copies that are over the bounds.
func (j *restore) settleCopy() {
	if j.res.Copy == "" {
		return
	}
	if len(j.res.Restored) == 0 {
		_ = os.RemoveAll(filepath.Join(j.repo.copies(), j.res.Copy))
		j.res.Copy = ""
	}
	j.repo.pruneCopies(time.Now())
}

// copyIDs lists the copies, the oldest first.
func (r *Repo) copyIDs() []string {
	entries, _ := os.ReadDir(r.copies()) // none if there is no such folder
	var ids []string
	for _, e := range entries {
		if copyRE.MatchString(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

func copiedAt(id string) time.Time {
	at, _ := time.Parse(copyTime, id[:len(copyTime)]) // copyRE has seen it
	return at
}

// expireCopies removes the copies over the bounds if the oldest is too old. It is cheap
// if there is nothing to do.
func (r *Repo) expireCopies(now time.Time) {
	if ids := r.copyIDs(); len(ids) > 0 && now.Sub(copiedAt(ids[0])) > maxCopyAge {
		r.pruneCopies(now)
	}
}

// pruneCopies removes the copies over the bounds. That is best effort.
func (r *Repo) pruneCopies(now time.Time) {
	var sum int64
	ids := r.copyIDs()
	for i, id := range slices.Backward(ids) {
		m, err := r.manifest(id)
		for _, f := range m.Files {
			sum += f.Bytes
		}
		if err != nil || len(ids)-i > maxCopies || sum > maxCopyBytes || now.Sub(copiedAt(id)) > maxCopyAge {
			_ = os.RemoveAll(filepath.Join(r.copies(), id))
		}
	}
}
