package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/gitcmd"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// ID names a snapshot in its shadow repository, for good: it may be stored and
// used by another process later. The same state of the folder has the same ID.
type ID string

// idRE is a tree and the notes that go with it, both object ids.
var idRE = lazyregexp.New(`^[0-9a-f]{40}-[0-9a-f]{40}$`)

// split returns the tree and the notes of an ID, safe to pass to git.
func (id ID) split() (tree, notes string, err error) {
	if !idRE.MatchString(string(id)) {
		return "", "", fmt.Errorf("%w: %q is not a snapshot id", ErrUnknownSnapshot, string(id))
	}
	return string(id[:40]), string(id[41:]), nil
}

// Snapshot is a state of the folder.
type Snapshot struct {
	ID ID
	// LeftOut are the files that are neither ignored nor covered, sorted by path.
	LeftOut []LeftOut
}

// LeftOut is a file that a snapshot does not cover, and why.
type LeftOut struct {
	Path   string
	Reason string
}

// notes are stored beside the tree of a snapshot: what Restore must know to
// leave alone the files that were there without being in the tree.
type notes struct {
	Rules   []byte        `json:"rules,omitempty"` // ignore rules outside of the tree
	LeftOut []leftOutNote `json:"left_out,omitempty"`
	// Usual are the permission bits of a new file, and Perms those of the files that
	// have others. Older snapshots have no Usual, and may not know all of Perms.
	Usual fs.FileMode   `json:"usual,omitempty"`
	Perms []privateFile `json:"perms,omitempty"`
}

func (n notes) perms() perms {
	p := perms{usual: n.Usual, odd: map[string]fs.FileMode{}}
	for _, f := range n.Perms {
		p.odd[string(f.Path)] = f.Perm
	}
	return p
}

type leftOutNote struct {
	Path   []byte `json:"path"`
	Reason string `json:"reason"`
	Stamp  string `json:"stamp,omitempty"` // differs if the file does
}

// stamp tells two states of a file apart that is not covered.
func (r *Repo) stamp(p string) string {
	info, err := os.Lstat(filepath.Join(r.dir, filepath.FromSlash(p)))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d %o", info.Size(), info.ModTime().UnixNano(), info.Mode())
}

// errTimeLimit is the cause of a context that Limits.Timeout ended.
var errTimeLimit = errors.New("time limit")

// Snapshot records the folder as it is now. It reads only what changed since the
// previous snapshot, and writes nothing into the folder. A file that changes while it
// is read is recorded as it was at some moment during the call.
//
// The error is a *DisabledError when the folder is over its limits; undo is then
// off for this Repo. ctx and Limits.Timeout bound the call.
func (r *Repo) Snapshot(ctx context.Context) (Snapshot, error) {
	if off := r.disabled(); off != nil {
		return Snapshot{}, off
	}
	limited, cancel := context.WithTimeoutCause(ctx, r.lim.Timeout, errTimeLimit)
	defer cancel()
	var snap Snapshot
	started := false
	err := r.locked(limited, func(g git) (err error) {
		started = true
		unchanged, looked, ok := r.unchanged(g)
		if ok {
			snap = unchanged
			return nil
		}
		watched, stop := heldUp(limited, r.dir)
		defer stop()
		snap, err = r.snapshot(watched, g, looked)
		return err
	})
	if special, ok := isSpecial(err); ok {
		return Snapshot{}, r.disable(special.Error() + ", and git would wait for it; remove it")
	}
	switch {
	case err == nil:
		return snap, nil
	case errors.Is(err, errTimeLimit) && !started:
		return Snapshot{}, fmt.Errorf("snapshot %s: %w", r.dir, ErrBusy)
	case errors.Is(err, errTimeLimit):
		return Snapshot{}, r.disable(fmt.Sprintf("a snapshot takes longer than %v; ignore generated files", r.lim.Timeout))
	}
	if off, ok := errors.AsType[*DisabledError](err); ok {
		return Snapshot{}, off
	}
	return Snapshot{}, fmt.Errorf("snapshot %s: %w", r.dir, err)
}

// snapshot tries three times: files may come and go while git works, which makes it
// give up, and the index may be damaged, which the last try repairs.
func (r *Repo) snapshot(ctx context.Context, g git, looked *sight) (Snapshot, error) {
	for try := 1; ; try++ {
		snap, err := r.trySnapshot(ctx, g, looked)
		if _, ok := errors.AsType[*gitcmd.Error](err); !ok || try == 3 || ctx.Err() != nil {
			return snap, err
		}
		r.sweep()
		if try == 2 {
			if err := r.resetIndex(); err != nil {
				return Snapshot{}, err
			}
		}
	}
}

func (r *Repo) trySnapshot(ctx context.Context, g git, looked *sight) (Snapshot, error) {
	st, err := r.loadState()
	if err != nil {
		return Snapshot{}, err
	}
	s, err := r.scan(ctx, g, st)
	if err != nil {
		return Snapshot{}, err
	}
	// The index must never hold files of a nested repository that is not known:
	// git does not report it again.
	st.nested = s.nested
	if err := r.saveState(st); err != nil {
		return Snapshot{}, err
	}
	if err := r.record(ctx, g, &s); err != nil {
		return Snapshot{}, err
	}
	st.record(&s, r.usualPerm())
	if err := r.saveState(st); err != nil {
		return Snapshot{}, err
	}
	tree, err := r.tree(ctx, g)
	if err != nil {
		return Snapshot{}, err
	}
	slices.SortFunc(s.leftOut, func(a, b LeftOut) int { return strings.Compare(a.Path, b.Path) })
	noteID, err := r.writeNotes(ctx, g, &s, st)
	if err != nil {
		return Snapshot{}, err
	}
	snap := Snapshot{ID: ID(tree + "-" + noteID), LeftOut: s.leftOut}
	switch {
	case len(s.nested)+len(s.forced) > 0:
		r.stopLooking()
	case len(st.fresh) == 0: // the next one must look into them
		r.remember(ctx, g, looked, snap)
	}
	return snap, nil
}

// unfinishedName is a file that is there while a snapshot stores contents.
const unfinishedName = "unfinished"

// record brings the index and the objects up to the scan.
func (r *Repo) record(ctx context.Context, g git, s *scan) error {
	if len(s.remove)+len(s.add) == 0 {
		return nil
	}
	unfinished := filepath.Join(r.shadow, unfinishedName)
	if err := os.WriteFile(unfinished, nil, 0o600); err != nil {
		return err
	}
	if len(s.remove) > 0 {
		if _, err := g.Output(ctx, gitcmd.JoinNUL(s.remove), "update-index", "-z", "--force-remove", "--stdin"); err != nil {
			return err
		}
	}
	if err := r.store(ctx, g, s); err != nil {
		return err
	}
	return os.Remove(unfinished)
}

// store adds files to the index. Files that cannot be read are left out.
func (r *Repo) store(ctx context.Context, g git, s *scan) error {
	if len(s.add) == 0 {
		return nil
	}
	if len(s.add) >= packFrom {
		if err := r.pack(ctx, g, s.add); err != nil {
			return err
		}
	}
	update := func() error {
		paths := make([]string, len(s.add))
		for i, f := range s.add {
			paths[i] = f.path
		}
		_, err := g.Output(ctx, gitcmd.JoinNUL(paths), "update-index", "-z", "--add", "--remove", "--replace", "--stdin")
		return err
	}
	err := update()
	if _, ok := errors.AsType[*gitcmd.Error](err); !ok || !r.dropUnreadable(s) {
		return err
	}
	return update()
}

// dropUnreadable moves the files that cannot be read from s.add to s.leftOut,
// and reports whether there were any.
func (r *Repo) dropUnreadable(s *scan) bool {
	var readable []file
	for _, f := range s.add {
		err := r.probe(f)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			readable = append(readable, f)
			continue
		}
		s.leftOut = append(s.leftOut, LeftOut{f.path, "it cannot be read: " + cause(err)})
	}
	dropped := len(readable) < len(s.add)
	s.add = readable
	return dropped
}

// probe reports whether a regular file can be opened.
func (r *Repo) probe(f file) error {
	if !f.info.Mode().IsRegular() {
		return nil
	}
	opened, err := os.OpenFile(filepath.Join(r.dir, filepath.FromSlash(f.path)), os.O_RDONLY|openFlags, 0)
	if err != nil {
		return err
	}
	return opened.Close()
}

// tree writes the tree of the index, unless the index is the one that the last
// tree was written from.
func (r *Repo) tree(ctx context.Context, g git) (string, error) {
	r.mu.Lock()
	last := r.known
	r.mu.Unlock()
	if info, err := os.Stat(g.Index); err == nil && last.index != nil && sameFile(info, last.index) {
		return last.tree, nil
	}
	out, err := g.Output(ctx, nil, "write-tree")
	if err != nil {
		return "", err
	}
	tree := string(bytes.TrimSpace(out))
	info, err := os.Stat(g.Index)
	if err != nil {
		return tree, nil // an empty folder has no index
	}
	r.mu.Lock()
	r.known.index, r.known.tree = info, tree
	r.mu.Unlock()
	return tree, nil
}

// writeNotes stores the notes of a snapshot and returns their id.
func (r *Repo) writeNotes(ctx context.Context, g git, s *scan, st *state) (string, error) {
	n := notes{Rules: s.rules, Usual: r.usualPerm(), Perms: st.perms()}
	for _, l := range s.leftOut {
		n.LeftOut = append(n.LeftOut, leftOutNote{[]byte(l.Path), l.Reason, r.stamp(l.Path)})
	}
	raw, err := json.Marshal(n)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	last := r.known
	r.mu.Unlock()
	if last.metaID != "" && bytes.Equal(last.meta, raw) {
		return last.metaID, nil
	}
	out, err := g.Output(ctx, raw, "hash-object", "-w", "--stdin", "--no-filters")
	if err != nil {
		return "", err
	}
	id := string(bytes.TrimSpace(out))
	r.mu.Lock()
	r.known.meta, r.known.metaID = raw, id
	r.mu.Unlock()
	return id, nil
}

// readNotes returns the notes of a snapshot.
func (g git) readNotes(ctx context.Context, id string) (notes, error) {
	var n notes
	raw, err := g.Output(ctx, nil, "cat-file", "blob", id)
	if err != nil {
		return n, unknown(err)
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		return n, fmt.Errorf("read notes of the snapshot: %w", err)
	}
	return n, nil
}

// unknown marks the error of a git that was asked for an object it lacks.
func unknown(err error) error {
	if _, ok := errors.AsType[*gitcmd.Error](err); ok {
		return fmt.Errorf("%w: %w", ErrUnknownSnapshot, err)
	}
	return err
}

// usualPerm returns the permission bits that a new file gets here.
func (r *Repo) usualPerm() fs.FileMode {
	path := filepath.Join(r.shadow, "perm")
	info, err := os.Stat(path)
	if err != nil {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o666)
		if err != nil {
			return 0
		}
		defer f.Close()
		if info, err = f.Stat(); err != nil {
			return 0
		}
	}
	return info.Mode().Perm()
}

// sameFile reports whether two looks at a path saw the same file, unchanged.
func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}
