package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// state is what the shadow repository remembers between snapshots beside its
// index. It is read and written under the lock.
type state struct {
	nested  []string               // nested repositories whose files are in the index
	forced  []string               // files in the index that the ignore rules would leave out
	private map[string]fs.FileMode // permission bits of files that are not those of a new file
	fresh   []string               // files that were new at the last snapshot; see record
}

// stateFile is state as JSON. Paths are bytes: they need not be UTF-8.
type stateFile struct {
	Nested  [][]byte      `json:"nested,omitempty"`
	Forced  [][]byte      `json:"forced,omitempty"`
	Private []privateFile `json:"private,omitempty"`
	Fresh   [][]byte      `json:"fresh,omitempty"`
}

type privateFile struct {
	Path []byte      `json:"path"`
	Perm fs.FileMode `json:"perm"`
}

func (r *Repo) statePath() string { return filepath.Join(r.shadow, "state.json") }

// loadState reads the state. A state that is missing or damaged starts anew,
// with a new index: it says what the index holds.
func (r *Repo) loadState() (*state, error) {
	st := &state{private: map[string]fs.FileMode{}}
	raw, err := os.ReadFile(r.statePath())
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read shadow repository: %w", err)
	}
	var f stateFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return st, r.resetIndex()
	}
	st.forced, st.fresh = toStrings(f.Forced), toStrings(f.Fresh)
	for _, sub := range toStrings(f.Nested) {
		if exists(filepath.Join(r.dir, filepath.FromSlash(sub))) {
			st.nested = append(st.nested, sub)
		}
	}
	for _, p := range f.Private {
		st.private[string(p.Path)] = p.Perm
	}
	return st, nil
}

// saveState writes the state if it changed.
func (r *Repo) saveState(st *state) error {
	f := stateFile{Nested: toBytes(st.nested), Forced: toBytes(st.forced), Private: st.perms(), Fresh: toBytes(st.fresh)}
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := writeIfChanged(r.statePath(), raw); err != nil {
		return fmt.Errorf("write shadow repository: %w", err)
	}
	return nil
}

// resetIndex forgets the index and what goes with it. The next scan finds every
// file new; their contents are stored already.
func (r *Repo) resetIndex() error {
	r.forget()
	for _, name := range []string{"index", "index.lock", "state.json"} {
		if err := os.Remove(filepath.Join(r.shadow, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("reset shadow index: %w", err)
		}
	}
	return nil
}

// freshFor is how long git may miss that only the permission bits of a file changed: it
// compares times by the second.
const freshFor = 2 * time.Second

// record takes over what a snapshot stored. usual are the permission bits of a
// new file. Files that were written just now are looked at again by the next snapshot.
func (st *state) record(s *scan, usual fs.FileMode) {
	for _, p := range s.remove {
		delete(st.private, p)
	}
	added := map[string]bool{}
	st.fresh = nil
	for _, f := range slices.Concat(s.again, s.add) {
		if !f.info.Mode().IsRegular() {
			delete(st.private, f.path)
			continue
		}
		perm := f.info.Mode().Perm()
		if perm != usualFor(usual, perm&0o100 != 0) {
			st.private[f.path] = perm
		} else {
			delete(st.private, f.path)
		}
		if time.Since(f.info.ModTime()) < freshFor {
			st.fresh = append(st.fresh, f.path)
		}
	}
	st.fresh = merge(nil, st.fresh)
	for _, f := range s.add {
		added[f.path] = true
	}
	var forced []string
	for _, p := range without(st.forced, s.remove) {
		added[p] = true
	}
	for _, p := range s.forced {
		if added[p] {
			forced = append(forced, p)
		}
	}
	st.forced = forced
}

func toStrings(list [][]byte) []string {
	var out []string
	for _, b := range list {
		out = append(out, string(b))
	}
	return out
}

func toBytes(list []string) [][]byte {
	var out [][]byte
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

// perms lists the permission bits that are known, by path.
func (st *state) perms() (list []privateFile) {
	for _, p := range slices.Sorted(maps.Keys(st.private)) {
		list = append(list, privateFile{[]byte(p), st.private[p]})
	}
	return list
}

// usualFor returns the permission bits of a new file, or of a new program.
func usualFor(usual fs.FileMode, executable bool) fs.FileMode {
	usual &^= 0o111
	if executable {
		usual |= usual & 0o444 >> 2
	}
	return usual
}

// perms are the permission bits of the files of a snapshot.
type perms struct {
	usual fs.FileMode // of a new file; 0 if the snapshot does not know them
	odd   map[string]fs.FileMode
}

// of returns the permission bits of a file, or 0 if they are not known.
func (p perms) of(path string, e entry) fs.FileMode {
	if p.usual == 0 || e.Mode != gitcmd.ModeFile && e.Mode != gitcmd.ModeExec {
		return 0
	}
	if perm, ok := p.odd[path]; ok {
		return perm
	}
	return usualFor(p.usual, e.Mode == gitcmd.ModeExec)
}
